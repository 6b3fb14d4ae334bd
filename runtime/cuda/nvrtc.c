#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"

typedef struct _nvrtcProgram *nvrtc_program;

enum {
    NVRTC_SUCCESS = 0,
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INVALID_OPTION = 5,
    NVRTC_COMPILATION = 6
};
enum { PATH_SIZE = 4096 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Written by load() under `once`, constant afterwards. */
static struct {
#define NEED(type, entry, params) type(*entry) params;
#define MAY(type, entry, params) type(*entry) params;
#include "runtime/cuda/nvrtc.def"
#undef NEED
#undef MAY
    int major, minor;
    int archs[KN_NVRTC_ARCHS], narchs;
    char path[PATH_SIZE];
    char includes[2][PATH_SIZE]; /* options that name folders with headers */
    int nincludes;
    char problem[1024]; /* why there is no NVRTC; "" when there is one */
} nvrtc;

static pthread_once_t build_once = PTHREAD_ONCE_INIT;
static char build[64]; /* written under `build_once` */

static uint64_t calls; /* atomic */

uint64_t kn_nvrtc_calls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

static void count_call(void) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); }

static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                    "libnvrtc.so"};
enum { NNAMES = sizeof names / sizeof *names };

/* ---- loading ---- */

static void *open_in(const char *folder, const char *below, const char *name)
{
    char path[PATH_SIZE];
    int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, name);
    return n > 0 && n < PATH_SIZE ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The user said which one: nothing else will do. */
static void *open_given(const char *given)
{
    void *lib = NULL;
    if (!is_folder(given))
        lib = dlopen(given, RTLD_NOW | RTLD_LOCAL);
    else
        for (int i = 0; i < NNAMES && !lib; i++)
            lib = open_in(given, "", names[i]);
    const char *why = lib ? NULL : dlerror();
    if (!lib)
        snprintf(nvrtc.problem, sizeof nvrtc.problem,
                 "no NVRTC: KILN_NVRTC is '%.300s', which cannot be loaded: %.500s", given,
                 why ? why : "it is no shared library");
    return lib;
}

/* The newest version that is found anywhere. */
static void *open_any(void)
{
    const char *home = kn_env("CUDA_HOME"), *path = kn_env("CUDA_PATH");
    const struct {
        const char *folder, *below;
    } places[] = {{home, "/lib64"}, {path, "/lib64"}, {"/usr/local/cuda", "/lib64"}};
    for (int i = 0; i < NNAMES; i++) {
        void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        for (size_t j = 0; j < sizeof places / sizeof *places && !lib; j++)
            if (places[j].folder)
                lib = open_in(places[j].folder, places[j].below, names[i]);
        if (lib)
            return lib;
    }
    snprintf(
        nvrtc.problem, sizeof nvrtc.problem,
        "no NVRTC, the compiler that makes GPU code: libnvrtc.so.13, .12, .11.2 or libnvrtc.so is "
        "neither where the dynamic linker looks nor in $CUDA_HOME/lib64, $CUDA_PATH/lib64 or "
        "/usr/local/cuda/lib64; install libnvrtc11.2 (Debian, non-free), cuda-nvrtc-12-8 or "
        "cuda-nvrtc-13-0 (NVIDIA's repository), or set KILN_NVRTC to the library's path");
    return NULL;
}

/* Notes `folder` + `below` as a place of headers if `header` is there. */
static bool add_include(const char *folder, const char *below, const char *header)
{
    enum { FLAG = 2 }; /* "-I" */
    char *option = nvrtc.includes[nvrtc.nincludes];
    char path[PATH_SIZE];
    int n = snprintf(option, PATH_SIZE, "-I%s%s", folder, below);
    if (n < 0 || n >= PATH_SIZE ||
        snprintf(path, sizeof path, "%s/%s", option + FLAG, header) >= PATH_SIZE ||
        access(path, R_OK) != 0)
        return false;
    nvrtc.nincludes++;
    return true;
}

