#include "codegen/kir/target.h"

#include <string.h>

/* NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities"; multiprocessors are those of the full chips in the data
 * sheets. */
static const struct {
    const char *arch;
    kn_target target;
} known[] = {
    {"sm_70", {"cuda", 70, 80, 1024, 2048, 96 * 1024, true, 0, NULL}},
    {"sm_75", {"cuda", 75, 40, 1024, 1024, 64 * 1024, true, 0, NULL}},
    {"sm_80", {"cuda", 80, 108, 1024, 2048, 163 * 1024, true, 0, NULL}},
    {"sm_86", {"cuda", 86, 84, 1024, 1536, 99 * 1024, true, 0, NULL}},
    {"sm_89", {"cuda", 89, 128, 1024, 1536, 99 * 1024, true, 0, NULL}},
    {"sm_90", {"cuda", 90, 132, 1024, 2048, 227 * 1024, true, KN_MOST_CLUSTER, NULL}},
    {"sm_100", {"cuda", 100, 148, 1024, 2048, 227 * 1024, true, KN_MOST_CLUSTER, NULL}},
    {"sm_120", {"cuda", 120, 170, 1024, 1536, 99 * 1024, true, 8, NULL}},
};

int kn_target_most_cluster(int sm) { return sm < 90 ? 0 : sm < 110 ? KN_MOST_CLUSTER : 8; }

bool kn_target_of_arch(const char *arch, kn_target *target)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].arch, arch) == 0) {
            *target = known[i].target;
            return true;
        }
    return false;
}

void kn_target_put_archs(kn_text *t)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        kn_putf(t, "%s%s", i ? ", " : "", known[i].arch);
}
