/* What each lane of a warp gets from a shuffle, mask by mask: a table made on this machine.
 *
 *     shuffle_masks [DEVICE]
 *
 * DEVICE is cuda, cuda:N or emu; without it, or as "auto", a GPU if there is one and else the emulator.
 * A mask names the lanes that take part. A lane may only call with a mask that has it, and may only read
 * a lane that the mask has; the rest is undefined. A GPU gives something for it, or stops: so each case
 * runs in a process of its own. The emulator says in its strict mode, the default, what is wrong, and in
 * its relaxed mode gives what GPUs have been seen to give.
 *
 * Lane t has the value 100 + t. `down 1` reads the lane above, `up 1` the one below. "101..104" stands
 * for 101 102 103 104, "0 x4" for four times 0. The kernels are in masks.cu, beside this file.
 *
 * Exit status: 0; 1 if a case that is defined gives another result, or the emulator lets one pass that is
 * not; 2 if there is no such device; 77 if there is neither a GPU nor an emulator.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kiln.h>

extern const char masks_source[]; /* masks.cu */

enum { UNUSABLE = 2, SKIPPED = 77, LANES = 32 };

typedef enum verdict {
    DEFINED,     /* both halves get what `down 1`, or half by half `down 1` and `down 2`, says */
    DEFINED_UP,  /* the same for `up` */
    DEFINED_16,  /* `down` within each half */
    UNDEFINED,   /* a misuse */
    NO_SUCH_CALL /* does not compile for any GPU since Volta */
} verdict;

typedef struct test {
    const char *name, *what, *entry;
    verdict verdict;
} test;

#define FULL "0xffffffffu"
#define LOW "0x0000ffffu"
#define HIGH "0xffff0000u"
#define HALVES(low, high, way, low_first) "halves<" low ", " high ", " way ", " low_first ", 32>"

static const test tests[] = {
    {"1", "down 1, no mask", "without_mask", NO_SUCH_CALL},
    {"2", "down 1, full mask", "whole<" FULL ">", DEFINED},
    {"3", "down 1, mask 0", "whole<0u>", UNDEFINED},
    {"4", "down 1, mask 00ff00ff", "whole<0x00ff00ffu>", UNDEFINED},
    {"5", "lanes 0-15 down 1, then 16-31 down 2; full masks", HALVES(FULL, FULL, "DOWN", "true"),
     DEFINED},
    {"6", "the same, lanes 16-31 first", HALVES(FULL, FULL, "DOWN", "false"), DEFINED},
    {"7", "lanes 0-15 down 1, then 16-31 down 2; masks 0", HALVES("0u", "0u", "DOWN", "true"),
     UNDEFINED},
    {"8", "the same, lanes 16-31 first", HALVES("0u", "0u", "DOWN", "false"), UNDEFINED},
    {"9", "lanes 0-15 up 1, then 16-31 up 2; full masks", HALVES(FULL, FULL, "UP", "true"),
     DEFINED_UP},
    {"10", "the same, lanes 16-31 first", HALVES(FULL, FULL, "UP", "false"), DEFINED_UP},
    {"25", "lanes 0-15 down 1, then 16-31 down 2; each half its own mask",
     HALVES(LOW, HIGH, "DOWN", "true"), UNDEFINED},
    {"26", "the same, lanes 16-31 first", HALVES(LOW, HIGH, "DOWN", "false"), UNDEFINED},
    {"27", "lanes 0-15 down 1, then 16-31 down 2; each half the other's mask",
     HALVES(HIGH, LOW, "DOWN", "true"), UNDEFINED},
    {"28", "the same, lanes 16-31 first", HALVES(HIGH, LOW, "DOWN", "false"), UNDEFINED},
    {"29", "lanes 0-15 up 1, then 16-31 up 2; each half its own mask",
     HALVES(LOW, HIGH, "UP", "true"), UNDEFINED},
    {"30", "the same, lanes 16-31 first", HALVES(LOW, HIGH, "UP", "false"), UNDEFINED},
    {"+", "as 25 with width 16, so that no lane reads beyond its half",
     "halves<" LOW ", " HIGH ", DOWN, true, 16>", DEFINED_16},
};
enum { NTESTS = sizeof tests / sizeof *tests };

