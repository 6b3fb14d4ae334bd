#include "cli/args.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Without a value, with one behind it or behind '=', or with one behind '=' that may be left out. */
typedef enum value_kind { NONE, NEEDED, OPTIONAL } value_kind;

typedef struct option {
    const char *name;
    unsigned flag;
    value_kind value;
} option;

static const option options[] = {
    {"--device", KN_OPT_DEVICE, NEEDED},
    {"--fusion", KN_OPT_FUSION, NEEDED},
    {"--seed", KN_OPT_SEED, NEEDED},
    {"--json", KN_OPT_JSON, NONE},
    {"-o", KN_OPT_OUT, NEEDED},
    {"-v", KN_OPT_VERBOSE, NONE},
    {"--stage", KN_OPT_STAGE, NEEDED},
    {"--html", KN_OPT_HTML, NEEDED},
    {"--svg", KN_OPT_SVG, NEEDED},
    {"--arch", KN_OPT_ARCH, NEEDED},
    {"--schedule", KN_OPT_SCHEDULE, NEEDED},
    {"--reuse", KN_OPT_SCHEDULE, NEEDED},
    {"--split", KN_OPT_SPLIT, NEEDED},
    {"--save", KN_OPT_SPLIT, NEEDED},
    {"--fast-math", KN_OPT_FAST, NONE},
    {"--batch-invariant", KN_OPT_FAST, NONE},
    {"--autotune", KN_OPT_TUNE, OPTIONAL},
    {"--ranks", KN_OPT_RANKS, NEEDED},
    {"--path", KN_OPT_RANKS, NEEDED},
    {"--bytes", KN_OPT_BYTES, NEEDED},
    {"--cpu", KN_OPT_EMIT, NONE},
    {"--name", KN_OPT_EMIT, NEEDED},
    {"--sizes", KN_OPT_EMIT, NEEDED},
    {"--entry", KN_OPT_LAUNCH, NEEDED},
    {"--grid", KN_OPT_LAUNCH, NEEDED},
    {"--block", KN_OPT_LAUNCH, NEEDED},
    {"--cluster", KN_OPT_LAUNCH, NEEDED},
    {"--shared", KN_OPT_LAUNCH, NEEDED},
    {"--cooperative", KN_OPT_LAUNCH, NONE},
    {"--emulator", KN_OPT_LAUNCH, NEEDED},
};

static const option *find_option(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strlen(options[i].name) == n && memcmp(options[i].name, word, n) == 0)
            return &options[i];
    return NULL;
}

static int set_fusion(kn_args *args, const char *text, kn_err *e)
{
    args->fusion = strcmp(text, "on") == 0;
    if (!args->fusion && strcmp(text, "off") != 0)
        return kn_usage_error(e, "--fusion is on or off, not '%s'", text);
    return KN_EXIT_OK;
}

static int set_seed(kn_args *args, const char *text, kn_err *e)
{
    char *end;
    errno = 0;
    args->seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        return kn_usage_error(e, "--seed is a number from 0 to 2^64-1, not '%s'", text);
    return KN_EXIT_OK;
}

static void set_launch(kn_args *args, const char *name, const char *text)
{
    const struct {
        const char *name, **text;
    } fields[] = {{"--entry", &args->entry},   {"--grid", &args->grid},
                  {"--block", &args->block},   {"--cluster", &args->cluster},
                  {"--shared", &args->shared}, {"--emulator", &args->emulator}};
    args->cooperative |= strcmp(name, "--cooperative") == 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0)
            *fields[i].text = text;
}

/* text: NULL for as long as one is ready to wait */
static int set_autotune(kn_args *args, const char *text, kn_err *e)
{
    enum { PATIENCE = 2000 };
    char *end;
    errno = 0;
    long ms = text ? strtol(text, &end, 10) : PATIENCE;
    if (text && (!isdigit((unsigned char)*text) || *end || errno || ms < 1 || ms > INT_MAX))
        return kn_usage_error(e, "--autotune is a number of milliseconds from 1, not '%s'", text);
    args->autotune = (int)ms;
    return KN_EXIT_OK;
}

static int set_ranks(kn_args *args, const char *name, const char *text, kn_err *e)
{
    char *end;
    if (strcmp(name, "--path") == 0) {
        args->path = text;
        return KN_EXIT_OK;
    }
    long n = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || n < 1 || n > KN_MOST_RANKS)
        return kn_usage_error(e, "--ranks is a number from 1 to %d, not '%s'", KN_MOST_RANKS, text);
    args->ranks = (int)n;
    return KN_EXIT_OK;
}

static void set_emit(kn_args *args, const char *name, const char *text)
{
    if (strcmp(name, "--cpu") == 0)
        args->cpu = true;
    else
        *(strcmp(name, "--name") == 0 ? &args->name : &args->sizes) = text;
}

