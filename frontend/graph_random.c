/* Random numbers of the builder. */
#include "frontend/parse/parse.h"
#include "frontend/request.h"

#undef kiln_random_bits
#undef kiln_uniform
#undef kiln_normal
#undef kiln_dropout

typedef kn_node *(*making)(kn_graph *g, const kn_random *r, kn_dtype t, kn_loc loc);

/* A request that knows what makes it. */
typedef struct drawing {
    kn_request r; /* first: `make` gets it */
    making make;
} drawing;

static kn_node *bits(kn_graph *g, const kn_random *r, kn_dtype t, kn_loc loc)
{
    (void)t;
    return kn_build_random_bits(g, r, loc);
}

static kn_status make_random(kn_graph *g, kn_request *r)
{
    kn_dim shape[KN_MAX_RANK];
    kn_random how = {.seed = r->in[0], .offset = r->in[1], .shape = shape};
    KN_TRY(kn_parse_dims(g, r->dims, false, shape, &how.rank));
    return kn_request_made(r, ((drawing *)r)->make(g, &how, r->dtype, kn_nowhere));
}

static kiln_val draw(drawing d, kiln_val seed, kiln_val offset)
{
    d.r.make = make_random;
    return kn_request_named(d.r.g, d.r.dims, "dims") && kn_request_take(&d.r, seed) &&
                   kn_request_take(&d.r, offset)
               ? kn_request_finish(&d.r)
               : kn_poison;
}

kiln_val kiln_random_bits(kiln_graph *g, kiln_val seed, kiln_val offset, const char *dims)
{
    return draw((drawing){{.g = g, .dims = dims}, bits}, seed, offset);
}

kiln_val kiln_uniform(kiln_graph *g, kiln_val seed, kiln_val offset, const char *dims,
                      kiln_dtype dtype)
{
    return draw((drawing){{.g = g, .dims = dims, .dtype = (kn_dtype)dtype}, kn_build_uniform}, seed,
                offset);
}

kiln_val kiln_normal(kiln_graph *g, kiln_val seed, kiln_val offset, const char *dims,
                     kiln_dtype dtype)
{
    return draw((drawing){{.g = g, .dims = dims, .dtype = (kn_dtype)dtype}, kn_build_normal}, seed,
                offset);
}

static kn_status make_dropout(kn_graph *g, kn_request *r)
{
    return kn_request_made(r,
                           kn_build_dropout(g, r->in[0], r->in[1], r->in[2], r->in[3], kn_nowhere));
}

kiln_val kiln_dropout(kiln_graph *g, kiln_val x, kiln_val p, kiln_val seed, kiln_val offset)
{
    kn_request r = {.g = g, .make = make_dropout};
    return g && kn_request_take(&r, x) && kn_request_take(&r, p) && kn_request_take(&r, seed) &&
                   kn_request_take(&r, offset)
               ? kn_request_finish(&r)
               : kn_poison;
}
