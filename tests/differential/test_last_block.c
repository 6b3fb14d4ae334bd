/* Blocks that find out which of them is the last count in words of global memory, which every launch leaves as the next
 * needs them: also where two blocks are the last, each in one of two words. That whole programs do:
 * schedules/grid.txt. */
#include "codegen/emit/cuda/prelude.h"
#include "tests/device.h"

/* Two of three blocks are the last, each in one of the words. What the others have left there is given, so one block a
 * launch comes: the first has only the lower halves, and leaves their sum. */
static void test_two_blocks_are_last(void **state)
{
    (void)state;
    static const char kernel[] =
        "extern \"C\" __global__ void add(unsigned *words, long long part, long long *out)\n"
        "{\n"
        "    long long sum = part;\n"
        "    if (kn_last_to_add(sum, words, 3))\n"
        "        *out = sum;\n"
        "}\n";
    enum { COUNT = 48 };
    const uint64_t one = (uint64_t)1 << COUNT, half = UINT32_MAX;
    const int64_t parts[] = {-5, 1234567890123, -987654321098765};
    const int64_t want = parts[0] + parts[1] + parts[2], untouched = 77;
    uint64_t low = 0, high = 0;
    for (int i = 0; i < 2; i++) {
        low += one + ((uint64_t)parts[i] & half);
        high += one + ((uint64_t)parts[i] >> 32);
    }
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text source = kn_text_new(&a);
    kn_prelude(&source, kernel, false);
    kn_put(&source, kernel);
    for (int first_low = 0; first_low < 2; first_low++) {
        kiln_ctx *ctx = open_device("emu");
        kiln_kernel *k;
        kiln_launch shape;
        kiln_launch_init(&shape);
        shape.block[0] = 64;
        good(kiln_kernel_create(ctx, kn_text_str(&source), "add", &k));
        void *words, *out;
        good(kiln_alloc(ctx, 24, &words));
        good(kiln_alloc(ctx, 8, &out));
        good(kiln_upload(ctx, out, &untouched, sizeof untouched));
        for (int come = 0; come < 2; come++) {
            const bool has_low = come != first_low;
            const uint64_t part = (uint64_t)parts[2] & (has_low ? half : ~half);
            uint64_t now[3] = {has_low ? low : 0, has_low ? 0 : high, 0}, got;
            if (come) /* what the first has left there */
                good(kiln_download(ctx, now + 2, (char *)words + 16, 8));
            good(kiln_upload(ctx, words, now, sizeof now));
            good(kiln_kernel_run(k, NULL, &shape,
                                 (void *[]){&words, (void *)(uintptr_t)&part, &out}, 3));
            good(kiln_sync(ctx, NULL));
            good(kiln_download(ctx, &got, out, 8));
            assert_int_equal(got, come ? want : untouched);
            good(kiln_download(ctx, now, words, sizeof now));
            assert_int_equal(now[has_low ? 0 : 1], 0);
            assert_int_equal(now[2] == 0, come);
        }
        kiln_free(ctx, words);
        kiln_free(ctx, out);
        kiln_kernel_destroy(k);
        kiln_ctx_destroy(ctx);
    }
    kn_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_blocks_are_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
