#include "codegen/kir/schedule_text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What a word sets: a flag, or a field by the number after it. The text has them in this order. */
typedef enum kind { FLAG, INT, LONG } kind;

typedef struct word {
    const char *text;
    kind kind;
    size_t at; /* offset in a kn_phase_schedule */
} word;

#define HOW(field) offsetof(kn_phase_schedule, how.field)
#define NUM(field) offsetof(kn_phase_schedule, num.field)
static const word walk_words[] = {{"tpg", INT, HOW(tpg)},
                                  {"lanes", INT, HOW(lanes)},
                                  {"vec", INT, HOW(vec)},
                                  {"steps", INT, HOW(steps)},
                                  {"unroll", INT, HOW(unroll)},
                                  {"assembled", FLAG, HOW(assembled)},
                                  {"unaligned", FLAG, HOW(unaligned)},
                                  {"linear", FLAG, HOW(linear)},
                                  {"tail", FLAG, HOW(tail)},
                                  {"by_run", INT, HOW(by_run)},
                                  {"full", INT, HOW(full)},
                                  {"groups", INT, HOW(groups)},
                                  {"pack", LONG, NUM(pack)},
                                  {"packed", FLAG, HOW(packed)},
                                  {"tile", INT, HOW(tile)},
                                  {"scatter_sum", FLAG, HOW(scatter_sum)},
                                  {"interleaved", FLAG, HOW(interleaved)},
                                  {"planes", INT, HOW(planes)}};
static const word other_words[] = {
    {"beside", FLAG, HOW(beside)},         {"reversed", FLAG, HOW(reversed)},
    {"resident", FLAG, HOW(resident)},     {"async", FLAG, HOW(async)},
    {"hoisted", FLAG, HOW(hoisted)},       {"chunk", LONG, NUM(copy_chunk)},
    {"in_shared", LONG, NUM(in_shared)},   {"rest_in_registers", FLAG, HOW(rest_in_registers)},
    {"by_chunk", FLAG, HOW(by_chunk)},     {"persistent", FLAG, HOW(persistent)},
    {"skewed", FLAG, HOW(skewed)},         {"skew", LONG, NUM(skew)},
    {"copies", INT, HOW(copies)},          {"prefetch", FLAG, HOW(prefetch)},
    {"deferred", INT, HOW(deferred)},      {"inline_quotients", FLAG, HOW(inline_quotients)},
    {"last_block", FLAG, HOW(last_block)}, {"last_of_tile", FLAG, HOW(last_of_tile)},
    {"atomic", FLAG, HOW(atomic)},         {"fetch", FLAG, HOW(fetch)}};
enum {
    WALK_WORDS = sizeof walk_words / sizeof *walk_words,
    OTHER_WORDS = sizeof other_words / sizeof *other_words
};

static const word loop_words[] = {{"on_chip", FLAG, offsetof(kn_sweep_loop, on_chip)},
                                  {"unroll", INT, offsetof(kn_sweep_loop, unroll)},
                                  {"loads", INT, offsetof(kn_sweep_loop, loads)},
                                  {"backwards", FLAG, offsetof(kn_sweep_loop, backwards)},
                                  {"counted", FLAG, offsetof(kn_sweep_loop, counted)},
                                  {"guarded", FLAG, offsetof(kn_sweep_loop, guarded)},
                                  {"unguarded", INT, offsetof(kn_sweep_loop, unguarded)},
                                  {"whole", FLAG, offsetof(kn_sweep_loop, whole)}};
enum { LOOP_WORDS = sizeof loop_words / sizeof *loop_words };

/* What is divided, into how many parts of how much each: "split 264 of 4096". */
static const struct {
    word divided, parts, each;
} divisions[] = {
    {{"split", FLAG, HOW(split)}, {"", LONG, NUM(splits)}, {"of", LONG, NUM(chunk)}},
    {{"mixed", FLAG, HOW(mixed)}, {"", LONG, NUM(parts)}, {"of", LONG, NUM(rounds)}},
    {{"cluster", FLAG, HOW(cluster)}, {"", LONG, NUM(splits)}, {"of", LONG, NUM(chunk)}}};
enum { DIVISIONS = sizeof divisions / sizeof *divisions };
static const kn_walk walks[] = {KN_WALK_FLAT, KN_WALK_ROWS, KN_WALK_COLS};
static const struct {
    const char *text;
    kn_keep where;
} keeps[] = {{"registers", KN_KEEP_REGISTERS},
             {"shared", KN_KEEP_SHARED},
             {"resident", KN_KEEP_RESIDENT},
             {"frame", KN_KEEP_FRAME}};
enum { WALKS = sizeof walks / sizeof *walks, KEEPS = sizeof keeps / sizeof *keeps };

