#include "codegen/kir/force.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/kir/target.h"

static const char *const divisions[KN_DIVISIONS] = {
    [KN_DIVIDE_WHOLE] = "whole",       [KN_DIVIDE_CLUSTER] = "cluster",
    [KN_DIVIDE_SPLIT] = "split",       [KN_DIVIDE_TILES] = "tiles",
    [KN_DIVIDE_RESIDENT] = "resident", [KN_DIVIDE_CLUSTERS] = "clusters"};
static const char *const reuses[KN_REUSES] = {
    [KN_REUSE_KEEP] = "keep", [KN_REUSE_RECOMPUTE] = "recompute"};
static const char *const storings[KN_STORINGS] = {
    [KN_STORE_JOINED] = "joined", [KN_STORE_PIECES] = "pieces"};
static const char *const readings[KN_READINGS] = {
    [KN_READ_AS_LAID_OUT] = "in place", [KN_READ_COPIES] = "copies"};
static const char *const groupings[KN_GROUPINGS] = {
    [KN_GROUP_DIRECT] = "direct", [KN_GROUP_GROUPED] = "grouped"};
static const char *const assemblings[KN_ASSEMBLINGS] = {
    [KN_ASSEMBLE_NONE] = "aligned", [KN_ASSEMBLE_ALL] = "assembled"};

/* The number that a text of n characters has between `before` and `behind`; 0: it is none. */
static int number_in(const char *text, size_t n, const char *before, const char *behind)
{
    size_t head = strlen(before), tail = strlen(behind);
    char *end = NULL;
    long x = strncmp(text, before, head) == 0 ? strtol(text + head, &end, 10) : 0;
    bool whole = x > 0 && x <= INT_MAX && end + tail == text + n;
    return whole && strncmp(end, behind, tail) == 0 ? (int)x : 0;
}

static bool is(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && strncmp(text, word, n) == 0;
}

/* Which of `count` words it is; 0, which has none: of no choice. */
static int word_of(const char *text, size_t n, const char *const *words, int count)
{
    for (int i = 1; i < count; i++)
        if (is(text, n, words[i]))
            return i;
    return 0;
}

/* Reads one choice of n characters. */
static bool read_choice(const char *text, size_t n, kn_force *force)
{
    const int division = word_of(text, n, divisions, KN_DIVISIONS),
              reuse = word_of(text, n, reuses, KN_REUSES),
              storing = word_of(text, n, storings, KN_STORINGS),
              reading = word_of(text, n, readings, KN_READINGS),
              grouping = word_of(text, n, groupings, KN_GROUPINGS),
              assembling = word_of(text, n, assemblings, KN_ASSEMBLINGS);
    if (division) {
        force->division = (kn_division)division;
        force->cluster = 0;
    }
    force->reuse = reuse ? (kn_reuse)reuse : force->reuse;
    force->storing = storing ? (kn_storing)storing : force->storing;
    force->reading = reading ? (kn_reading)reading : force->reading;
    force->grouping = grouping ? (kn_grouping)grouping : force->grouping;
    force->assembling = assembling ? (kn_assembling)assembling : force->assembling;
    return division || reuse || storing || reading || grouping || assembling;
}

/* Reads one choice that has a number. */
static bool read_numbered(const char *text, size_t n, kn_force *force)
{
    int blocks = number_in(text, n, "cluster=", ""), undone = number_in(text, n, "undo ", "");
    int most = number_in(text, n, "at most ", " threads");
    if (blocks >= 2 && blocks <= KN_MOST_CLUSTER) {
        force->division = KN_DIVIDE_CLUSTER;
        force->cluster = blocks;
        return true;
    }
    if (most >= KN_LEAST_LIMIT && most <= KN_MOST_LIMIT) {
        force->max_threads = most;
        return true;
    }
    if (undone < 1 || undone > KN_MOST_UNDONE)
        return false;
    force->undone |= (uint64_t)1 << (undone - 1);
    return true;
}

kn_status kn_force_read(const char *text, kn_force *force)
{
    while (*text) {
        size_t n = strcspn(text, ",");
        if (!read_choice(text, n, force) && !read_numbered(text, n, force)) {
            force->text = text;
            break;
        }
        text += n;
        text += strspn(text, ", ");
    }
    if (!*text || strchr(text, ':'))
        return KN_OK;
    return kn_fail(
        KN_ARGUMENT,
        "unknown schedule '%s'; there are whole, split, resident, tiles, clusters, cluster, cluster=N "
        "with N from 2 to %d, keep, recompute, pieces, joined, grouped, direct, copies, in place, assembled, aligned, 'at most N threads' with N from "
        "%d to %d, 'undo N' with N to "
        "%d, several of these with commas, and behind them the line that explain --stage schedule "
        "prints first",
        text, KN_MOST_CLUSTER, KN_LEAST_LIMIT, KN_MOST_LIMIT, KN_MOST_UNDONE);
}

kn_status kn_force_reuse(const char *text, kn_force *force)
{
    for (int r = KN_REUSE_KEEP; text && r < KN_REUSES; r++)
        if (strcmp(text, reuses[r]) == 0) {
            force->reuse = (kn_reuse)r;
            return KN_OK;
        }
    return text ? kn_fail(KN_ARGUMENT, "unknown reuse '%s'; there are keep and recompute", text)
                : KN_OK;
}

/* Behind other choices of the force that begins at `start`; nothing where it is NULL. */
static void put_choice(kn_text *t, size_t start, const char *choice)
{
    if (choice)
        kn_putf(t, "%s%s", t->len > start ? ", " : "", choice);
}

void kn_force_put(kn_text *t, const kn_force *force)
{
    const size_t start = t->len;
    for (int i = 0; i < KN_MOST_UNDONE; i++)
        if (force->undone >> i & 1)
            kn_putf(t, "%sundo %d", t->len > start ? ", " : "", i + 1);
    put_choice(t, start, divisions[force->division]);
    if (force->cluster)
        kn_putf(t, "=%d", force->cluster);
    put_choice(t, start, reuses[force->reuse]);
    put_choice(t, start, storings[force->storing]);
    put_choice(t, start, readings[force->reading]);
    put_choice(t, start, groupings[force->grouping]);
    put_choice(t, start, assemblings[force->assembling]);
    if (force->max_threads)
        kn_putf(t, "%sat most %d threads", t->len > start ? ", " : "", force->max_threads);
    put_choice(t, start, force->text);
}
