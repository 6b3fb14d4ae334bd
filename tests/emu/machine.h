/* For the tests of the emulator: a device, kernels of the files beside this one, and what the messages say. */
#ifndef KN_TESTS_EMU_MACHINE_H
#define KN_TESTS_EMU_MACHINE_H

#include "runtime/device/device.h"

extern const kn_device_ops *const emu;

typedef struct machine {
    kn_device *dev;
    char *text;
} machine;

/* The emulator with these options, and the text of tests/emu/`file`. */
machine open_machine(const char *options, const char *file);
void close_machine(machine *m);
kn_code *load(machine *m, const char *entry);
kn_grid shape(unsigned blocks, unsigned threads);
/* Memory of the device, every byte `fill`. */
void *take(machine *m, size_t bytes, int fill);
kn_status run(machine *m, kn_code *code, kn_grid g, int n, void *const *params);
/* The parameters' addresses follow. */
#define RUN(m, code, g, ...)                                                                       \
    run(m, code, g, (int)(sizeof((void *[]){__VA_ARGS__}) / sizeof(void *)),                       \
        (void *[]){__VA_ARGS__})
void good(kn_status status);
/* The line of the text that ends with "// mark". */
int line_of(const char *text, const char *mark);
/* The last message names the line with this mark, or one called from there, and has these words. */
void says(const machine *m, kn_status status, const char *mark, const char *words);

#endif