/* ---- one case, in a process of its own --------------------------------------------------------- */

typedef struct outcome {
    int status; /* a kiln_status */
    int lanes[LANES];
    char device[32];
    char message[1024];
} outcome;

/* "auto": a GPU if there is one, else the emulator. */
static kiln_status open_device(const char *name, const char *emulator, kiln_ctx **ctx)
{
    kiln_config config;
    kiln_config_init(&config);
    config.emulator = emulator;
    bool any = strcmp(name, "auto") == 0;
    config.device = any ? "cuda" : name;
    kiln_status status = kiln_ctx_create(&config, ctx);
    if (status == KILN_OK || !any)
        return status;
    config.device = "emu";
    return kiln_ctx_create(&config, ctx);
}

static kiln_status launch(kiln_ctx *ctx, kiln_kernel *kernel, int lanes[LANES])
{
    void *out;
    kiln_status status = kiln_alloc(ctx, sizeof(int[LANES]), &out);
    if (status != KILN_OK)
        return status;
    void *params[] = {&out};
    kiln_launch l;
    kiln_launch_init(&l);
    l.block[0] = LANES;
    status = kiln_kernel_run(kernel, NULL, &l, params, 1);
    if (status == KILN_OK)
        status = kiln_sync(ctx, NULL);
    if (status == KILN_OK)
        status = kiln_download(ctx, lanes, out, sizeof(int[LANES]));
    return status; /* `out` goes with the process: nothing can be released after some failures */
}

static kiln_status run(const test *t, const char *device, const char *emulator, outcome *o)
{
    static const char define[] = "#define MASKS_LEGACY 1\n#line 1 \"masks.cu\"\n";
    char *legacy = malloc(sizeof define + strlen(masks_source));
    if (!legacy)
        return KILN_ERR_MEMORY;
    strcpy(stpcpy(legacy, define), masks_source);
    kiln_ctx *ctx = NULL;
    kiln_kernel *kernel = NULL;
    kiln_status status = open_device(device, emulator, &ctx);
    if (status == KILN_OK) {
        snprintf(o->device, sizeof o->device, "%s", kiln_ctx_device(ctx));
        status = kiln_kernel_create(ctx, t->verdict == NO_SUCH_CALL ? legacy : masks_source,
                                    t->entry, &kernel);
    }
    if (status == KILN_OK)
        status = launch(ctx, kernel, o->lanes);
    /* The emulator's files on the disk do not go with the process. */
    if (ctx && strcmp(o->device, "emu") == 0) {
        kiln_kernel_destroy(kernel);
        kiln_ctx_destroy(ctx);
    }
    return status;
}

/* False when there is no process to be had. */
static bool run_apart(const test *t, const char *device, const char *emulator, outcome *o)
{
    int ends[2];
    *o = (outcome){.status = KILN_ERR_RUN};
    strcpy(o->message, "the process died");
    fflush(stdout);
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        outcome mine = {0};
        mine.status = (int)run(t, device, emulator, &mine);
        if (mine.status != KILN_OK)
            snprintf(mine.message, sizeof mine.message, "%s", kiln_last_error());
        _exit(write(ends[1], &mine, sizeof mine) == (ssize_t)sizeof mine ? 0 : 1);
    }
    close(ends[1]);
    outcome got;
    if (child > 0 && read(ends[0], &got, sizeof got) == (ssize_t)sizeof got)
        *o = got;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return child > 0;
}

/* ---- the table --------------------------------------------------------------------------------- */

static void put_lanes(const int lanes[LANES])
{
    for (int i = 0; i < LANES;) {
        int up = 1, same = 1;
        while (i + up < LANES && lanes[i + up] == lanes[i] + up)
            up++;
        while (i + same < LANES && lanes[i + same] == lanes[i])
            same++;
        if (up > 2)
            printf(" %d..%d", lanes[i], lanes[i + up - 1]);
        else if (same > 2)
            printf(" %d x%d", lanes[i], same);
        else
            printf(" %d", lanes[i]);
        i += up > 2 ? up : same > 2 ? same : 1;
    }
    printf("\n");
}

