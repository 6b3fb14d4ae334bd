/* What was measured, in the disk cache: a small file a class, with the same guarantees as a kernel's. */
#include <stdio.h>
#include <string.h>

#include "base/integer.h"
#include "codegen/emit/cuda/generator.h"
#include "runtime/tune.h"

/* Raised when values are written, or plans measured, in another way: files of before are never asked for again. */
#define GENERATION "2"

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
    kn_put(&t, "forced ");
    kn_force_put(&t, &p->force);
    kn_put(&t, "\n");
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

/* The value is text, a line for each candidate that was measured, the planner's own first:
 *
 *     best 1 of 2, 0 left, 2000 ms
 *     148800 ns
 *     140100 ns cluster=8, threads 256: rows tpg 256 vec 4, cluster 8, async, skew 71, hold v0_x shared */
static void write_value(const kn_tuning *t, kn_text *value)
{
    kn_putf(value, "best %d of %d, %d left, %d ms\n", t->winner, t->n, t->left, t->budget_ms);
    for (int i = 0; i < t->n; i++) {
        kn_text force = kn_text_new(value->arena);
        kn_force_put(&force, &t->trials[i].force);
        kn_putf(value, "%lld ns%s%s\n", (long long)(t->trials[i].us * 1e3 + 0.5),
                force.len ? " " : "", kn_text_str(&force));
    }
}

static bool within(int x, int low, int high) { return x >= low && x <= high; }

/* Reads a line; NULL if it is malformed. Whether its schedules bind shows only when they are bound. */
static const char *read_trial(kn_arena *a, const char *text, kn_tune_trial *x)
{
    long long ns;
    int at = 0;
    size_t n;
    if (sscanf(text, "%lld ns%n", &ns, &at) != 1 || !at || ns < 0)
        return NULL;
    text += at;
    text += *text == ' ';
    n = strcspn(text, "\n");
    *x = (kn_tune_trial){.us = (double)ns / 1e3};
    if (kn_force_read(kn_strndup(a, text, n), &x->force) == KN_OK && text[n])
        return text + n + 1;
    return NULL;
}

typedef struct reading {
    kn_arena *arena;
    const char *text;
    kn_tuning *out;
} reading;

/* KN_ARGUMENT: it is no such text. */
static kn_status read_value(void *user)
{
    const reading *r = user;
    kn_tuning *t = r->out;
    const char *text = r->text;
    int at = 0;
    if (sscanf(text, "best %d of %d, %d left, %d ms\n%n", &t->winner, &t->n, &t->left,
               &t->budget_ms, &at) != 4 ||
        !at || !within(t->n, 1, KN_MOST_TRIALS) || !within(t->winner, 0, t->n - 1))
        return KN_ARGUMENT;
    text += at;
    for (int i = 0; i < t->n && text; i++)
        text = read_trial(r->arena, text, &t->trials[i]);
    return text && !*text ? KN_OK : KN_ARGUMENT;
}

bool kn_tuning_find(kn_arena *a, kn_program *p, const char *class, kn_tuning *out)
{
    kn_disk *disk = disk_of(p);
    kn_text key = kn_text_new(a);
    kn_disk_value value;
    if (!disk || !write_key(p, class, &key) || !kn_disk_find(disk, bytes_of(&key), &value))
        return false;
    *out = (kn_tuning){0};
    kn_status status = kn_protect(a, read_value, &(reading){a, value.bytes.data, out});
    kn_disk_release(disk, &value);
    if (status == KN_ARGUMENT)
        kn_disk_reject(disk, bytes_of(&key));
    if (status != KN_OK)
        kn_clear_error();
    return status == KN_OK;
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
