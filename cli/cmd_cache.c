/* kiln cache: the compiled kernels that are kept on disk. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/number.h"

static int put_stats(kiln_ctx *ctx, const kn_args *args, kn_err *e)
{
    kiln_cache_info i;
    kiln_cache_info_init(&i);
    int status = kn_lib_error(e, kiln_cache_stats(ctx, &i));
    if (status)
        return status;
    if (args->json) {
        printf("{\"directory\":");
        kn_json_string(stdout, i.dir);
        printf(",\"problem\":");
        kn_json_string(stdout, i.problem);
        printf(",\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"limit\":%" PRIu64 "}\n", i.files,
               i.bytes, i.limit);
        return KN_EXIT_OK;
    }
    printf("directory  %s\n", i.dir[0] ? i.dir : "none");
    if (i.problem[0])
        printf("not used   %s\n", i.problem);
    printf("files      %" PRIu64 "\n", i.files);
    printf("bytes      %" PRIu64 " of at most %" PRIu64 "\n", i.bytes, i.limit);
    return KN_EXIT_OK;
}

static void put_entry(void *user, const kiln_cache_entry *entry)
{
    (void)user;
    char when[32];
    time_t used = (time_t)entry->used;
    struct tm t;
    if (!localtime_r(&used, &t) || !strftime(when, sizeof when, "%Y-%m-%d %H:%M", &t))
        strcpy(when, "?");
    kn_cli_print(stdout, "%-16s  %9" PRIu64 "  %10.1f  %s\n", when, entry->bytes, entry->compile_ms,
                 entry->title);
}

static int put_list(kiln_ctx *ctx, kn_err *e)
{
    printf("%-16s  %9s  %10s  %s\n", "last used", "bytes", "took ms", "what");
    return kn_lib_error(e, kiln_cache_list(ctx, put_entry, NULL));
}

/* "64M" */
static int read_bytes(const char *text, uint64_t *bytes, kn_err *e)
{
    static const char units[] = "KMG";
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (text[0] < '0' || text[0] > '9' || (*end && (!unit || end[1])) || n > UINT64_MAX >> shift)
        return kn_usage_error(e, "--bytes is a number, perhaps with K, M or G behind it, not '%s'",
                              text);
    *bytes = (uint64_t)n << shift;
    return KN_EXIT_OK;
}

static int trim(kiln_ctx *ctx, uint64_t bytes, kn_err *e)
{
    uint64_t files = 0, freed = 0;
    int status = kn_lib_error(e, kiln_cache_trim(ctx, bytes, &files, &freed));
    if (!status)
        printf("removed %" PRIu64 " file%s, %" PRIu64 " bytes\n", files, files == 1 ? "" : "s",
               freed);
    return status;
}

static int trim_to(kiln_ctx *ctx, const kn_args *args, kn_err *e)
{
    uint64_t bytes = 0;
    int status = KN_EXIT_OK;
    if (args->bytes) {
        status = read_bytes(args->bytes, &bytes, e);
    } else {
        kiln_cache_info i;
        kiln_cache_info_init(&i);
        status = kn_lib_error(e, kiln_cache_stats(ctx, &i));
        bytes = i.limit;
    }
    return status ? status : trim(ctx, bytes, e);
}

int kn_cmd_cache(const kn_args *args, kn_err *e)
{
    const char *what = args->subject;
    kiln_config config;
    kiln_ctx *ctx = NULL;
    kiln_config_init(&config);
    config.device = "cpu"; /* the directory is the same for all */
    config.threads = 1;
    if (args->nvalues)
        return kn_usage_error(e, "cache takes no values; see kiln help cache");
    if (args->json && strcmp(what, "stats") != 0)
        return kn_usage_error(e, "--json is for cache stats");
    if (args->bytes && strcmp(what, "trim") != 0)
        return kn_usage_error(e, "--bytes is for cache trim");
    int status = kn_lib_error(e, kiln_ctx_create(&config, &ctx));
    if (status)
        return status;
    if (strcmp(what, "stats") == 0)
        status = put_stats(ctx, args, e);
    else if (strcmp(what, "list") == 0)
        status = put_list(ctx, e);
    else if (strcmp(what, "clear") == 0)
        status = trim(ctx, 0, e);
    else if (strcmp(what, "trim") == 0)
        status = trim_to(ctx, args, e);
    else
        status = kn_usage_error(
            e, "cache does not know '%s'; there are stats, list, clear and trim", what);
    kiln_ctx_destroy(ctx);
    return status;
}
