/* What sweeps share: the devices they are of, those named on the command line, else all that this machine has; and how
 * much they compare. KILN_SWEEP in the environment: how many values; KILN_SWEEP_OP: of this operation only. */
#ifndef KN_TESTS_SWEEP_DEVICES_H
#define KN_TESTS_SWEEP_DEVICES_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/device.h"

enum { MOST_DEVICES = 4 };

typedef struct device {
    const char *name;
    kiln_ctx *ctx;
    int failed; /* operations */
} device;

static device devices[MOST_DEVICES];
static int ndevices;
static int64_t values, compared; /* operands; results */
static const char *only_op;      /* NULL: all */

static inline void must(kiln_status s, const char *what)
{
    if (s != KILN_OK)
        fail_msg("%s: %s", what, kiln_last_error());
}

/* False where there is none. */
static inline bool open_devices(int argc, char **argv, int64_t most)
{
    const char *asked = getenv("KILN_SWEEP");
    values = asked ? atoll(asked) : most;
    only_op = getenv("KILN_SWEEP_OP");
    static char *all[] = {"ref", "cpu", "emu", "cuda"};
    char **names = argc > 1 ? argv + 1 : all;
    int n = argc > 1 ? argc - 1 : MOST_DEVICES;
    for (int i = 0; i < n && i < MOST_DEVICES; i++) {
        kiln_config cfg;
        kiln_config_init(&cfg);
        cfg.device = names[i];
        if (kiln_ctx_create(&cfg, &devices[ndevices].ctx) == KILN_OK)
            devices[ndevices++].name = names[i];
        else
            printf("%s is left out: %s\n", names[i], kiln_last_error());
    }
    return ndevices > 0;
}

static inline int close_devices(int status)
{
    for (int d = 0; d < ndevices; d++)
        kiln_ctx_destroy(devices[d].ctx);
    return status;
}

/* At the end of a sweep. */
static inline void expect_no_failure(void)
{
    int failed = 0;
    for (int d = 0; d < ndevices; d++)
        failed += devices[d].failed;
    printf("%lld results compared\n", (long long)compared);
    if (compared == 0 && only_op)
        print_error("KILN_SWEEP_OP=%s: no operation of this sweep has that name in ops.def\n",
                    only_op);
    assert_true(compared > 0);
    assert_int_equal(failed, 0);
}

#endif
