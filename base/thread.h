/* Threads of the library's own. */
#ifndef KN_BASE_THREAD_H
#define KN_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts one that no signal of the application's is delivered to: its handlers run in its own threads. Faults of the
 * thread itself (SIGSEGV, ...) are not blocked. False: the system has no more. */
bool kn_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* Cores that the calling thread may run on, and threads that it starts: those online that its affinity allows. */
int kn_cores(void);

#endif
