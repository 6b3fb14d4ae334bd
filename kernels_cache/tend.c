#include "kernels_cache/tend.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels_cache/place.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define SUFFIX ".kiln" STRING(KN_ENTRY_FORMAT)
#define TEMPORARY SUFFIX "-"

/* ---- names ---- */

void kn_tend_name(kn_bytes_view key, char name[KN_TEND_NAME])
{
    kn_digest digest = kn_digest_of(key.data, key.size);
    kn_digest_text(&digest, name);
    strcat(name, SUFFIX);
}

void kn_tend_temporary(uint64_t random, char name[KN_TEND_NAME])
{
    snprintf(name, KN_TEND_NAME, TEMPORARY "%016llx", (unsigned long long)random);
}

static bool is_hex(const char *s, size_t n) { return strspn(s, "0123456789abcdef") == n; }

static bool is_entry(const char *name)
{
    enum { DIGITS = KN_DIGEST_TEXT - 1 };
    return is_hex(name, DIGITS) && strcmp(name + DIGITS, SUFFIX) == 0;
}

static bool is_temporary(const char *name)
{
    size_t n = strlen(TEMPORARY);
    return strncmp(name, TEMPORARY, n) == 0 && is_hex(name + n, strlen(name + n));
}

/* ---- what is there ---- */

long long kn_tend_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const long long second = 1000000000;

typedef struct found {
    char name[KN_TEND_NAME];
    uint64_t bytes;
    long long used;
    bool ahead; /* used later than now: the clock was put back */
} found;

typedef struct files {
    kn_allocator from;
    found *at;
    size_t count, cap;
    kn_disk_usage usage;
} files;

static kn_status add(files *f, const found *one)
{
    if (f->count == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        found *grown = f->from.alloc(f->from.user, cap * sizeof *grown);
        if (!grown)
            return kn_fail(KN_MEMORY, "out of memory for a list of the cache's files");
        if (f->count)
            memcpy(grown, f->at, f->count * sizeof *grown);
        if (f->at)
            f->from.release(f->from.user, f->at);
        f->at = grown;
        f->cap = cap;
    }
    f->at[f->count++] = *one;
    f->usage.files++;
    f->usage.bytes += one->bytes;
    return KN_OK;
}

/* Longest unused first. Times ahead of the clock say nothing of when: had one of those files been used since
 * the clock was put back, its time would be right again. */
static int by_use(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->ahead != y->ahead)
        return y->ahead - x->ahead;
    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The directory's files, sorted. `sweep`: also removes what nobody is writing any more. */
static kn_status scan(int dir, bool sweep, bool all, files *f)
{
    /* The stream gets a descriptor of its own: closing it must not close `dir`. */
    int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;
    if (!stream) {
        if (own >= 0)
            close(own);
        return KN_OK;
    }
    const long long now = kn_tend_now(), soon = now + 60 * second, writing = 600 * second;
    kn_status status = KN_OK;
    for (struct dirent *d; status == KN_OK && (d = readdir(stream)) != NULL;) {
        struct stat st;
        bool temporary = is_temporary(d->d_name);
        if ((!temporary && !is_entry(d->d_name)) ||
            fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        long long used = (long long)st.st_mtim.tv_sec * second + st.st_mtim.tv_nsec;
        if (temporary) {
            if (sweep && (all || used < now - writing || used > now + writing))
                unlinkat(dir, d->d_name, 0);
            continue;
        }
        found one = {.bytes = (uint64_t)st.st_size, .used = used, .ahead = used > soon};
        strcpy(one.name, d->d_name);
        status = add(f, &one);
    }
    closedir(stream);
    if (f->count)
        qsort(f->at, f->count, sizeof *f->at, by_use);
    return status;
}

static void finish(files *f)
{
    if (f->at)
        f->from.release(f->from.user, f->at);
}

/* ---- list ---- */

static void show(int dir, const found *one, void (*fn)(void *user, const kn_disk_entry *entry),
                 void *user)
{
    char start[512];
    kn_place_file file;
    kn_entry entry;
    kn_disk_entry shown = {.title = "?", .bytes = one->bytes, .used = one->used};
    if (kn_place_open_file(dir, one->name, &file) == KN_PLACE_OPEN) {
        ssize_t n = read(file.fd, start, sizeof start - 1);
        close(file.fd);
        if (n > 0 && kn_entry_peek(start, (size_t)n, file.size, &entry)) {
            start[n] = '\0';
            char *title = start + KN_ENTRY_HEAD;
            title[strcspn(title, "\n")] = '\0';
            shown.title = title;
            shown.cost_ns = entry.cost_ns;
        }
    }
    fn(user, &shown);
}

kn_status kn_tend_list(int dir, const kn_allocator *from,
                       void (*fn)(void *user, const kn_disk_entry *entry), void *user,
                       kn_disk_usage *usage)
{
    files f = {.from = *from};
    kn_status status = scan(dir, false, false, &f);
    for (size_t i = 0; fn && i < f.count; i++)
        show(dir, &f.at[i], fn, user);
    *usage = f.usage;
    finish(&f);
    return status;
}

/* ---- trim ---- */

kn_status kn_tend_trim(int dir, const kn_allocator *from, uint64_t bytes, uint64_t until,
                       kn_disk_usage *removed)
{
    files f = {.from = *from};
    *removed = (kn_disk_usage){0};
    kn_status status = scan(dir, true, bytes == 0, &f);
    uint64_t left = f.usage.bytes;
    for (size_t i = 0; left > bytes || (removed->files && left > until); i++) {
        if (i == f.count)
            break;
        /* One that another process has removed meanwhile is gone all the same. */
        if (unlinkat(dir, f.at[i].name, 0) == 0) {
            removed->files++;
            removed->bytes += f.at[i].bytes;
        }
        left -= f.at[i].bytes;
    }
    finish(&f);
    return status;
}
