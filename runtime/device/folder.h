/* A context's folder of temporary files: what compilers of the host's read and write. */
#ifndef KN_RUNTIME_DEVICE_FOLDER_H
#define KN_RUNTIME_DEVICE_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

enum { KN_FOLDER_PARENT = 150 }; /* the longest name of a folder for it; else it is in /tmp */

typedef struct kn_folder {
    const char *name; /* what its name begins with: "kiln-emulator-" */
    char path[256];   /* "": not made yet */
    int fd;           /* has its lock */
    unsigned process; /* whose it is: kn_process() */
} kn_folder;

/* Makes it, unless it is there; after somebody removed it, once more. *made: it is new and empty. */
kn_status kn_folder_open(kn_folder *f, bool *made);
/* Removes a folder in it, with all that is in that. */
void kn_folder_remove(const char *path);
/* Removes it with all that is in it. */
void kn_folder_close(kn_folder *f);

/* Removes those of all contexts of the process, which is about to end. Async-signal-safe. */
void kn_folders_remove(void);

#endif
