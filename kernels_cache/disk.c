#include "kernels_cache/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "kernels_cache/place.h"
#include "kernels_cache/tend.h"

struct kn_disk {
    kn_allocator from;
    bool on;
    char dir[KN_PLACE_PATH]; /* the reason why not, unless `on` */
    uint64_t limit;
    kn_disk_counts counts; /* atomic */
    pthread_mutex_t lock;  /* of what follows */
    bool looked;           /* at how much there is */
    uint64_t written;      /* since then, by this process */
};

static void bump(uint64_t *count, uint64_t by) { __atomic_fetch_add(count, by, __ATOMIC_RELAXED); }

/* ---- open and close ---- */

kn_status kn_disk_open(const char *dir, uint64_t limit, const kn_allocator *from, kn_disk **disk)
{
    if (!from)
        from = &kn_malloc_allocator;
    kn_disk *d = from->alloc(from->user, sizeof *d);
    if (!d)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *d);
    memset(d, 0, sizeof *d);
    d->from = *from;
    d->limit = limit ? limit : (uint64_t)KN_DISK_LIMIT_MB << 20;
    d->on = kn_place_choose(dir, d->dir);
    pthread_mutex_init(&d->lock, NULL);
    *disk = d;
    return KN_OK;
}

void kn_disk_close(kn_disk *d)
{
    if (!d)
        return;
    pthread_mutex_destroy(&d->lock);
    kn_allocator from = d->from;
    from.release(from.user, d);
}

static int open_place(kn_disk *d, bool create)
{
    int dir = -1;
    if (d->on && kn_place_open(d->dir, create, &dir) == KN_PLACE_UNSAFE)
        bump(&d->counts.unsafe, 1);
    return dir;
}

/* ---- find ---- */

static bool read_all(int fd, char *to, size_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, to, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
    }
    return true;
}

/* So that it is not what is removed first. Not at every use: that would write to the disk each time. */
static void touch(const kn_place_file *file)
{
    const long long minute = 60000000000, since = kn_tend_now() - file->used;
    if (since < -minute || since > minute)
        futimens(file->fd, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
}

/* The file's value if it is that of `key`; *value then owns the memory. */
static bool take(kn_disk *d, const kn_place_file *file, kn_bytes_view key, kn_disk_value *value)
{
    char *memory = file->size < SIZE_MAX ? d->from.alloc(d->from.user, file->size + 1) : NULL;
    if (!memory)
        return false;
    memory[file->size] = '\0';
    kn_entry entry;
    bool good = read_all(file->fd, memory, file->size) && kn_entry_read(memory, file->size, &entry);
    if (!good) {
        bump(&d->counts.damaged, 1);
    } else if (entry.key.size != key.size || memcmp(entry.key.data, key.data, key.size) != 0) {
        bump(&d->counts.foreign, 1);
        good = false;
    }
    if (!good) {
        d->from.release(d->from.user, memory);
        return false;
    }
    *value = (kn_disk_value){entry.value, entry.cost_ns, memory};
    return true;
}

static bool find_in(kn_disk *d, int dir, kn_bytes_view key, kn_disk_value *value)
{
    char name[KN_TEND_NAME];
    kn_place_file file;
    kn_tend_name(key, name);
    kn_place_state state = kn_place_open_file(dir, name, &file);
    if (state == KN_PLACE_UNSAFE)
        bump(&d->counts.unsafe, 1);
    if (state != KN_PLACE_OPEN)
        return false;
    bool good = take(d, &file, key, value);
    if (good)
        touch(&file);
    close(file.fd);
    return good;
}

bool kn_disk_find(kn_disk *d, kn_bytes_view key, kn_disk_value *value)
{
    if (!d->on)
        return false;
    int dir = open_place(d, false);
    bool good = dir >= 0 && find_in(d, dir, key, value);
    if (dir >= 0)
        close(dir);
    bump(good ? &d->counts.hits : &d->counts.misses, 1);
    return good;
}

void kn_disk_release(kn_disk *d, kn_disk_value *value)
{
    if (value->memory)
        d->from.release(d->from.user, value->memory);
    *value = (kn_disk_value){0};
}

/* ---- store ---- */

/* A file that nobody else has, and its name. */
static int make_temporary(int dir, char name[KN_TEND_NAME])
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
            random = (uint64_t)kn_tend_now() * 65536 + (uint64_t)getpid();
        kn_tend_temporary(random, name);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        S_IRUSR | S_IWUSR);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* No fsync(): after a power failure a file may be cut short, which its sum finds out. */