/* The toolkit's headers; since CUDA 13 those of its C++ library are in a folder of their own. */
static void find_includes(void)
{
    char beside[PATH_SIZE];
    snprintf(beside, sizeof beside, "%s", nvrtc.path);
    char *slash = strrchr(beside, '/');
    *(slash ? slash : beside) = '\0';
    const char *home = kn_env("CUDA_HOME"), *path = kn_env("CUDA_PATH");
    const struct {
        const char *folder, *below, *library;
    } places[] = {
        {beside, "/../include", "/../include/cccl"},
        {beside, "/../../cuda_runtime/include", "/../../cuda_runtime/include/cccl"},
        {home, "/include", "/include/cccl"},
        {path, "/include", "/include/cccl"},
        {"/usr/local/cuda", "/include", "/include/cccl"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places && !nvrtc.nincludes; i++)
        if (places[i].folder &&
            add_include(places[i].folder, places[i].below, "cuda_runtime_api.h"))
            add_include(places[i].folder, places[i].library, "cuda/std/type_traits");
}

static void load(void)
{
    const char *given = kn_env("KILN_NVRTC");
    count_call();
    void *lib = given ? open_given(given) : open_any();
    if (!lib)
        return;
    const char *missing = NULL;
    void *symbol;
    /* POSIX lets dlsym()'s object pointer hold a function; ISO C wants the detour over memcpy(). */
#define MAY(type, entry, params)                                                                   \
    symbol = dlsym(lib, #entry);                                                                   \
    memcpy(&nvrtc.entry, &symbol, sizeof symbol);
#define NEED(type, entry, params)                                                                  \
    MAY(type, entry, params)                                                                       \
    if (!symbol && !missing)                                                                       \
        missing = #entry;
#include "runtime/cuda/nvrtc.def"
#undef NEED
#undef MAY
    Dl_info where;
    symbol = dlsym(lib, "nvrtcVersion");
    snprintf(nvrtc.path, sizeof nvrtc.path, "%s",
             symbol && dladdr(symbol, &where) && where.dli_fname ? where.dli_fname : "libnvrtc");
    if (missing) {
        snprintf(nvrtc.problem, sizeof nvrtc.problem,
                 "no usable NVRTC: %.300s has no %s; kiln needs NVRTC 11.2 or newer", nvrtc.path,
                 missing);
        return;
    }
    nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor);
    int n = 0;
    if (nvrtc.nvrtcGetNumSupportedArchs && nvrtc.nvrtcGetSupportedArchs &&
        nvrtc.nvrtcGetNumSupportedArchs(&n) == NVRTC_SUCCESS && n > 0 && n <= KN_NVRTC_ARCHS &&
        nvrtc.nvrtcGetSupportedArchs(nvrtc.archs) == NVRTC_SUCCESS)
        nvrtc.narchs = n;
    find_includes();
}

kn_status kn_nvrtc_find(void)
{
    pthread_once(&once, load);
    return nvrtc.problem[0] ? kn_fail(KN_DEVICE, "%s", nvrtc.problem) : KN_OK;
}

void kn_nvrtc_version(int *major, int *minor)
{
    *major = nvrtc.major;
    *minor = nvrtc.minor;
}

const char *kn_nvrtc_path(void) { return nvrtc.path; }

int kn_nvrtc_archs(int archs[KN_NVRTC_ARCHS])
{
    memcpy(archs, nvrtc.archs, sizeof nvrtc.archs);
    return nvrtc.narchs;
}

bool kn_nvrtc_supports(int sm)
{
    for (int i = 0; i < nvrtc.narchs; i++)
        if (nvrtc.archs[i] == sm)
            return true;
    return nvrtc.narchs == 0;
}

/* ---- compiling ---- */

/* What one kind of result is fetched with. */
typedef struct product {
    int (*get_size)(nvrtc_program program, size_t *size);
    int (*get)(nvrtc_program program, char *data);
} product;

/* One compilation: of what, for what, to what. */
typedef struct job {
    const char *name; /* in messages */
    const char *source;
    const char *entry; /* the kernel whose symbol is wanted; NULL: none */
    const char *arch;  /* NULL: the compiler's default */
    product what;
    const kn_allocator *from;
    const char *option; /* one more, or NULL */
} job;

static kn_status fail_call(int result, const char *call, const char *name)
{
    return kn_fail(result == NVRTC_OUT_OF_MEMORY ? KN_MEMORY : KN_COMPILE, "kernel '%s': %s: %s",
                   name, call, nvrtc.nvrtcGetErrorString(result));
}

/* The length of the first `lines` lines of `s`, at most `limit` bytes. */
static int head_length(const char *s, int lines, int limit)
{
    int n = 0;
    while (s[n] && n < limit && lines > 0)
        lines -= s[n++] == '\n';
    return n;
}

/* A compilation that NVRTC refused: its log, and enough of the source to see what was compiled. */
static kn_status fail_compile(nvrtc_program program, int result, const job *j)
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 1)
        log = j->from->alloc(j->from->user, size);
    if (log && nvrtc.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
        log[0] = '\0';
    const char *text = log && log[0] ? log : nvrtc.nvrtcGetErrorString(result);
    /* The first error being in the line that NVRTC adds for the entry, the source itself is right. */
    if (j->entry && strncmp(text, "__nv_name_map", 13) == 0)
        kn_fail(KN_COMPILE, "the source has no kernel '%s':\n%.*s", j->entry,
                head_length(text, 40, 1300), text);
    else
        kn_fail(
            KN_COMPILE,
            "kernel '%s' does not compile for %s (NVRTC %d.%d%s):\n%.*s\nthe source begins:\n%.*s",
            j->name, j->arch ? j->arch : "the default architecture", nvrtc.major, nvrtc.minor,
            result == NVRTC_INVALID_OPTION ? ", which does not take that architecture" : "",
            head_length(text, 40, 1300), text, head_length(j->source, 8, 400), j->source);
    if (log)
        j->from->release(j->from->user, log);
    return result == NVRTC_OUT_OF_MEMORY ? KN_MEMORY : KN_COMPILE;
}

