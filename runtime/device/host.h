/* Programs of the host's, run directly and never by a shell; and which of them is a compiler.
 *
 * A compiler is told apart without running it, if it is one that has been run before: what it said then is kept in the
 * disk cache, and holds while its file is as it was. */
#ifndef KN_RUNTIME_DEVICE_HOST_H
#define KN_RUNTIME_DEVICE_HOST_H

#include <pthread.h>
#include <sys/types.h>

#include "runtime/device/device.h"

/* Programs that another thread may end. */
enum { KN_HOST_CHILDREN = 8 };
typedef struct kn_host_children {
    pthread_mutex_t lock;
    pid_t pids[KN_HOST_CHILDREN]; /* 0: none; those that have no place here end by themselves */
    bool stopped;                 /* none is to be run any more */
} kn_host_children;

/* Runs a program, argv[0] sought in PATH; up to size-1 bytes of its output (both streams) in `out`. -1: it could not be
 * run; otherwise its exit status. among: NULL if nobody ends it. */
int kn_host_run(char *const *argv, char *out, size_t size, kn_host_children *among);
/* Ends them, with those that they run themselves. */
void kn_host_stop(kn_host_children *among);

typedef struct kn_host_compiler {
    char program[512];  /* "": not found yet */
    char file[8192];    /* which file that is: name, size, time */
    char version[1024]; /* what it says to --version */
    bool clang;
} kn_host_compiler;

/* Is `program`, which may be NULL, a compiler that runs? Then that is what `c` becomes. Counts in the device's
 * counters. */
bool kn_host_answers(kn_device *dev, kn_host_compiler *c, const char *program,
                     kn_host_children *among);

#endif
