/* A device whose times are dice, so that any candidate of a program with autotune may win. Everything else is the
 * device's own, but for the memory that is written to flush the caches. */
#ifndef KN_TESTS_DICE_H
#define KN_TESTS_DICE_H

#include "runtime/context.h"
#include "tests/random.h"

static const kn_device_ops *dice_own;
static kn_device_ops dice_ops;
static uint64_t dice_state;

enum { DICE_FLUSH = 1 << 26 }; /* bytes: no array of a test is as large */

static inline kn_status dice_time(kn_device *dev, void *stream, kn_status (*fn)(void *ctx),
                                  void *ctx, double *us)
{
    (void)dev, (void)stream;
    *us = 1 + (double)(random_64(&dice_state) >> 40);
    return fn(ctx);
}

static inline kn_status dice_alloc(kn_device *dev, size_t bytes, void **ptr)
{
    return dice_own->alloc(dev, bytes < DICE_FLUSH ? bytes : 1, ptr);
}

static inline kn_status dice_zero(kn_device *dev, void *to, size_t bytes, void *stream)
{
    return bytes < DICE_FLUSH ? dice_own->zero(dev, to, bytes, stream) : KN_OK;
}

static inline kn_status dice_identify(kn_device *dev, kn_text *t)
{
    (void)dev;
    kn_putf(t, "dice %llu\n", (unsigned long long)dice_state); /* nothing is found on disk */
    return KN_OK;
}

/* One context at a time. */
static inline void throw_dice(kn_context *ctx, uint64_t seed)
{
    dice_own = ctx->dev->ops == &dice_ops ? dice_own : ctx->dev->ops;
    dice_state = seed;
    dice_ops = *dice_own;
    dice_ops.time = dice_time;
    dice_ops.alloc = dice_alloc;
    dice_ops.zero = dice_zero;
    dice_ops.identify = dice_identify;
    ctx->dev->ops = &dice_ops;
}

#endif
