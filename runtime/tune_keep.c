/* What was measured, in the disk cache: a small file a class, with the same guarantees as a kernel's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "codegen/emit/cuda/generator.h"
#include "runtime/tune.h"

/* Raised when values are written, or plans measured, in another way. */
#define GENERATION "1"

/* ---- the class ---- */

static void put_axes(kn_text *t, const kn_phase *ph)
{
    for (int a = 0; a < ph->nest.naxes; a++)
        kn_putf(t, "%s%s %lld", a ? ", " : " ", ph->nest.axes[a].name,
                (long long)kn_power_of_two_from(ph->nest.axes[a].extent));
    kn_put(t, "\n");
}

/* The first line is for people. */
const char *kn_tuning_class(kn_arena *a, const kn_program *p, const kn_plan *plan)
{
    kn_text t = kn_text_new(a);
    kn_putf(&t, "tuning of %s, up to", p->optimised->name);
    for (int i = 0; i < plan->kernels.len; i++)
        for (int j = 0; j < plan->kernels.data[i]->phases.len; j++)
            put_axes(&t, &plan->kernels.data[i]->phases.data[j]);
    kn_putf(&t, "forced %d %d %d %d\n", (int)p->force.division, p->force.cluster,
            (int)p->force.reuse, p->force.max_threads);
    for (int i = 0; i < plan->kernels.len; i++)
        kn_put(&t, plan->kernels.data[i]->key);
    return kn_text_str(&t);
}

/* ---- on disk ---- */

static kn_disk *disk_of(const kn_program *p)
{
    return p->ctx->disk && kn_disk_dir(p->ctx->disk)[0] ? p->ctx->disk : NULL;
}

/* False if the device does not say what it is. */
static bool write_key(kn_program *p, const char *class, kn_text *key)
{
    kn_device *dev = p->ctx->dev;
    kn_put(key, class);
    kn_put(key, "generation " GENERATION "\n");
    kn_putf(key, "generator %s\n", kn_generator);
    return dev->ops->identify(dev, key) == KN_OK;
}

static kn_bytes_view bytes_of(const kn_text *t) { return (kn_bytes_view){kn_text_str(t), t->len}; }

/* The value: a line of numbers, then one for each candidate that was measured, with its time in nanoseconds. */
static void write_value(const kn_tuning *t, kn_text *value)
{
    kn_putf(value, "%d %d %d %d\n", t->n, t->winner, t->left, t->budget_ms);
    for (int i = 0; i < t->n; i++) {
        const kn_trial *x = &t->trials[i];
        kn_putf(value, "%d %d %d %d %lld\n", (int)x->force.division, x->force.cluster,
                (int)x->force.reuse, x->force.max_threads, (long long)(x->us * 1e3 + 0.5));
    }
}

static bool within(int x, int low, int high) { return x >= low && x <= high; }

static bool read_trial(const char *text, kn_trial *x, int *length)
{
    int division, reuse;
    long long ns;
    kn_force *f = &x->force;
    if (sscanf(text, "%d %d %d %d %lld\n%n", &division, &f->cluster, &reuse, &f->max_threads, &ns,
               length) != 5 ||
        !within(division, 0, KN_DIVISIONS - 1) || !within(reuse, 0, KN_REUSES - 1) ||
        !within(f->cluster, 0, KN_MOST_CLUSTER) || !within(f->max_threads, 0, 1024) || ns < 0)
        return false;
    x->us = (double)ns / 1e3;
    f->division = (kn_division)division;
    f->reuse = (kn_reuse)reuse;
    return true;
}

static bool read_value(const char *text, kn_tuning *t)
{
    int at = 0, length;
    if (sscanf(text, "%d %d %d %d\n%n", &t->n, &t->winner, &t->left, &t->budget_ms, &at) != 4 ||
        !within(t->n, 1, KN_MOST_TRIALS) || !within(t->winner, 0, t->n - 1))
        return false;
    for (int i = 0; i < t->n; i++, at += length)
        if (!read_trial(text + at, &t->trials[i], &length))
            return false;
    return text[at] == '\0';
}

bool kn_tuning_find(kn_arena *a, kn_program *p, const char *class, kn_tuning *out)
{
    kn_disk *disk = disk_of(p);
    kn_text key = kn_text_new(a);
    kn_disk_value value;
    if (!disk || !write_key(p, class, &key) || !kn_disk_find(disk, bytes_of(&key), &value))
        return false;
    *out = (kn_tuning){0};
    bool good = read_value(value.bytes.data, out);
    kn_disk_release(disk, &value);
    if (!good)
        kn_disk_reject(disk, bytes_of(&key));
    return good;
}

void kn_tuning_store(kn_arena *a, kn_program *p, const char *class, const kn_tuning *t,
                     uint64_t cost_ns)
{
    kn_disk *disk = disk_of(p);
    kn_text key = kn_text_new(a), value = kn_text_new(a);
    if (!disk || !write_key(p, class, &key))
        return;
    write_value(t, &value);
    kn_disk_store(disk, bytes_of(&key), bytes_of(&value), cost_ns);
}