static int set_option(kn_args *args, const option *o, const char *text, kn_err *e)
{
    switch (o->flag) {
    case KN_OPT_DEVICE: args->device = text; break;
    case KN_OPT_FUSION: return set_fusion(args, text, e);
    case KN_OPT_SEED: return set_seed(args, text, e);
    case KN_OPT_JSON: args->json = true; break;
    case KN_OPT_VERBOSE: args->verbose = true; break;
    case KN_OPT_OUT: args->out_dir = text; break;
    case KN_OPT_STAGE: args->stage = text; break;
    case KN_OPT_HTML: args->html = text; break;
    case KN_OPT_SVG: args->svg = text; break;
    case KN_OPT_ARCH: args->arch = text; break;
    case KN_OPT_SPLIT: *(strcmp(o->name, "--save") == 0 ? &args->save : &args->split) = text; break;
    case KN_OPT_FAST:
        *(strcmp(o->name, "--fast-math") == 0 ? &args->fast_math : &args->batch_invariant) = true;
        break;
    case KN_OPT_TUNE: return set_autotune(args, text, e);
    case KN_OPT_RANKS: return set_ranks(args, o->name, text, e);
    case KN_OPT_BYTES: args->bytes = text; break;
    case KN_OPT_EMIT: set_emit(args, o->name, text); break;
    case KN_OPT_LAUNCH: set_launch(args, o->name, text); break;
    default: *(strcmp(o->name, "--reuse") == 0 ? &args->reuse : &args->schedule) = text; break;
    }
    return KN_EXIT_OK;
}

/* Takes the option at argv[*i] and its value; *i is left at the last word taken. */
static int parse_option(int argc, char **argv, int *i, const kn_syntax *syntax, kn_args *args,
                        kn_err *e)
{
    const char *word = argv[*i];
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const option *o = find_option(word, n);
    if (!o || !(o->flag & syntax->options))
        return kn_usage_error(e, "%s has no option '%.*s'; see kiln help %s", syntax->command,
                              (int)n, word, syntax->command);
    if (o->value == NONE && equals)
        return kn_usage_error(e, "%s takes no value: '%s'", o->name, word);
    const char *text = equals ? equals + 1 : NULL;
    if (o->value == NEEDED && !equals) {
        if (++*i == argc)
            return kn_usage_error(e, "%s needs a value", o->name);
        text = argv[*i];
    }
    if (text && !*text)
        return kn_usage_error(e, "%s needs a value, not ''", o->name);
    if (o->value == OPTIONAL && !text && *i + 1 < argc && isdigit((unsigned char)argv[*i + 1][0]))
        return kn_usage_error(e, "write %s=%s", o->name, argv[*i + 1]);
    return set_option(args, o, text, e);
}

/* NAME=VALUE; *names is where the name goes, and is advanced. `raw`: an argument of a kernel. */
static int parse_value(const char *word, char **names, bool raw, kn_args *args, kn_err *e)
{
    size_t n = 0;
    bool out = raw && strncmp(word, "out:", 4) == 0;
    if (out)
        word += 4;
    while (isalnum((unsigned char)word[n]) || word[n] == '_')
        n++;
    if (n == 0 || isdigit((unsigned char)word[0]) || word[n] != '=')
        return kn_usage_error(e, "expected NAME=VALUE, found '%s'", word);
    char *name = *names;
    memcpy(name, word, n);
    name[n] = '\0';
    *names += n + 1;
    for (int i = 0; i < args->nvalues; i++)
        if (strcmp(args->values[i].name, name) == 0)
            return kn_usage_error(e, "%s is given twice", name);
    kn_cli_value *v = &args->values[args->nvalues++];
    int status = raw ? kn_cli_value_parse_raw(name, word + n + 1, v, e)
                     : kn_cli_value_parse(name, word + n + 1, v, e);
    v->out = out;
    return status;
}

int kn_args_parse(int argc, char **argv, const kn_syntax *syntax, kn_args *args, kn_err *e)
{
    const char *command = syntax->command;
    *args = (kn_args){.fusion = true};
    size_t length = 1;
    for (int i = 0; i < argc; i++)
        length += strlen(argv[i]) + 1;
    args->values = calloc((size_t)argc + 1, sizeof *args->values);
    args->names = malloc(length);
    if (!args->values || !args->names)
        return kn_run_error(e, "out of memory");

    char *names = args->names;
    bool plain = false;
    for (int i = 0; i < argc; i++) {
        int status = KN_EXIT_OK;
        if (!plain && strcmp(argv[i], "--") == 0)
            plain = true;
        else if (!plain && argv[i][0] == '-' && argv[i][1] && argv[i][1] != ':')
            status = parse_option(argc, argv, &i, syntax, args, e);
        else if (!syntax->subject)
            status =
                kn_usage_error(e, "%s takes no '%s'; see kiln help %s", command, argv[i], command);
        else if (!args->subject)
            args->subject = argv[i];
        else
            status = parse_value(argv[i], &names, syntax->options & KN_OPT_LAUNCH, args, e);
        if (status)
            return status;
    }
    if (syntax->subject && !args->subject)
        return kn_usage_error(e, "%s needs %s; see kiln help %s", command, syntax->subject,
                              command);
    if (args->save && !args->split)
        return kn_usage_error(e, "--save is of a program that --split divides");
    return KN_EXIT_OK;
}

void kn_args_finish(kn_args *args)
{
    for (int i = 0; i < args->nvalues; i++)
        kn_cli_value_finish(&args->values[i]);
    free(args->values);
    free(args->names);
    *args = (kn_args){0};
}
