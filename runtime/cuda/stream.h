/* What the driver knows of a stream, and captures. Emitted programs share this text, which is C11 and C++17. */
#ifndef KN_RUNTIME_CUDA_STREAM_H
#define KN_RUNTIME_CUDA_STREAM_H

#include <stdbool.h>

#include "runtime/cuda/abi.h"

/* Around calls that would fail, and end the capture, while another stream or thread is in one. Gives what
 * kn_uncaptured_end() takes. */
static inline int kn_uncaptured(const kn_driver *d)
{
    int mode = KN_CU_CAPTURE_RELAXED;
    if (d->cuThreadExchangeStreamCaptureMode)
        d->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static inline void kn_uncaptured_end(const kn_driver *d, int mode)
{
    if (d->cuThreadExchangeStreamCaptureMode)
        d->cuThreadExchangeStreamCaptureMode(&mode);
}

/* Is it in a capture? The default stream fails to tell when another stream is in one: true. */
static inline bool kn_stream_captures(const kn_driver *d, kn_cu_stream stream)
{
    int status = 0;
    return d->cuStreamIsCapturing &&
           (d->cuStreamIsCapturing(stream, &status) != KN_CU_SUCCESS || status != 0);
}

/* A number that no other stream of the process ever has: handles are used again, and the handle of "the thread's default
 * stream" stands for another stream in each thread. In a capture, which asking would break, and where the driver is too
 * old to be asked, it is the handle for all that. The default stream needs no asking. */
static inline unsigned long long kn_stream_id(const kn_driver *d, kn_cu_stream stream)
{
    static __thread char here;
    static char common;
    unsigned long long id;
    if (!stream)
        return (unsigned long long)(uintptr_t)&common;
    if (d->cuStreamGetId && !kn_stream_captures(d, stream) &&
        d->cuStreamGetId(stream, &id) == KN_CU_SUCCESS)
        return id;
    return (unsigned long long)((uintptr_t)stream == KN_CU_STREAM_PER_THREAD ? (uintptr_t)&here
                                                                             : (uintptr_t)stream);
}

#endif