static kn_status fetch(nvrtc_program program, const product *what, const char *name,
                       const kn_allocator *from, char **data, size_t *size)
{
    size_t n = 0;
    int result = what->get_size(program, &n);
    if (result != NVRTC_SUCCESS)
        return fail_call(result, "the size of the result", name);
    char *p = from->alloc(from->user, n + 1);
    if (!p)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes for the code of kernel '%s'", n + 1,
                       name);
    result = what->get(program, p);
    if (result != NVRTC_SUCCESS) {
        from->release(from->user, p);
        return fail_call(result, "fetching the result", name);
    }
    p[n] = '\0';
    *data = p;
    *size = n;
    return KN_OK;
}

static kn_status fetch_symbol(nvrtc_program program, const job *j, char **symbol)
{
    const char *found = NULL; /* the program's own */
    int result = nvrtc.nvrtcGetLoweredName(program, j->entry, &found);
    if (result != NVRTC_SUCCESS)
        return fail_call(result, "nvrtcGetLoweredName", j->name);
    *symbol = j->from->alloc(j->from->user, strlen(found) + 1);
    if (!*symbol)
        return kn_fail(KN_MEMORY, "out of memory: the symbol of kernel '%s'", j->name);
    strcpy(*symbol, found);
    return KN_OK;
}

#define STANDARD "--std=c++17"
#define UNMARKED "-default-device" /* functions that are not marked are for the device */
#define MINIMAL "--minimal"
/* Whether it is minimal follows from the text and NVRTC's version. */
const char kn_nvrtc_options[] = STANDARD " " UNMARKED;

static kn_status build_program(nvrtc_program program, const job *j, bool minimal, char **data,
                               size_t *size, char **symbol)
{
    char arch[64];
    const char *options[8] = {STANDARD, UNMARKED};
    int noptions = 2;
    if (minimal)
        options[noptions++] = MINIMAL;
    if (j->arch) {
        snprintf(arch, sizeof arch, "--gpu-architecture=%s", j->arch);
        options[noptions++] = arch;
    }
    if (j->option)
        options[noptions++] = j->option;
    for (int i = 0; i < nvrtc.nincludes; i++)
        options[noptions++] = nvrtc.includes[i];
    int result = NVRTC_SUCCESS;
    if (j->entry)
        result = nvrtc.nvrtcAddNameExpression(program, j->entry);
    if (result != NVRTC_SUCCESS)
        return fail_call(result, "nvrtcAddNameExpression", j->name);
    count_call();
    result = nvrtc.nvrtcCompileProgram(program, noptions, options);
    if (result != NVRTC_SUCCESS)
        return fail_compile(program, result, j);
    KN_TRY(fetch(program, &j->what, j->name, j->from, data, size));
    kn_status status = j->entry ? fetch_symbol(program, j, symbol) : KN_OK;
    if (status != KN_OK)
        j->from->release(j->from->user, *data);
    return status;
}

