#include "runtime/device/binary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "kernels_cache/disk.h"

/* Raised when binaries are made in another way that the rest of the key does not show. */
#define GENERATION "1"

/* ---- which texts are whole ---- */

static bool among(const char *word, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == n && memcmp(*words, word, n) == 0)
            return true;
    return false;
}

/* What follows a '#': a directive that reads nothing. Comments and spliced lines in between are doubts. */
static bool is_harmless(const char *s, bool (*has_header)(const char *name, size_t n))
{
    static const char *const harmless[] = {"define", "undef",   "if",    "ifdef", "ifndef",
                                           "elif",   "else",    "endif", "line",  "error",
                                           "pragma", "warning", NULL};
    s += strspn(s, " \t");
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    if (among(s, n, harmless))
        return true;
    if (!has_header || n != strlen("include") || memcmp(s, "include", n) != 0)
        return false;
    s += n;
    s += strspn(s, " \t");
    const char *close = *s == '<' ? ">" : *s == '"' ? "\"" : NULL;
    if (!close)
        return false;
    n = strcspn(s + 1, "<>\"\n");
    return s[1 + n] == *close && has_header(s + 1, n);
}

bool kn_text_is_whole(const char *text, bool (*has_header)(const char *name, size_t n))
{
    /* Other ways of spelling '#', of reading a file, and of asking for what changes. */
    static const char *const doubts[] = {"%:",       "?\?=",          "__has_", "__DATE__",
                                         "__TIME__", "__TIMESTAMP__", "incbin", "import"};
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
        if (strstr(text, doubts[i]))
            return false;
    for (const char *s = text; (s = strchr(s, '#')) != NULL;) {
        s++;
        if (*s == '#') /* pastes two words together */
            s++;
        else if (!is_harmless(s, has_header))
            return false;
    }
    return true;
}

/* ---- keys and values ---- */

/* One request, and what is known of it so far. */
typedef struct request {
    kn_device *dev;
    const kn_compiler *compiler;
    const kn_allocator *from;
    const char *entry, *text;
    kn_code *code;
    kn_arena arena; /* the key's */
    kn_text key;    /* empty: nothing is to be looked up or kept */
} request;

/* The first line is for people. Fields are lines that begin with their name; the text is the rest. */
static kn_status write_key(void *user)
{
    request *r = user;
    kn_text *key = &r->key;
    kn_putf(key, "%s %s\n", r->dev->ops->kind, r->entry);
    kn_put(key, "generation " GENERATION "\n");
    KN_TRY(r->compiler->describe(r->dev, r->text, key));
    kn_putf(key, "text of %zu bytes\n", strlen(r->text));
    kn_put(key, r->text);
    return KN_OK;
}

static kn_bytes_view key_of(const request *r)
{
    return (kn_bytes_view){kn_text_str(&r->key), r->key.len};
}

/* The value: the symbol, a NUL, the machine code. */
static bool read_value(kn_bytes_view value, kn_binary *binary)
{
    const char *end = value.size ? memchr(value.data, '\0', value.size) : NULL;
    if (!end)
        return false;
    size_t head = (size_t)(end + 1 - value.data);
    *binary = (kn_binary){
        .symbol = (char *)value.data, .data = (char *)value.data + head, .size = value.size - head};
    return true;
}

static void keep(const request *r, const kn_binary *binary, uint64_t cost_ns)
{
    size_t head = strlen(binary->symbol) + 1;
    char *value = r->from->alloc(r->from->user, head + binary->size);
    if (!value)
        return;
    memcpy(value, binary->symbol, head);
    memcpy(value + head, binary->data, binary->size);
    kn_disk_store(r->dev->disk, key_of(r), (kn_bytes_view){value, head + binary->size}, cost_ns);
    r->from->release(r->from->user, value);
}

kn_status kn_binary_read(const char *path, const kn_allocator *from, kn_binary *binary)
{
    struct stat st;
    FILE *f = fopen(path, "re");
    if (!f || fstat(fileno(f), &st) != 0) {
        if (f)
            fclose(f);
        return kn_fail(KN_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    *binary = (kn_binary){.size = (size_t)st.st_size};
    binary->data = from->alloc(from->user, binary->size + 1);
    binary->symbol = from->alloc(from->user, 1);
    kn_status status = KN_OK;
    if (!binary->data || !binary->symbol)
        status = kn_fail(KN_MEMORY, "out of memory: %zu bytes", binary->size);
    else if (fread(binary->data, 1, binary->size, f) != binary->size)
        status = kn_fail(KN_IO, "cannot read '%s'", path);
    fclose(f);
    if (status != KN_OK)
        kn_binary_finish(binary, from);
    else
        binary->symbol[0] = '\0';
    return status;
}

void kn_binary_finish(kn_binary *binary, const kn_allocator *from)
{
    if (binary->data)
        from->release(from->user, binary->data);
    if (binary->symbol)
        from->release(from->user, binary->symbol);
    *binary = (kn_binary){0};
}

/* ---- a request ---- */

static void count(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

/* From the disk cache. *done says whether that answered the request. */
static kn_status load_kept(request *r, bool *done)
{
    kn_disk_value value;
    kn_binary binary;
    *done = false;
    if (!r->key.len || !kn_disk_find(r->dev->disk, key_of(r), &value))
        return KN_OK;
    kn_status status = read_value(value.bytes, &binary)
                           ? r->compiler->load(r->dev, &binary, r->code)
                           : KN_INTERNAL;
    uint64_t cost = value.cost_ns;
    kn_disk_release(r->dev->disk, &value);
    if (status == KN_OK) {
        count(&r->dev->disk_hits, 1);
        count(&r->dev->saved_ns, cost);
    } else if (status != KN_MEMORY) {
        kn_disk_reject(r->dev->disk, key_of(r));
        kn_clear_error();
        return KN_OK;
    }
    *done = true;
    return status;
}

static kn_status compile(request *r)
{
    kn_binary binary = {0};
    uint64_t start = kn_clock_ns();
    KN_TRY(r->compiler->compile(r->dev, r->entry, r->text, r->from, &binary));
    uint64_t cost = kn_clock_ns() - start;
    count(&r->dev->compile_ns, cost);
    count(&r->dev->compiles, 1);
    kn_status status = r->compiler->load(r->dev, &binary, r->code);
    if (status == KN_OK && r->key.len && !binary.private)
        keep(r, &binary, cost);
    kn_binary_finish(&binary, r->from);
    return status;
}

static kn_status serve(request *r)
{
    bool done;
    if (r->dev->disk && kn_disk_dir(r->dev->disk)[0] &&
        kn_text_is_whole(r->text, r->compiler->has_header))
        KN_TRY(kn_protect(&r->arena, write_key, r));
    KN_TRY(load_kept(r, &done));
    return done ? KN_OK : compile(r);
}

kn_status kn_binary_load(kn_device *dev, const kn_compiler *compiler, const kn_allocator *from,
                         const char *entry, const char *text, kn_code *code)
{
    request r = {dev, compiler, from, entry, text, code, .key = {0}};
    kn_arena_init(&r.arena, from);
    r.key = kn_text_new(&r.arena);
    kn_status status = serve(&r);
    kn_arena_finish(&r.arena);
    return status;
}
