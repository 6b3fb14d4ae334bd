/* A measure of work that is the same on every machine: steps that optimising and planning count, for tests of how it
 * grows with a program. Each thread has its own count. */
#ifndef KN_BASE_WORK_H
#define KN_BASE_WORK_H

#include <stdint.h>

void kn_work(int64_t steps);
int64_t kn_work_done(void);

#endif
