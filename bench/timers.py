"""Times of PyTorch's device, as kiln measures its own: medians of device events, caches flushed before each run, and the device busy
until the call is handed over, so that no time of the host's is in them."""
import statistics

REPEATS = 21
FLUSH = 256 << 20  # bytes
AHEAD = 8  # flushes: longer than any host takes to hand over a call, which the device then never waits for


class Timer:
    """line_up: what comes right before each run, as a barrier of several devices."""

    def __init__(self, torch, line_up=lambda: None):
        self.torch, self.line_up = torch, line_up
        self.flush = torch.empty(FLUSH, dtype=torch.uint8, device="cuda")

    def once(self, call):
        """Microseconds."""
        before, after = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(AHEAD):
            self.flush.zero_()
        self.line_up()
        before.record()
        call()
        after.record()
        after.synchronize()
        return before.elapsed_time(after) * 1e3

    def median(self, call, repeats=REPEATS):
        return statistics.median(self.once(call) for _ in range(repeats))

    def in_turns(self, calls, repeats=REPEATS):
        """The median of each call, all under the same conditions."""
        rounds = [[self.once(call) for call in calls] for _ in range(repeats)]
        return [statistics.median(times) for times in zip(*rounds)]