kn_kernel_schedule kn_schedule_of(kn_arena *a, const kn_kernel *k)
{
    kn_kernel_schedule s = {.threads = k->threads, .min_blocks = k->min_blocks};
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        kn_push(a, &s.phases,
                ((kn_phase_schedule){ph->local, kn_schedule_copy(a, &ph->how), ph->num}));
    }
    return s;
}

/* ---- to text ---- */

static int64_t get(const kn_phase_schedule *s, const word *w)
{
    const char *at = (const char *)s + w->at;
    return w->kind == FLAG  ? *(const bool *)at
           : w->kind == INT ? *(const int *)at
                            : *(const int64_t *)at;
}

static void put_word(kn_text *t, const kn_phase_schedule *s, const word *w, const char *before)
{
    int64_t value = get(s, w);
    if (value == 0)
        return;
    kn_put(t, before);
    kn_put(t, w->text);
    if (w->kind != FLAG) {
        kn_put(t, " ");
        kn_puti(t, value);
    }
}

static void put_hold(kn_text *t, const kn_phase *ph, const kn_hold *h)
{
    kn_putf(t, ", hold %s ", kn_value_name(t->arena, ph, h->value));
    for (int w = 0; w < KEEPS; w++)
        kn_put(t, keeps[w].where == h->where ? keeps[w].text : "");
    if (ph->nest.values.data[h->value].kind == KN_V_ELEM)
        kn_putf(t, " at %s sweep %d", kn_value_name(t->arena, ph, h->room), h->since);
}

static void put_transpose(kn_text *t, const kn_phase *ph, const kn_transpose *of)
{
    kn_putf(t, ", transpose %s by %d%s%s",
            of->store ? kn_sprintf(t->arena, "o%d", of->of) : kn_value_name(t->arena, ph, of->of),
            of->vec, of->in_registers ? " in registers" : "", of->dense ? " dense" : "");
}

static void put_division(kn_text *t, const kn_phase_schedule *s, int d)
{
    kn_putf(t, ", %s", divisions[d].divided.text);
    if (get(s, &divisions[d].parts))
        kn_putf(t, " %lld", (long long)get(s, &divisions[d].parts));
    if (get(s, &divisions[d].each))
        kn_putf(t, " of %lld", (long long)get(s, &divisions[d].each));
}

static void put_loops(kn_text *t, const kn_schedule *how)
{
    for (int i = 0; i < how->loops.len; i++)
        if (kn_loop_says(how, &how->loops.data[i])) {
            kn_put(t, ", ");
            kn_loop_put(t, how, &how->loops.data[i]);
        }
}

static void put_phase(kn_text *t, const kn_phase_schedule *s, const kn_phase *ph)
{
    if (s->local) {
        kn_put(t, "local");
        put_loops(t, &s->how);
        return;
    }
    kn_put(t, kn_walk_text(s->how.walk));
    for (int w = 0; w < WALK_WORDS; w++)
        if (strcmp(walk_words[w].text, "lanes") != 0 || s->how.walk == KN_WALK_COLS || s->how.mixed)
            put_word(t, s, &walk_words[w], " ");
    for (int d = 0; d < DIVISIONS; d++)
        if (get(s, &divisions[d].divided))
            put_division(t, s, d);
    for (int w = 0; w < OTHER_WORDS; w++)
        put_word(t, s, &other_words[w], ", ");
    for (int i = 0; i < s->how.holds.len; i++)
        put_hold(t, ph, &s->how.holds.data[i]);
    for (int i = 0; i < s->how.transposes.len; i++)
        put_transpose(t, ph, &s->how.transposes.data[i]);
    put_loops(t, &s->how);
}

void kn_phase_put(kn_text *t, const kn_kernel *k, int p, bool numbers)
{
    const kn_phase *ph = &k->phases.data[p];
    kn_phase_schedule s = {.how = ph->how, .num = ph->num};
    if (!numbers) {
        s.num = (kn_numbers){0};
        s.how.resident = false; /* its holds say it */
        s.how.lanes = s.how.packed || s.how.mixed ? 0 : s.how.lanes;
        if (k->bound && (kn_by_block(ph) || s.how.packed))
            s.how.tpg = 0; /* as the block has */
    }
    put_phase(t, &s, ph);
}

void kn_schedule_put(kn_text *t, const kn_kernel_schedule *s, const kn_kernel *k)
{
    kn_putf(t, "threads %d", s->threads);
    if (s->min_blocks)
        kn_putf(t, ", %d a unit", s->min_blocks);
    for (int p = 0; p < s->phases.len; p++) {
        kn_put(t, p ? "; " : ": ");
        put_phase(t, &s->phases.data[p], &k->phases.data[p]);
    }
}

