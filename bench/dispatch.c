/* Host time of kiln_run() that is kiln's own: calls after kiln_prepare(), on a device that launches nothing.
 *
 *     dispatch          prints nanoseconds a call
 *     dispatch CASE N   makes N calls of one case and prints nothing, for counting instructions:
 *
 *     for n in 1000 11000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null dispatch batchnorm $n; done
 *
 * and the difference of the two totals, divided by 10000, is the instructions of a call. */
#include "bench/cases.h"
#include "bench/common.h"
#include "bench/null_device.h"

enum { REPEATS = 9, CALLS = 20000 };

/* Addresses that nothing reads. */
static char *const memory = (char *)(uintptr_t)0x100000000;
static char *place(int n) { return memory + ((size_t)n << 32); }

typedef struct bench {
    null_context context;
    kiln_prog *prog;
    kiln_arg args[MOST_ARGS];
    int nargs;
} bench;

static void set_up(bench *b, int which)
{
    kiln_graph *g;
    null_open(&b->context, &kn_malloc_allocator);
    check(kiln_parse(&b->context.ctx, cases[which].text, NULL, &g));
    check(kiln_compile(g, NULL, &b->prog));
    kiln_graph_destroy(g);
    b->nargs = cases[which].nargs;
    for (int i = 0; i < b->nargs; i++) {
        b->args[i] = cases[which].args[i];
        b->args[i].data = place(i);
    }
    check(kiln_prepare(b->prog, b->args, b->nargs, NULL));
}

static void run(bench *b, long calls)
{
    for (long i = 0; i < calls; i++)
        check(kiln_run(b->prog, NULL, b->args, b->nargs));
}

static void tear_down(bench *b)
{
    kiln_prog_destroy(b->prog);
    null_close(&b->context);
}

int main(int argc, char **argv)
{
    bench b;
    if (argc == 1)
        puts("dispatch: host time of kiln_run() without the driver's");
    for (int i = 0; i < CASES; i++) {
        if (argc == 3 && strcmp(argv[1], cases[i].name) == 0) {
            set_up(&b, i);
            run(&b, atol(argv[2]));
            tear_down(&b);
        }
        if (argc != 1)
            continue;
        double best = 1e300;
        set_up(&b, i);
        for (int r = 0; r < REPEATS; r++) {
            uint64_t start = kn_clock_ns();
            run(&b, CALLS);
            double ns = (double)(kn_clock_ns() - start) / CALLS;
            best = ns < best ? ns : best;
        }
        printf("  %-10s %2d arguments  %6.0f ns a call\n", cases[i].name, b.nargs, best);
        tear_down(&b);
    }
    return 0;
}
