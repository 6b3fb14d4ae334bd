/* A compiled text, loaded: the kernel's entry, where its shared memory lies, and through which of its parameters memory
 * may be written. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

/* ---- the image ---- */

/* "_ZZ6kernelPiE4tile", "tile", "tile.0": the variable's own name. */
static void plain_name(const char *symbol, char *name, size_t size)
{
    const char *start = symbol;
    size_t n = strcspn(symbol, ".");
    if (symbol[0] == '_' && symbol[1] == 'Z') {
        for (const char *e = strchr(symbol, 'E'); e; e = strchr(e + 1, 'E')) {
            char *end;
            unsigned long length = strtoul(e + 1, &end, 10);
            if (end > e + 1 && length > 0 && length <= strlen(end)) {
                start = end;
                n = length;
            }
        }
    }
    if (n >= size)
        n = size - 1;
    memcpy(name, start, n);
    name[n] = 0;
}

static kn_status note_symbol(void *user, const kn_emu_symbol *symbol)
{
    kn_code *code = user;
    if (strcmp(symbol->name, "kn_emu_anchor") == 0) {
        code->anchor_offset = symbol->offset;
        return KN_OK;
    }
    if (strcmp(symbol->name, "kn_emu_dynamic") == 0) {
        code->has_dynamic = true;
        code->dynamic = symbol->offset;
        return KN_OK;
    }
    if (!symbol->bytes) /* another name of dynamic shared memory */
        return KN_OK;
    kn_emu_shared *grown = realloc(code->shared, sizeof *grown * (size_t)(code->nshared + 1));
    if (!grown)
        return kn_fail(KN_MEMORY, "out of memory");
    code->shared = grown;
    kn_emu_shared *s = &grown[code->nshared++];
    plain_name(symbol->name, s->name, sizeof s->name);
    s->offset = symbol->offset;
    s->bytes = symbol->bytes;
    if (s->offset + s->bytes > code->fixed)
        code->fixed = s->offset + s->bytes;
    return KN_OK;
}

static kn_status find_image(kn_code *code)
{
    KN_TRY(kn_emu_tls_symbols(code->path, note_symbol, code));
    if (!code->has_dynamic)
        code->dynamic = code->fixed;
    size_t end = code->dynamic + (code->has_dynamic ? KN_EMU_MAX_SHARED : 0);
    if (code->dynamic < code->fixed || code->anchor_offset < end)
        return kn_fail(KN_INTERNAL, "the linker laid out shared memory in another order");
    if (code->fixed > KN_EMU_MAX_SHARED)
        return kn_fail(KN_COMPILE, "%zu bytes of shared memory; a block has at most %d",
                       code->fixed, KN_EMU_MAX_SHARED);
    return KN_OK;
}

/* ---- the module ---- */

static int find_segments(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    kn_code *code = user;
    if ((char *)info->dlpi_addr != code->base)
        return 0;
    char *fixed_end = NULL; /* of what the loader made read-only after relocation */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        char *low = code->base + h->p_vaddr, *high = low + h->p_memsz;
        if (h->p_type == PT_GNU_RELRO)
            fixed_end = high;
        if (h->p_type != PT_LOAD)
            continue;
        if (!code->low || low < code->low)
            code->low = low;
        if (high > code->high)
            code->high = high;
        if (h->p_flags & PF_W) {
            code->writable = low;
            code->writable_end = high;
        }
    }
    if (fixed_end > code->writable)
        code->writable = fixed_end < code->writable_end ? fixed_end : code->writable_end;
    return 1;
}

/* Object pointers to function pointers, as POSIX says dlsym's are to be had. */
static void find(void *handle, const char *name, void *target)
{
    void *p = dlsym(handle, name);
    memcpy(target, &p, sizeof p);
}