/* Leaves out what the binder finds by itself for other sizes. How many blocks a cluster has is chosen. */
static void leave_sizes(kn_kernel_schedule *s)
{
    for (int p = 0; p < s->phases.len; p++) {
        kn_phase_schedule *of = &s->phases.data[p];
        of->num.chunk = of->num.parts = of->num.rounds = of->num.pack = of->num.in_shared =
            of->num.copy_chunk = 0;
        of->num.skew = of->how.skewed ? 0 : of->num.skew;
        of->how.loops.len = of->how.transposes.len = 0;
        of->how.tail = false;
        if (!of->how.cluster)
            of->num.splits = 0;
        if (of->how.packed)
            of->how.tpg = of->how.lanes = of->how.steps = 0;
    }
}

void kn_schedules_put(kn_text *t, kn_kernel *const *kernels, int n, kn_schedule_of_sizes sizes)
{
    for (int i = 0; i < n; i++) {
        kn_kernel_schedule s = kn_schedule_of(t->arena, kernels[i]);
        if (sizes == KN_SCHEDULE_OF_ALL)
            leave_sizes(&s);
        kn_put(t, i ? " | " : "");
        kn_schedule_put(t, &s, kernels[i]);
    }
}

/* ---- from text ---- */

typedef struct reader {
    kn_arena *arena;
    const char *text, *at; /* after the word that was read */
    char word[64];         /* "" at the end; punctuation is a word */
} reader;

static void next(reader *r)
{
    size_t n;
    r->at += strspn(r->at, " \t\n");
    n = strcspn(r->at, " \t\n,;:");
    n = n ? n : *r->at != '\0';
    n = n < sizeof r->word ? n : sizeof r->word - 1;
    memcpy(r->word, r->at, n);
    r->word[n] = '\0';
    r->at += n;
}

static bool is(const reader *r, const char *text) { return strcmp(r->word, text) == 0; }

/* Moves on if the word is this one. */
static bool took(reader *r, const char *text)
{
    bool it = is(r, text);
    if (it)
        next(r);
    return it;
}

static kn_status unknown(const reader *r, const char *wanted)
{
    int column = (int)(r->at - r->text) - (int)strlen(r->word) + 1;
    return kn_fail(KN_ARGUMENT, "schedule, column %d: %s is wanted, not '%s'", column, wanted,
                   r->word);
}

/* The most that a word of this kind takes: sizes of arrays, or what is counted by an int. */
static const int64_t most_long = (int64_t)1 << 48, most_int = INT32_MAX;

static kn_status read_number(reader *r, int64_t most, int64_t *n)
{
    char *end;
    *n = strtoll(r->word, &end, 10);
    if (*r->word < '0' || *r->word > '9' || *end || *n > most)
        return unknown(r, "a number");
    next(r);
    return KN_OK;
}

/* "v3_x": 3; with another letter than v, "o3". */
static kn_status read_numbered(reader *r, char letter, const char *wanted, int *number)
{
    char *end;
    long n = *r->word == letter ? strtol(r->word + 1, &end, 10) : -1;
    if (n < 0 || end == r->word + 1 || (*end && *end != '_') || n > INT32_MAX)
        return unknown(r, wanted);
    *number = (int)n;
    next(r);
    return KN_OK;
}

static kn_status read_value(reader *r, int *value)
{
    return read_numbered(r, 'v', "a value, as v3 or v3_x,", value);
}

/* `of`: what the word's field is in. */
static kn_status read_word(reader *r, void *of, const word *w)
{
    char *at = (char *)of + w->at;
    int64_t n = 1;
    next(r);
    if (w->kind != FLAG)
        KN_TRY(read_number(r, w->kind == INT ? most_int : most_long, &n));
    if (w->kind == FLAG)
        *(bool *)at = true;
    else if (w->kind == INT)
        *(int *)at = (int)n;
    else
        *(int64_t *)at = n;
    return KN_OK;
}

static kn_status read_hold(reader *r, kn_phase_schedule *s)
{
    kn_hold h = {0};
    int64_t since = 0;
    next(r);
    KN_TRY(read_value(r, &h.value));
    h.room = h.value;
    for (int w = 0; w < KEEPS; w++)
        if (is(r, keeps[w].text))
            h.where = keeps[w].where;
    if (!h.where)
        return unknown(r, "registers, shared, resident or frame");
    next(r);
    if (took(r, "at"))
        KN_TRY(read_value(r, &h.room));
    if (took(r, "sweep"))
        KN_TRY(read_number(r, most_int, &since));
    h.since = (int)since;
    kn_push(r->arena, &s->how.holds, h);
    return KN_OK;
}

