/* The emulator's folder of temporary files. */
#ifndef KN_RUNTIME_EMU_COMPILE_FOLDER_H
#define KN_RUNTIME_EMU_COMPILE_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

enum { KN_EMU_PARENT = 150 }; /* the longest name of a folder for it; else it is in /tmp */

typedef struct kn_emu_folder {
    char path[256];   /* "": not made yet */
    int fd;           /* has its lock */
    unsigned process; /* whose it is: kn_process() */
} kn_emu_folder;

/* Makes it, unless it is there; after somebody removed it, once more. *made: it is new and empty. */
kn_status kn_emu_folder_open(kn_emu_folder *f, bool *made);
/* Removes a folder in it, with all that is in that. */
void kn_emu_folder_remove(const char *path);
/* Removes it with all that is in it. */
void kn_emu_folder_close(kn_emu_folder *f);

#endif
