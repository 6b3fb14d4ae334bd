/* Blocks that meet: grids, clusters, and what they write to global memory for each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/emu/machine.h"

static void test_blocks(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "errors.cu");
    kn_code *code = load(&m, "blocks");
    int *o = take(&m, 1024 * sizeof *o, 0), which = 1;
    kn_grid g = shape(3, 64);
    g.cooperative = true;
    says(&m, RUN(&m, code, g, &which, &o), "grid barrier", "deadlock");
    assert_non_null(strstr(kn_last_error(), "block (0,0,0) threads 0 to 63"));
    assert_non_null(strstr(kn_last_error(), "block (2,0,0) threads 0 to 63"));
    assert_null(strstr(kn_last_error(), "block (1,0,0)"));
    which = 2;
    says(&m, RUN(&m, code, g, &which, &o), "of another block", "race");
    which = 3;
    says(&m, RUN(&m, code, g, &which, &o), "everyone", "write-after-write race");
    which = 4;
    good(RUN(&m, code, g, &which, &o));
    for (int i = 0; i < 192; i++)
        assert_int_equal(o[192 + i], (i / 64 + 1) % 3);
    which = 5;
    memset(o, 0, 1024 * sizeof *o);
    good(RUN(&m, code, shape(50, 64), &which, &o));
    assert_int_equal(o[100], 50 * 51 / 2);
    which = 6;
    memset(o, 0, 1024 * sizeof *o);
    says(&m, RUN(&m, code, shape(50, 64), &which, &o), "no fence", "race");
    which = 7;
    o[0] = 5;
    says(&m, RUN(&m, code, shape(1, 64), &which, &o), "for ever", "polls memory");
    which = 8;
    o[0] = o[1] = 0;
    good(RUN(&m, code, g, &which, &o));
    assert_int_equal(o[1], 3);
    for (which = 9; which <= 16; which++) {
        memset(o, 0, 1024 * sizeof *o);
        kn_status status = RUN(&m, code, g, &which, &o);
        switch (which) {
        case 9: says(&m, status, "not fenced", "read-after-write race on o+"); break;
        case 13:
        case 14:
        case 15:
            says(&m, status, "behind a flag", "race on o+40");
            assert_non_null(strstr(kn_last_error(), "with block (0,0,0), thread 0"));
            break;
        case 16: says(&m, status, "which others read", "write-after-read race on o+0"); break;
        default: good(status); assert_int_equal(o[which == 12 ? 20 : 1000], which == 12 ? 7 : 192);
        }
    }
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

static void test_clusters(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "errors.cu");
    kn_code *code = load(&m, "cluster");
    int *o = take(&m, 8 * 64 * sizeof *o, 0), which = 0;
    kn_grid g = shape(8, 64);
    g.cluster[0] = 4;
    good(RUN(&m, code, g, &which, &o));
    for (int i = 0; i < 8 * 64; i++)
        assert_int_equal(o[i], 6000 + 4 * (i % 64));
    which = 5;
    good(RUN(&m, code, g, &which, &o));
    which = 3;
    says(&m, RUN(&m, code, g, &which, &o), "global, of another cluster", "race on o+");
    which = 4;
    says(&m, RUN(&m, code, g, &which, &o), "global, of the cluster", "race on o+");
    which = 6;
    says(&m, RUN(&m, code, g, &which, &o), "after arriving", "race on shared mine");
    which = 1;
    says(
        &m, RUN(&m, code, g, &which, &o), "another block's",
        "reads shared mine+0 (of 256 bytes) of block (1,0,0), rank 1 of the cluster, which may not "
        "have started");
    which = 2;
    says(&m, RUN(&m, code, g, &which, &o), "another block's", "have exited");
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* What one thread of a block has learnt of other blocks, all know behind the block's barrier. */
static void test_counter(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "errors.cu");
    kn_code *code = load(&m, "counter");
    unsigned *arrived = take(&m, sizeof *arrived, 0);
    int *o = take(&m, 16 * 64 * sizeof *o, 0), which = 0;
    kn_grid g = shape(8, 64);
    g.cluster[0] = 4;
    g.cooperative = true;
    good(RUN(&m, code, g, &which, &arrived, &o));
    for (int i = 0; i < 8 * 64; i++)
        assert_int_equal(o[8 * 64 + i], (i / 64 ^ 1) * 100 + (i / 64 ^ 4) * 100 + 2 * (i % 64));
    which = 1;
    *arrived = 0;
    says(&m, RUN(&m, code, g, &which, &arrived, &o), "read too early", "race on o+");
    emu->release(m.dev, arrived);
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

static void test_own_cluster(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "warp.cu");
    kn_code *code = load(&m, "own_cluster");
    int *o = take(&m, 8 * sizeof *o, 0);
    kn_grid g = shape(8, 1);
    good(RUN(&m, code, g, &o));
    for (int i = 0; i < 8; i++)
        assert_int_equal(o[i], i % 4 + 40);
    g.cluster[0] = 4;
    good(RUN(&m, code, g, &o));
    g.cluster[0] = 2;
    assert_int_equal(RUN(&m, code, g, &o), KN_ARGUMENT);
    assert_non_null(strstr(kn_last_error(), "its __cluster_dims__ are 4x1x1"));
    assert_int_equal(RUN(&m, code, shape(6, 1), &o), KN_ARGUMENT);
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_counter),
        cmocka_unit_test(test_own_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