/* What the compilers and the emulator say, without the kernel's name before it and the source after. */
static void put_message(const char *message)
{
    const char *from = strstr(message, "error: ");
    if (!from)
        from = strstr(message, "', line ");
    from = !from ? message : *from == '\'' ? from + 3 : from;
    printf(" %.*s\n", (int)strcspn(from, "\n"), from);
}

static void put_outcome(const char *mode, const outcome *o)
{
    printf("      %-8s", mode);
    if (o->status == KILN_OK)
        put_lanes(o->lanes);
    else
        put_message(o->message);
}

/* What lane `lane` gets where it is defined: of the lanes 100 + t, t the source or, where that is beyond
 * the warp or its segment, the lane itself. */
static int expected(const test *t, int lane)
{
    int by = lane >= 16 && strcmp(t->name, "2") != 0 ? 2 : 1;
    int source = t->verdict == DEFINED_UP ? lane - by : lane + by;
    int last = t->verdict == DEFINED_16 && lane < 16 ? 15 : LANES - 1;
    return 100 + (source < 0 || source > last ? lane : source);
}

static bool right(const test *t, const outcome *o)
{
    bool ok = o->status == KILN_OK;
    for (int i = 0; i < LANES && ok; i++)
        ok = o->lanes[i] == expected(t, i);
    if (!ok)
        fprintf(stderr, "shuffle_masks: case %s is defined, and this is not its result\n", t->name);
    return ok;
}

static bool refused(const test *t, const outcome *o)
{
    if (o->status != KILN_ERR_COMPILE)
        fprintf(stderr, "shuffle_masks: case %s calls what there is not, and compiles\n", t->name);
    return o->status == KILN_ERR_COMPILE;
}

/* A case on the emulator: what it says, and what it gives when it is not to say it. */
static bool show_emulated(const test *t, const outcome *strict)
{
    outcome relaxed;
    put_outcome("strict", strict);
    if (t->verdict == UNDEFINED && strict->status == KILN_OK) {
        fprintf(stderr, "shuffle_masks: the emulator let case %s pass\n", t->name);
        return false;
    }
    if (t->verdict != UNDEFINED || !run_apart(t, "emu", "relaxed", &relaxed))
        return true;
    if (relaxed.status != KILN_OK && strcmp(relaxed.message, strict->message) == 0)
        printf("      relaxed  the same\n");
    else
        put_outcome("relaxed", &relaxed);
    return true;
}

static int show(const test *t, const char *device)
{
    outcome o;
    if (!run_apart(t, device, NULL, &o)) {
        fprintf(stderr, "shuffle_masks: no new process\n");
        return 1;
    }
    if (o.status == KILN_ERR_DEVICE) {
        printf("skipped: %s\n", o.message);
        return SKIPPED;
    }
    if (o.status == KILN_ERR_ARGUMENT && !o.device[0]) {
        fprintf(stderr, "shuffle_masks: %s\n", o.message);
        return UNUSABLE;
    }
    if (t == tests)
        printf("One warp on %s; lane t has 100 + t.\n", o.device);
    printf("%3s  %s\n", t->name, t->what);
    bool emulated = strcmp(o.device, "emu") == 0, ok = true;
    if (emulated)
        ok = show_emulated(t, &o);
    else
        put_outcome("", &o);
    if (t->verdict == NO_SUCH_CALL)
        ok &= refused(t, &o);
    else if (t->verdict != UNDEFINED)
        ok &= right(t, &o);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    int result = 0;
    if (argc > 2) {
        fprintf(stderr, "usage: shuffle_masks [DEVICE]\n");
        return UNUSABLE;
    }
    for (int i = 0; i < NTESTS && result != SKIPPED && result != UNUSABLE; i++) {
        int status = show(&tests[i], argc > 1 ? argv[1] : "auto");
        result = status ? status : result;
    }
    return result;
}
