/* A program of more than 4,000 operations that matter, with sums of rows among them, is compiled and right: integers,
 * so that every device has the same bits. */
#include "tests/effort.h"
#include "tests/random.h"
#include "tests/unit/api.h"

enum { OPERATIONS = EFFORT(6500, 3000), ROWS = 6, COLUMNS = 10, RECENT = 8, EVERY = 500 };

static uint64_t state_of;

static unsigned pick(unsigned n) { return (unsigned)(random_64(&state_of) >> 33) % n; }

/* Each operation is on two of the last RECENT values; every EVERY-th is a sum of rows. */
static kiln_prog *long_program(int operations)
{
    static const char *const ops[] = {"add",     "subtract",    "multiply", "maximum",
                                      "minimum", "bitwise_xor", "add",      "bitwise_xor"};
    kiln_graph *g = new_graph();
    kiln_val v[RECENT], sum;
    state_of = 1;
    for (int i = 0; i < RECENT; i++)
        v[i] = kiln_add(g, kiln_input(g, (const char[]){(char)('a' + i), 0}, KILN_I32, "N, C"), i);
    for (int i = 0; i < operations; i++) {
        kiln_val in[2] = {v[pick(RECENT)], v[pick(RECENT)]};
        if (i % EVERY == EVERY - 1) {
            sum = kiln_sum(g, in[0], KILN_AXES(1), KILN_KEEPDIMS);
            in[0] = kiln_cast(g, sum, KILN_I32);
        }
        v[pick(RECENT)] = kiln_apply(g, ops[pick(8)], in, 2);
    }
    for (int i = 0; i < RECENT; i++)
        kiln_output(g, (const char[]){'o', (char)('0' + i), 0}, kiln_add(g, v[i], 0));
    kiln_prog *p = NULL;
    if (kiln_compile(g, NULL, &p) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    kiln_graph_destroy(g);
    return p;
}

static void run_on(const char *device, int operations, int32_t out[RECENT][ROWS * COLUMNS])
{
    static int32_t in[RECENT][ROWS * COLUMNS];
    static const int64_t shape[] = {ROWS, COLUMNS};
    kiln_config c;
    kiln_config_init(&c);
    c.device = device;
    assert_int_equal(kiln_ctx_create(&c, &ctx), KILN_OK);
    kiln_prog *p = long_program(operations);
    kiln_arg args[2 * RECENT];
    char names[2 * RECENT][3] = {{0}};
    for (int i = 0; i < RECENT; i++) {
        for (int k = 0; k < ROWS * COLUMNS; k++)
            in[i][k] = (k * 37 + i * 11) % 1000 - 500;
        names[i][0] = (char)('a' + i);
        names[RECENT + i][0] = 'o';
        names[RECENT + i][1] = (char)('0' + i);
        args[i] = (kiln_arg){names[i], in[i], KILN_I32, 2, shape, NULL};
        args[RECENT + i] = (kiln_arg){names[RECENT + i], out[i], KILN_I32, 2, shape, NULL};
    }
    if (kiln_run(p, NULL, args, 2 * RECENT) != KILN_OK)
        fail_msg("%s: %s", device, kiln_last_error());
    char *text = NULL;
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.stage = "cuda";
    assert_int_equal(kiln_explain(p, args, 2 * RECENT, &o, &text), KILN_OK);
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "const int v")); at++)
        lines++;
    if (lines < OPERATIONS * 8 / 13) /* the others are not needed for any output */
        fail_msg("%d of %d operations", lines, operations);
    kiln_text_free(ctx, text);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

static void test_long(void **state)
{
    (void)state;
    static int32_t want[RECENT][ROWS * COLUMNS], got[RECENT][ROWS * COLUMNS];
    run_on("ref", OPERATIONS, want);
    run_on("cpu", OPERATIONS, got);
    assert_memory_equal(got, want, sizeof want);
    memset(got, 0, sizeof got);
    run_on("emu", OPERATIONS, got);
    assert_memory_equal(got, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
