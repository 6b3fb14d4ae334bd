#include "runtime/kernels.h"

#include <string.h>

void kn_kernels_init(kn_kernels *k, kn_device *dev, const kn_allocator *from)
{
    *k = (kn_kernels){.dev = dev, .from = *from};
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->compiled, NULL);
    kn_table_init(&k->entries, from);
}

static void discard(kn_kernels *k, kn_compiled *c)
{
    if (c->code)
        k->dev->ops->discard(k->dev, c->code);
    k->from.release(k->from.user, c);
}

void kn_kernels_finish(kn_kernels *k)
{
    kn_compiled *c;
    for (const kn_table_entry *at = NULL; (c = kn_table_next(&k->entries, &at));)
        discard(k, c);
    kn_table_finish(&k->entries);
    pthread_cond_destroy(&k->compiled);
    pthread_mutex_destroy(&k->lock);
}

/* ---- with the lock held ---- */

static void unlink_idle(kn_kernels *k, kn_compiled *c)
{
    *(c->newer ? &c->newer->older : &k->newest) = c->older;
    *(c->older ? &c->older->newer : &k->oldest) = c->newer;
    k->idle--;
}

static void link_newest(kn_kernels *k, kn_compiled *c)
{
    c->newer = NULL;
    c->older = k->newest;
    *(k->newest ? &k->newest->newer : &k->oldest) = c;
    k->newest = c;
    k->idle++;
}

static void take(kn_kernels *k, kn_compiled *c)
{
    if (c->users++ == 0)
        unlink_idle(k, c);
}

/* Gives a kernel back. Returns one to discard, already out of the table: this one if it failed to compile, or the
 * oldest where too many are idle. */
static kn_compiled *drop(kn_kernels *k, kn_compiled *c)
{
    if (--c->users > 0)
        return NULL;
    link_newest(k, c);
    kn_compiled *out = !c->code ? c : k->idle > KN_IDLE_KERNELS ? k->oldest : NULL;
    if (out) {
        unlink_idle(k, out);
        kn_table_remove(&k->entries, out->key, out->length);
    }
    return out;
}

/* The key's, taken. */
static kn_status find_or_add(kn_kernels *k, const char *key, kn_compiled **out)
{
    size_t length = strlen(key), size = sizeof **out + length + 1;
    *out = kn_table_find(&k->entries, key, length);
    if (*out) {
        take(k, *out);
        return KN_OK;
    }
    kn_compiled *c = k->from.alloc(k->from.user, size);
    if (!c)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", size);
    *c = (kn_compiled){.number = k->count, .users = 1, .length = length};
    memcpy(c->key, key, length + 1);
    kn_status status = kn_table_add(&k->entries, c->key, length, c);
    if (status != KN_OK) {
        k->from.release(k->from.user, c);
        return status;
    }
    k->count++;
    *out = c;
    return KN_OK;
}

/* ---- */

kn_status kn_kernels_get(kn_kernels *k, const char *key, kn_compile_fn compile, void *user,
                         kn_compiled **out)
{
    kn_compiled *c = NULL, *unused = NULL;
    pthread_mutex_lock(&k->lock);
    kn_status status = find_or_add(k, key, &c);
    while (status == KN_OK && !c->code && (c->busy || k->compiling == KN_MAX_COMPILES))
        pthread_cond_wait(&k->compiled, &k->lock);
    if (status == KN_OK && c->code) {
        __atomic_add_fetch(&k->hits, 1, __ATOMIC_RELAXED);
    } else if (status == KN_OK) {
        kn_code *made = NULL;
        c->busy = true;
        k->compiling++;
        pthread_mutex_unlock(&k->lock);
        status = compile(user, &made);
        pthread_mutex_lock(&k->lock);
        k->compiling--;
        c->busy = false;
        if (status == KN_OK)
            c->code = made;
        else
            unused = drop(k, c);
        pthread_cond_broadcast(&k->compiled);
    }
    pthread_mutex_unlock(&k->lock);
    if (unused)
        discard(k, unused);
    *out = status == KN_OK ? c : NULL;
    return status;
}

void kn_kernels_keep(kn_kernels *k, kn_compiled *c)
{
    pthread_mutex_lock(&k->lock);
    take(k, c);
    pthread_mutex_unlock(&k->lock);
}

void kn_kernels_release(kn_kernels *k, kn_compiled *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&k->lock);
    kn_compiled *unused = drop(k, c);
    pthread_mutex_unlock(&k->lock);
    if (!unused)
        return;
    __atomic_add_fetch(&k->dropped, 1, __ATOMIC_RELAXED);
    discard(k, unused);
}

bool kn_kernels_has(kn_kernels *k, const char *key)
{
    pthread_mutex_lock(&k->lock);
    bool has = kn_table_find(&k->entries, key, strlen(key)) != NULL;
    pthread_mutex_unlock(&k->lock);
    return has;
}

uint64_t kn_kernels_count(kn_kernels *k)
{
    pthread_mutex_lock(&k->lock);
    uint64_t n = kn_table_count(&k->entries);
    pthread_mutex_unlock(&k->lock);
    return n;
}
