// Device events within a program of JAX's: XLA calls record() when it comes to that place, with the stream on which the
// program runs. peers.py compiles this file with the headers that jaxlib brings.
#include "xla/ffi/api/ffi.h"

#include <cmath>
#include <cstdint>

extern "C" { // the CUDA driver's, which has no header where there is no toolkit
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
}

namespace ffi = xla::ffi;

static void *context, *events[2];

// The values are there only so that the event is behind what computes them, and what hangs on the result behind it.
static ffi::Error record(void *stream, int64_t place, ffi::RemainingArgs, ffi::RemainingRets)
{
    if (!events[place] && (cuCtxGetCurrent(&context) || cuEventCreate(&events[place], 0)))
        return ffi::Error::Internal("no event");
    return cuEventRecord(events[place], stream) ? ffi::Error::Internal("no event recorded")
                                                : ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(record_event, record,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void *>>()
                                  .Attr<int64_t>("place")
                                  .RemainingArgs()
                                  .RemainingRets());

// Milliseconds from place 0 to place 1, NaN if the driver cannot say.
extern "C" float elapsed()
{
    float milliseconds;
    bool failed = cuCtxSetCurrent(context) || cuEventSynchronize(events[1]) ||
                  cuEventElapsedTime(&milliseconds, events[0], events[1]);
    return failed ? NAN : milliseconds;
}
