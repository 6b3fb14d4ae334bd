/* Programs of the host's, run directly and never by a shell; and which of them is a compiler.
 *
 * A compiler is told apart without running it, if it is one that has been run before: what it said then is kept in the
 * disk cache, and holds while its file is as it was. */
#ifndef KN_RUNTIME_DEVICE_HOST_H
#define KN_RUNTIME_DEVICE_HOST_H

#include <pthread.h>
#include <sys/types.h>

#include "runtime/device/device.h"

/* A program that another thread may end. */
typedef struct kn_host_child {
    pthread_mutex_t lock;
    pid_t pid;    /* 0: none runs */
    bool stopped; /* none is to be run any more */
} kn_host_child;

/* Runs a program, argv[0] sought in PATH; up to size-1 bytes of its output (both streams) in `out`. -1: it could not be
 * run; otherwise its exit status. child: NULL if nobody ends it. */
int kn_host_run(char *const *argv, char *out, size_t size, kn_host_child *child);
/* Ends the program, with those that it runs itself. */
void kn_host_stop(kn_host_child *child);

typedef struct kn_host_compiler {
    char program[512];  /* "": not found yet */
    char file[8192];    /* which file that is: name, size, time */
    char version[1024]; /* what it says to --version */
    bool clang;
} kn_host_compiler;

/* Is `program`, which may be NULL, a compiler that runs? Then that is what `c` becomes. Counts in the device's
 * counters. */
bool kn_host_answers(kn_device *dev, kn_host_compiler *c, const char *program,
                     kn_host_child *child);

#endif