/* "transpose o1 by 4 in registers", "transpose v0_x by 8 dense" */
static kn_status read_transpose(reader *r, kn_phase_schedule *s)
{
    kn_transpose t = {0};
    int64_t vec;
    next(r);
    t.store = *r->word == 'o';
    KN_TRY(t.store ? read_numbered(r, 'o', "a store, as o1,", &t.of) : read_value(r, &t.of));
    if (!took(r, "by"))
        return unknown(r, "'by'");
    KN_TRY(read_number(r, most_int, &vec));
    t.vec = (int)vec;
    t.in_registers = took(r, "in");
    if (t.in_registers && !took(r, "registers"))
        return unknown(r, "'registers'");
    t.dense = took(r, "dense");
    kn_push(r->arena, &s->how.transposes, t);
    return KN_OK;
}

/* "loop 0 unroll 4 batch" */
static kn_status read_loop(reader *r, kn_phase_schedule *s)
{
    kn_sweep_loop l = {0};
    int64_t sweep;
    next(r);
    KN_TRY(read_number(r, most_int, &sweep));
    l.sweep = (int)sweep;
    while (*r->word && !strchr(",;", *r->word)) {
        int w = 0;
        while (w < LOOP_WORDS && !is(r, loop_words[w].text))
            w++;
        if (w < LOOP_WORDS)
            KN_TRY(read_word(r, &l, &loop_words[w]));
        else if (took(r, "batch"))
            l.batch = KN_BATCH_CYCLIC;
        else if (took(r, "contiguous"))
            l.batch = KN_BATCH_CONTIGUOUS;
        else
            return unknown(r, "a word of loops");
    }
    kn_push(r->arena, &s->how.loops, l);
    return KN_OK;
}

/* "33 of 2048", "33" or nothing */
static kn_status read_parts(reader *r, kn_phase_schedule *s, int d)
{
    if (!*r->word || strchr(",;", *r->word))
        return KN_OK;
    KN_TRY(read_number(r, most_long, (int64_t *)((char *)s + divisions[d].parts.at)));
    return took(r, "of") ? read_number(r, most_long, (int64_t *)((char *)s + divisions[d].each.at))
                         : KN_OK;
}

/* Reads the words of one clause. A local phase has loops; the rest is its host's. */
static kn_status read_clause(reader *r, kn_phase_schedule *s)
{
    if (is(r, "loop"))
        return read_loop(r, s);
    if (s->local)
        return unknown(r, "a loop");
    for (int w = 0; w < WALK_WORDS; w++)
        if (is(r, walk_words[w].text))
            return read_word(r, s, &walk_words[w]);
    for (int w = 0; w < OTHER_WORDS; w++)
        if (is(r, other_words[w].text))
            return read_word(r, s, &other_words[w]);
    for (int d = 0; d < DIVISIONS; d++)
        if (is(r, divisions[d].divided.text)) {
            KN_TRY(read_word(r, s, &divisions[d].divided));
            return read_parts(r, s, d);
        }
    if (is(r, "transpose"))
        return read_transpose(r, s);
    return is(r, "hold") ? read_hold(r, s) : unknown(r, "a word of schedules");
}

static kn_status read_phase(reader *r, kn_phase_schedule *s)
{
    s->local = took(r, "local");
    int w = 0;
    while (w < WALKS && !s->local && !is(r, kn_walk_text(walks[w])))
        w++;
    if (w == WALKS)
        return unknown(r, "flat, rows, cols or local");
    if (!s->local) {
        s->how.walk = walks[w];
        next(r);
    }
    while (*r->word && !is(r, ";"))
        if (!took(r, ","))
            KN_TRY(read_clause(r, s));
    return KN_OK;
}

kn_status kn_schedule_read(kn_arena *a, const char *text, kn_kernel_schedule *s)
{
    reader r = {.arena = a, .text = text, .at = text};
    int64_t threads, min_blocks = 0;
    next(&r);
    if (!took(&r, "threads"))
        return unknown(&r, "'threads'");
    KN_TRY(read_number(&r, most_int, &threads));
    if (took(&r, ",")) {
        KN_TRY(read_number(&r, most_int, &min_blocks));
        if (!took(&r, "a") || !took(&r, "unit"))
            return unknown(&r, "'a unit'");
    }
    *s = (kn_kernel_schedule){.threads = (int)threads, .min_blocks = (int)min_blocks};
    if (!is(&r, ":"))
        return unknown(&r, "':'");
    do {
        kn_phase_schedule phase = {0};
        next(&r);
        KN_TRY(read_phase(&r, &phase));
        kn_push(a, &s->phases, phase);
    } while (is(&r, ";"));
    return *r.word ? unknown(&r, "the end") : KN_OK;
}
