"""The programs of bench/ranks by JAX: shard_map over the GPUs of one process, each sum over ranks a psum."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import jax_events  # noqa: E402
import timers  # noqa: E402

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
EPS = 1e-5


def programs(jax):
    """By name: what runs on each rank, and how each argument is divided, by the axis that is."""
    np, lax = jax.numpy, jax.lax

    def over_ranks(*sums):
        return lax.psum(np.stack(sums), "ranks")

    def channels(v):
        return v[None, :, None, None]

    def count(x):
        return x.size // x.shape[1] * lax.axis_size("ranks")

    def sync_batchnorm(x, gamma, beta):
        n = count(x)
        sums, squares = over_ranks(np.sum(x, axis=(0, 2, 3)), np.sum(x * x, axis=(0, 2, 3)))
        m = sums / n
        r = lax.rsqrt(squares / n - m * m + EPS)
        return (x - channels(m)) * channels(r * gamma) + channels(beta)

    def sync_batchnorm_backward(x, gamma, dy, m, r):
        h = (x - channels(m)) * channels(r)
        dbeta, dgamma = over_ranks(np.sum(dy, axis=(0, 2, 3)), np.sum(dy * h, axis=(0, 2, 3)))
        dx = channels(gamma * r) * (dy - (channels(dbeta) + h * channels(dgamma)) / count(x))
        return dx, dgamma, dbeta

    def rmsnorm(x, w):
        f = x.astype(np.float32)
        squares = lax.psum(np.sum(f * f, axis=1, keepdims=True), "ranks")
        r = lax.rsqrt(squares / (x.shape[1] * lax.axis_size("ranks")) + EPS)
        return (f * r * w.astype(np.float32)).astype(x.dtype)

    def clip(g):
        return g * np.minimum(1 / (np.sqrt(lax.psum(np.sum(g * g), "ranks")) + 1e-6), 1)

    return {"sync_batchnorm": (sync_batchnorm, (0, None, None), (0,)),
            "sync_batchnorm_backward": (sync_batchnorm_backward, (0, None, 0, None, None), (0, None, None)),
            "rmsnorm": (rmsnorm, (1, 0), (1,)),
            "clip": (clip, (0,), (0,))}  # fmt: skip


def shapes(program, sizes):
    """Of one rank's arguments."""
    each = (sizes[1],) if len(sizes) > 1 else ()
    return {"sync_batchnorm": [sizes, each, each], "sync_batchnorm_backward": [sizes, each, sizes, each, each],
            "rmsnorm": [sizes, each], "clip": [sizes]}[program]  # fmt: skip


class Ranks:
    """Programs over some devices of this process."""

    def __init__(self, jax, devices):
        self.jax, self.count = jax, len(devices)
        self.mesh = jax.sharding.Mesh(devices, ("ranks",))

    def spec(self, axis):
        return self.jax.P() if axis is None else self.jax.P(*[None] * axis, "ranks")

    def array(self, shape, axis, dtype, key):
        """Random numbers; shape is that of one rank's part."""
        whole = tuple(n * self.count if i == axis else n for i, n in enumerate(shape))
        sharding = self.jax.sharding.NamedSharding(self.mesh, self.spec(axis))
        draw = self.jax.jit(lambda: self.jax.random.normal(self.jax.random.key(key), whole, dtype=dtype), out_shardings=sharding)
        return draw()

    def divided(self, function, arguments, results):
        out = tuple(self.spec(axis) for axis in results)
        return self.jax.jit(self.jax.shard_map(function, mesh=self.mesh, in_specs=tuple(map(self.spec, arguments)),
                                               out_specs=out if len(out) > 1 else out[0], check_vma=False))  # fmt: skip


class Timer:
    """Medians on the slowest GPU: caches flushed, and before each run a sum over the ranks, behind which all begin."""

    def __init__(self, ranks, elapsed):
        self.ranks, self.elapsed = ranks, elapsed
        self.flush = ranks.array((timers.FLUSH // 4,), 0, "float32", 0)
        self.step = ranks.divided(lambda b: b + 1, (0,), (0,))
        self.token = ranks.array((1,), 0, "float32", 0)

    def median(self, function, arguments, results, inputs):
        jax = self.ranks.jax
        begun = jax_events.timed(jax, lambda token, *inputs: function(*inputs), lambda token, *_: (jax.lax.psum(token, "ranks"),))

        def together(*inputs):
            done, event = begun(*inputs)
            return *jax.tree.leaves(done), event[None]

        run = self.ranks.divided(together, (0, *arguments), (*results, 0))

        def once():
            flushed = self.flush
            for _ in range(timers.AHEAD):
                flushed = self.step(flushed)
            jax.block_until_ready(run(self.token, *inputs))
            return max(self.elapsed(device) for device in range(self.ranks.count)) * 1e3

        for _ in range(3):
            once()
        return statistics.median(once() for _ in range(timers.REPEATS))


def measure(ranks, workloads):
    """Version, and microseconds by label."""
    import jax

    if jax.default_backend() == "cpu":
        raise ImportError("JAX has no GPU")
    over = Ranks(jax, jax.devices()[:ranks])
    timer, known, found = Timer(over, jax_events.register(jax)), programs(jax), {}
    for label, program, _, sizes in workloads:
        function, arguments, results = known[program]
        dtype = "bfloat16" if program == "rmsnorm" else "float32"
        inputs = [over.array(shape, axis, dtype, k) for k, (shape, axis) in enumerate(zip(shapes(program, sizes), arguments))]
        found[label] = timer.median(function, arguments, results, inputs)
    return f"JAX {jax.__version__}", found