/* symbol may be NULL when j->entry is. */
static kn_status compile_with(const job *j, bool minimal, char **data, size_t *size, char **symbol)
{
    /* The file that messages of the compiler name: the first identifier of "reduce<256>". */
    char file[96];
    size_t n = strspn(j->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    snprintf(file, sizeof file, "%.*s.cu", (int)(n < 80 ? n : 80), j->name);
    nvrtc_program program;
    int result = nvrtc.nvrtcCreateProgram(&program, j->source, file, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS)
        return fail_call(result, "nvrtcCreateProgram", j->name);
    kn_status status = build_program(program, j, minimal, data, size, symbol);
    nvrtc.nvrtcDestroyProgram(&program);
    return status;
}

/* From 12.4 on NVRTC can leave out what kernels hardly need, textures and the runtime's own types and functions, and
 * takes some milliseconds less. A text that does need them is compiled again. */
static bool can_be_minimal(const job *j)
{
    bool knows = nvrtc.major > 12 || (nvrtc.major == 12 && nvrtc.minor >= 4);
    return knows && !strstr(j->source, "#include");
}

static kn_status compile(const job *j, char **data, size_t *size, char **symbol)
{
    kn_status status = KN_COMPILE;
    if (can_be_minimal(j))
        status = compile_with(j, true, data, size, symbol);
    return status == KN_COMPILE ? compile_with(j, false, data, size, symbol) : status;
}

kn_status kn_nvrtc_cubin(const char *entry, const char *source, int sm, const kn_allocator *from,
                         kn_binary *cubin)
{
    KN_TRY(kn_nvrtc_find());
    char arch[32];
    snprintf(arch, sizeof arch, "sm_%d", sm);
    const job j = {entry,
                   source,
                   entry,
                   arch,
                   {nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN},
                   from ? from : &kn_malloc_allocator,
                   NULL};
    kn_binary made = {0};
    KN_TRY(compile(&j, &made.data, &made.size, &made.symbol));
    *cubin = made;
    return KN_OK;
}

kn_status kn_nvrtc_ptx(const char *name, const char *source, const char *arch,
                       const kn_allocator *from, char **ptx, size_t *size)
{
    KN_TRY(kn_nvrtc_find());
    char virtual_arch[48];
    size_t n;
    /* With a virtual architecture NVRTC stops at PTX. */
    if (arch)
        snprintf(virtual_arch, sizeof virtual_arch, "compute_%s",
                 strncmp(arch, "sm_", 3) == 0        ? arch + 3
                 : strncmp(arch, "compute_", 8) == 0 ? arch + 8
                                                     : arch);
    const job j = {name,
                   source,
                   NULL,
                   arch ? virtual_arch : NULL,
                   {nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX},
                   from ? from : &kn_malloc_allocator,
                   NULL};
    KN_TRY(compile(&j, ptx, &n, NULL));
    if (size)
        *size = strlen(*ptx); /* NVRTC counts its own NUL */
    return KN_OK;
}

/* The largest number in front of `what` in a log, -1 if there is none. */
static int number_before(const char *log, const char *what)
{
    int most = -1;
    for (const char *at = strstr(log, what); at; at = strstr(at + 1, what)) {
        const char *p = at;
        while (p > log && p[-1] >= '0' && p[-1] <= '9')
            p--;
        most = atoi(p) > most ? atoi(p) : most;
    }
    return most;
}

kn_status kn_nvrtc_resources(const char *name, const char *source, int sm, kn_nvrtc_use *use)
{
    KN_TRY(kn_nvrtc_find());
    char arch[32], *log;
    size_t n;
    snprintf(arch, sizeof arch, "sm_%d", sm);
    const job j = {name,
                   source,
                   NULL,
                   arch,
                   {nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog},
                   &kn_malloc_allocator,
                   "--ptxas-options=-v"};
    KN_TRY(compile(&j, &log, &n, NULL));
    use->registers = number_before(log, " registers");
    use->stack = number_before(log, " bytes stack frame");
    use->spilled = number_before(log, " bytes spill stores");
    int shared = number_before(log, " bytes smem");
    use->shared = shared < 0 ? 0 : shared;
    free(log);
    if (use->registers < 0 || use->stack < 0 || use->spilled < 0)
        return kn_fail(KN_COMPILE, "kernel '%s': NVRTC %d.%d reports no resources for %s", name,
                       nvrtc.major, nvrtc.minor, arch);
    return KN_OK;
}

/* ---- identity ---- */

static void find_build(void)
{
    snprintf(build, sizeof build, "NVRTC %d.%d", nvrtc.major, nvrtc.minor);
    char *ptx;
    if (kn_nvrtc_ptx("empty", "extern \"C\" __global__ void empty() {}\n", NULL, NULL, &ptx,
                     NULL) != KN_OK)
        return;
    /* The header has a line "// Compiler Build ID: CL-36424714". */
    const char *id = strstr(ptx, "CL-");
    size_t n = id ? strspn(id + 3, "0123456789") : 0;
    size_t have = strlen(build);
    if (n > 0 && n < 32)
        snprintf(build + have, sizeof build - have, " %.*s", (int)n + 3, id);
    free(ptx);
}

const char *kn_nvrtc_build(void)
{
    if (kn_nvrtc_find() != KN_OK)
        return "";
    pthread_once(&build_once, find_build);
    return build;
}