static bool put_file(int dir, const char *name, const char *bytes, size_t size)
{
    char temporary[KN_TEND_NAME];
    int fd = make_temporary(dir, temporary);
    if (fd < 0)
        return false;
    bool good = kn_file_put(fd, bytes, size);
    good = close(fd) == 0 && good;
    good = good && renameat(dir, temporary, dir, name) == 0;
    if (!good)
        unlinkat(dir, temporary, 0);
    return good;
}

/* Looks at how much there is now and then: at a process's first write, and when it alone has written a good
 * part of the limit since. So the directory stays below the limit and that part for each process. */
static void keep_limit(kn_disk *d, int dir, size_t size)
{
    enum { PART = 16 };
    if (pthread_mutex_trylock(&d->lock) != 0) /* somebody is at it */
        return;
    d->written += size;
    if (!d->looked || d->written > d->limit / PART) {
        kn_disk_usage removed;
        kn_tend_trim(dir, &d->from, d->limit, d->limit - d->limit / PART, &removed);
        bump(&d->counts.evictions, removed.files);
        d->looked = true;
        d->written = 0;
    }
    pthread_mutex_unlock(&d->lock);
}

static bool store_in(kn_disk *d, int dir, const kn_entry *entry)
{
    char name[KN_TEND_NAME];
    size_t size = kn_entry_size(entry);
    char *bytes = size && size <= d->limit ? d->from.alloc(d->from.user, size) : NULL;
    if (!bytes)
        return false;
    kn_entry_write(entry, bytes);
    kn_tend_name(entry->key, name);
    bool good = put_file(dir, name, bytes, size);
    d->from.release(d->from.user, bytes);
    if (good)
        keep_limit(d, dir, size);
    return good;
}

void kn_disk_store(kn_disk *d, kn_bytes_view key, kn_bytes_view value, uint64_t cost_ns)
{
    if (!d->on)
        return;
    int dir = open_place(d, true);
    const kn_entry entry = {key, value, cost_ns};
    bool good = dir >= 0 && store_in(d, dir, &entry);
    if (dir >= 0)
        close(dir);
    bump(good ? &d->counts.writes : &d->counts.write_failures, 1);
}

void kn_disk_reject(kn_disk *d, kn_bytes_view key)
{
    char name[KN_TEND_NAME];
    int dir = open_place(d, false);
    bump(&d->counts.damaged, 1);
    if (dir < 0)
        return;
    kn_tend_name(key, name);
    unlinkat(dir, name, 0);
    close(dir);
}

/* ---- looking after it ---- */

void kn_disk_count(const kn_disk *d, kn_disk_counts *counts)
{
    const uint64_t *from = (const uint64_t *)&d->counts;
    uint64_t *to = (uint64_t *)counts;
    for (size_t i = 0; i < sizeof *counts / sizeof *to; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

const char *kn_disk_dir(const kn_disk *d) { return d->on ? d->dir : ""; }

uint64_t kn_disk_limit(const kn_disk *d) { return d->limit; }

void kn_disk_problem(const kn_disk *d, char *text, size_t size)
{
    int dir;
    text[0] = '\0';
    if (!d->on) {
        snprintf(text, size, "%s", d->dir);
        return;
    }
    switch (kn_place_open(d->dir, false, &dir)) {
    case KN_PLACE_OPEN:
        if (faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0)
            snprintf(text, size, "it cannot be written: %s", strerror(errno));
        close(dir);
        break;
    case KN_PLACE_UNSAFE:
        snprintf(text, size,
                 "it must be a directory of this user's (no link to one) that nobody "
                 "else may write to");
        break;
    case KN_PLACE_UNUSABLE: snprintf(text, size, "it cannot be opened: %s", strerror(errno)); break;
    case KN_PLACE_ABSENT: break; /* will be made */
    }
}

kn_status kn_disk_list(kn_disk *d, void (*fn)(void *user, const kn_disk_entry *entry), void *user,
                       kn_disk_usage *usage)
{
    *usage = (kn_disk_usage){0};
    int dir = open_place(d, false);
    if (dir < 0)
        return KN_OK;
    kn_status status = kn_tend_list(dir, &d->from, fn, user, usage);
    close(dir);
    return status;
}

kn_status kn_disk_trim(kn_disk *d, uint64_t bytes, kn_disk_usage *usage)
{
    *usage = (kn_disk_usage){0};
    int dir = open_place(d, false);
    if (dir < 0)
        return KN_OK;
    kn_status status = kn_tend_trim(dir, &d->from, bytes, bytes, usage);
    close(dir);
    bump(&d->counts.evictions, usage->files);
    return status;
}
