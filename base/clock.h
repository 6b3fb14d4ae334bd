/* The one clock: nanoseconds that never go back, from an arbitrary start. */
#ifndef KN_BASE_CLOCK_H
#define KN_BASE_CLOCK_H

#include <stdint.h>

uint64_t kn_clock_ns(void);

#endif
