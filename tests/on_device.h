/* For tests that check the same on several devices: a cmocka test a device.
 *
 *     static void check(const char *device);
 *     const struct CMUnitTest tests[] = {ON_DEVICE(check, "cpu"), ON_DEVICE(check, "cuda")};
 *
 * Where there is no GPU, its test is skipped. */
#ifndef KN_TESTS_ON_DEVICE_H
#define KN_TESTS_ON_DEVICE_H

#include <string.h>

#include "tests/device.h"

typedef struct checked {
    void (*check)(const char *device);
    const char *device;
} checked;

static inline void check_on_device(void **state)
{
    const checked *c = *state;
    if (strcmp(c->device, "cuda") == 0)
        skip_without(c->device);
    c->check(c->device);
}

#define ON_DEVICE(check, device)                                                                   \
    {                                                                                              \
#check " on " device, check_on_device, NULL, NULL, &(checked) { check, device }            \
    }

#endif
