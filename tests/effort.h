/* How much a test does. Sanitized builds are several times as slow, and look for errors of memory and of threads, for
 * which a part of the numbers does; what those numbers must be, the ordinary build holds. */
#ifndef KN_TESTS_EFFORT_H
#define KN_TESTS_EFFORT_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EFFORT(ordinary, sanitized) (sanitized)
#else
#define EFFORT(ordinary, sanitized) (ordinary)
#endif

#endif