static kn_status open_module(kn_code *code)
{
    code->handle = dlopen(code->path, RTLD_NOW | RTLD_LOCAL);
    if (!code->handle) {
        const char *why = dlerror();
        return kn_fail(KN_COMPILE, "kernel '%s': what the emulator compiled cannot be loaded: %s",
                       code->name, why ? why : "?");
    }
    kn_emu_calls_table *(*calls)(void);
    find(code->handle, "kn_emu_find_calls", &calls);
    code->params = dlsym(code->handle, "kn_emu_params");
    code->cluster = dlsym(code->handle, "kn_emu_cluster");
    find(code->handle, "kn_emu_entry", &code->entry);
    find(code->handle, "kn_emu_find_anchor", &code->anchor);
    Dl_info info;
    if (!calls || !code->params || !code->cluster || !code->entry || !code->anchor ||
        !dladdr(code->params, &info))
        return kn_fail(KN_INTERNAL, "kernel '%s': its module lacks what the emulator put there",
                       code->name);
    *calls() = kn_emu_calls_of_runtime;
    while (code->params[code->nparams].reach)
        code->nparams++;
    code->base = info.dli_fbase;
    dl_iterate_phdr(find_segments, code);
    return find_image(code);
}

static kn_status name_params(kn_code *code)
{
    code->names = calloc((size_t)code->nparams + 1, sizeof *code->names);
    if (!code->names)
        return kn_fail(KN_MEMORY, "out of memory");
    kn_emu_name_params(code->source, code->name, code->names, code->nparams);
    return KN_OK;
}

static char *copy_of(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

static void close_module(kn_code *code)
{
    if (code->handle)
        dlclose(code->handle);
    if (code->path[0])
        unlink(code->path);
    free(code->shared);
    free(code->names);
}

/* In a copy: a failure leaves the code as it was. */
static kn_status load(kn_device *base, const kn_binary *binary, kn_code *code)
{
    kn_code loaded = *code;
    KN_TRY(kn_emu_write(kn_emu_of(base), binary, loaded.path, sizeof loaded.path));
    kn_status status = open_module(&loaded);
    if (status == KN_OK)
        status = name_params(&loaded);
    if (status == KN_OK)
        *code = loaded;
    else
        close_module(&loaded);
    return status;
}

kn_status kn_emu_module_load(kn_emu *dev, const char *entry, const char *text, kn_code **out)
{
    static const kn_compiler compiler = {kn_emu_describe_compiler, kn_emu_compile, load,
                                         kn_emu_has_header};
    kn_code *code = calloc(1, sizeof *code);
    kn_status status = KN_OK;
    if (code) {
        code->dev = dev;
        code->name = copy_of(entry);
        code->source = copy_of(text);
    }
    if (!code || !code->name || !code->source)
        status = kn_fail(KN_MEMORY, "out of memory: kernel '%s'", entry);
    if (status == KN_OK)
        status = kn_binary_load(&dev->base, &compiler, &dev->from, entry, text, code);
    if (status != KN_OK) {
        kn_emu_module_unload(code);
        return status;
    }
    *out = code;
    return KN_OK;
}

void kn_emu_module_unload(kn_code *code)
{
    if (!code)
        return;
    close_module(code);
    free(code->name);
    free(code->source);
    free(code);
}

/* ---- parameters ---- */

/* What a pointer parameter reaches is called after it. Memory that only pointers to const reach, or none,
 * is not written by anyone; unless addresses come by another way. */
void kn_emu_span_of_params(const kn_code *code, void *const *values, kn_emu_span *span)
{
    bool written = false;
    for (int i = 0; i < code->nparams; i++) {
        char kind = code->params[i].reach;
        if (kind == '?')
            written = true;
        if (kind != 'c' && kind != 'p')
            continue;
        const char *p = *(const char *const *)values[i];
        if (p < span->low || p >= span->high)
            continue;
        span->name = code->names[i];
        written = written || kind == 'p';
    }
    span->unwatched = !written;
}

int kn_emu_describe_param(kn_device *dev, kn_code *code, int i, kn_code_param *out)
{
    (void)dev;
    if (i < 0 || i >= code->nparams)
        return code->nparams;
    const kn_emu_param *p = &code->params[i];
    bool pointer = p->element || p->reach == 'p' || p->reach == 'c';
    *out = (kn_code_param){.name = code->names[i],
                           .dtype = (kn_dtype)p->dtype,
                           .bytes = p->bytes,
                           .element = p->element,
                           .pointer = pointer,
                           .value = !pointer};
    return code->nparams;
}
