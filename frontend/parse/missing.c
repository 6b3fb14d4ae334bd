#include "frontend/parse/missing.h"

#include <stddef.h>
#include <string.h>

#define MATRICES                                                                                   \
    "a product of matrices is sum(a[:, :, None] * b[None, :, :], axis=1), one kernel but without " \
    "tensor cores; or call a BLAS beside kiln"
#define SCANS                                                                                      \
    "there are no scans; over a short axis of N, "                                                 \
    "sum(where(arange(N)[:, None] >= arange(N), x, 0), axis=1) takes N*N additions; else write a " \
    "kernel of your own (kiln kernel)"
#define ORDER                                                                                      \
    "nothing is sorted; the rank of each of N elements is sum(x[None, :] < x[:, None], axis=1), "  \
    "and min, max, argmin, argmax need no order; else write a kernel of your own (kiln kernel)"
#define COUNTED                                                                                    \
    "the number of results would be known only at the run; write where(c, x, y), sum(c) or argmax(c)"
#define SCATTER                                                                                    \
    "there is no scatter but at_add(x, i, v), which adds as np.add.at() does; let each element "   \
    "of the result find what belongs to it: "                                                      \
    "sum(where(i[:, None] == arange(K), d[:, None], 0), axis=0), or write a kernel of your own "   \
    "(kiln kernel)"
#define LOOPS                                                                                      \
    "there are no loops; operations are of whole arrays, and a step that needs the one before it " \
    "is a run of its own"
#define BRANCHES "there are no branches; write where(c, x, y)"
#define FUNCTIONS "a function has no others in it; write out what it does"
#define LITERALS "there are no arrays of literals; make it a parameter, or write stack((a, b))"
#define GRIDS "write arange(N)[:, None] and arange(M), which broadcast"
#define WINDOWS "write it out in slices: w[0] * x[:-2] + w[1] * x[1:-1] + w[2] * x[2:]"
#define RANDOM                                                                                     \
    "write uniform(seed, offset, shape), normal(seed, offset, shape) or random_bits(seed, offset, shape)"

static const struct {
    const char *name, *advice;
} missing[] = {
    {"matmul", MATRICES},
    {"einsum", MATRICES},
    {"tensordot", MATRICES},
    {"bmm", MATRICES},
    {"outer", "write a[:, None] * b"},
    {"kron", "write (a[:, None, :, None] * b[None, :, None, :]) and reshape that"},
    {"cumsum", SCANS},
    {"cumprod", SCANS},
    {"cumulative_sum", SCANS},
    {"cumulative_prod", SCANS},
    {"accumulate", SCANS},
    {"sort", ORDER},
    {"sorted", ORDER},
    {"argsort", ORDER},
    {"partition", ORDER},
    {"argpartition", ORDER},
    {"topk", ORDER},
    {"median", ORDER},
    {"percentile", ORDER},
    {"quantile", ORDER},
    {"searchsorted", "write sum(a[None, :] < v[:, None], axis=1)"},
    {"digitize", "write sum(bins[None, :] <= x[:, None], axis=1)"},
    {"unique", COUNTED},
    {"nonzero", COUNTED},
    {"flatnonzero", COUNTED},
    {"argwhere", COUNTED},
    {"compress", COUNTED},
    {"extract", COUNTED},
    {"at", SCATTER},
    {"put", SCATTER},
    {"put_along_axis", SCATTER},
    {"bincount", "write sum(i[:, None] == arange(K), axis=0)"},
    {"histogram", "write sum(bin[:, None] == arange(K), axis=0) of each element's bin"},
    {"for", LOOPS},
    {"while", LOOPS},
    {"range", LOOPS},
    {"enumerate", LOOPS},
    {"zip", LOOPS},
    {"map", LOOPS},
    {"if", BRANCHES},
    {"elif", BRANCHES},
    {"else", BRANCHES},
    {"def", FUNCTIONS},
    {"lambda", FUNCTIONS},
    {"class", FUNCTIONS},
    {"select", "write where(c, x, where(d, y, z))"},
    {"choose", "write where(c, x, where(d, y, z))"},
    {"piecewise", "write where(c, x, where(d, y, z))"},
    {"diff", "write x[1:] - x[:-1]"},
    {"gradient", "write (x[2:] - x[:-2]) / 2, and the two ends"},
    {"convolve", WINDOWS},
    {"correlate", WINDOWS},
    {"vstack", "write concatenate((a, b)), or stack((a, b)) of vectors"},
    {"hstack", "write concatenate((a, b), axis=1), or axis=0 of vectors"},
    {"dstack", "write concatenate((a, b), axis=2)"},
    {"column_stack", "write concatenate((a, b), axis=1), or stack((a, b), axis=1) of vectors"},
    {"append", "write concatenate((a, b))"},
    {"split", "write slices: x[:n], x[n:]"},
    {"array_split", "write slices: x[:n], x[n:]"},
    {"array", LITERALS},
    {"asarray", LITERALS},
    {"linspace", "write start + arange(n) * ((stop - start) / (n - 1))"},
    {"eye", "write cast(arange(N)[:, None] == arange(N), f32)"},
    {"identity", "write cast(arange(N)[:, None] == arange(N), f32)"},
    {"diag",
     "write diagonal(x) of a matrix, where(arange(N)[:, None] == arange(N), v, 0) of a vector"},
    {"meshgrid", GRIDS},
    {"indices", GRIDS},
    {"mgrid", GRIDS},
    {"ogrid", GRIDS},
    {"empty", "write zeros(shape, dtype)"},
    {"empty_like", "write zeros_like(x)"},
    {"isclose", "write abs(a - b) <= atol + rtol * abs(b)"},
    {"allclose", "write all(abs(a - b) <= atol + rtol * abs(b))"},
    {"array_equal", "write all(a == b)"},
    {"fill", "write x[...] = v"},
    {"item", "a 0-d array is used as a number as it is"},
    {"print", "what is returned is an output, which kiln run prints"},
    {"random", RANDOM},
    {"rand", RANDOM},
    {"randn", RANDOM},
};

const char *kn_missing_advice(const char *name)
{
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strcmp(missing[i].name, name) == 0)
            return missing[i].advice;
    return NULL;
}
