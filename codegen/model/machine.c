#include "codegen/model/machine.h"

#include <string.h>

/* By the driver's name of it. */
static const char name_of_gpu[] = "NVIDIA H200";
static const kn_machine gpu = {
    .launch = 2700,
    .memory = 4130,
    .stream = 4400,
    .cache = 7600,
    .cache_bytes = 30e6,
    .end_cached = 0.8,
    .near_bytes = 200e3,
    .unit = 84,
    .latency = 620,
    .adds = 420,
    .wide = 3.5,
    .warp = 60,
    .block = 150,
    .cluster = 700,
    .peer = 12,
    .start = 82,
    .cluster_start = 480,
    .grid = 2800,
    .last = 600,
    .part = 100,
    .merge = 2500,
    .ranks = 900,
    .rank = 140,
    .sector = 32,
    .between = 18,
    .threads = 512,
    .group = 17.6,
    .group_fills = 16,
    .stragglers = 1.05,
    .in_step = 6,
    .addition = 0.1,
    .evict_first = 288,
    .evict_last = 48,
};

/* Two cores of a Xeon at 2.5 GHz; a unit is a thread. */
static const kn_machine cpu = {
    .launch = 20000,
    .memory = 25,
    .stream = 25,
    .cache = 60,
    .cache_bytes = 4e6,
    .end_cached = 0.8,
    .near_bytes = 500e3,
    .unit = 12,
    .adds = 20,
    .wide = 2,
    .grid = 5000,
    .last = 5000,
    .sector = 64,
    .addition = 0.5,
};

/* GPUs with its multiprocessors, whose memory differs. */
static const struct {
    const char *name;
    double memory, stream;
} known[] = {
    {"NVIDIA H100 80GB HBM3", 2870, 3055},
};

bool kn_machine_named(const char *name, kn_machine *m)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            *m = gpu;
            m->memory = known[i].memory;
            m->stream = known[i].stream;
            return true;
        }
    if (strcmp(name, name_of_gpu) != 0)
        return false;
    *m = gpu;
    return true;
}

const kn_machine *kn_machine_of(const kn_target *target)
{
    return target->machine ? target->machine : target->sm ? &gpu : &cpu;
}

double kn_barrier_bytes(const kn_target *target)
{
    const kn_machine *m = kn_machine_of(target);
    const double rate = m->unit * target->units;
    return m->grid * (rate < m->memory ? rate : m->memory);
}

double kn_temporary_bytes(const kn_target *target) { return kn_barrier_bytes(target) / 128; }
