#include <stdio.h>

#include "bench/progress.h"
#include "tests/differential/program.h"

/* Did it fail, with a report of the first way of running it that did? */
static bool fails(const random_programs *r, where *w, uint64_t seed)
{
    kn_arena a;
    bool failed = false;
    kn_arena_init(&a, NULL);
    program *p = program_make(&a, seed, r->elements(seed));
    if (!p) {
        fprintf(stderr, "KILN_SEED=%llu: the reference interpreter: %s\n", (unsigned long long)seed,
                kn_last_error());
        failed = true;
    }
    for (int i = 0; i < r->ways && !failed; i++) {
        const kn_program_options *o = r->way(seed, i);
        kn_text why = kn_text_new(&a);
        failed = r->check(w, p, o, &why).fault != NO_FAULT;
        if (failed)
            progress(NULL);
        if (failed)
            fprintf(stderr, "%s\n",
                    program_report(p, r->device, o, kn_text_str(&why), r->check, w));
    }
    kn_arena_finish(&a);
    return failed;
}

int check_random_programs(const random_programs *r, kn_context *ctx, tally *seen)
{
    where w = {.ctx = ctx};
    int failed = 0;
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", r->programs);
    for (uint64_t seed = first; seed < first + n && failed < r->most_reports; seed++) {
        progress("%s: %llu of %llu programs", r->device, (unsigned long long)(seed - first),
                 (unsigned long long)n);
        failed += fails(r, &w, seed);
    }
    progress(NULL);
    printf("%lld elements compared, %lld without a bound\n", (long long)w.tally.compared,
           (long long)w.tally.skipped);
    *seen = w.tally;
    return failed;
}
