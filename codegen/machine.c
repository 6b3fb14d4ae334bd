#include "codegen/machine.h"

#include <string.h>

/* One NVIDIA H200. */
static const kn_machine gpu = {
    .launch = 3700,
    .memory = 4130,
    .cache = 7000,
    .cache_bytes = 30e6,
    .unit = 60,
    .latency = 800,
    .adds = 300,
    .wide = 2,
    .warp = 60,
    .block = 300,
    .cluster = 1500,
    .grid = 2500,
    .sector = 32,
};

/* A desktop CPU, of which a unit is a thread. */
static const kn_machine cpu = {
    .launch = 5000,
    .memory = 25,
    .cache = 60,
    .cache_bytes = 4e6,
    .unit = 12,
    .adds = 16,
    .wide = 2,
    .grid = 5000,
    .sector = 64,
};

const kn_machine *kn_machine_of(const kn_target *target)
{
    return strcmp(target->kind, "cuda") == 0 ? &gpu : &cpu;
}
