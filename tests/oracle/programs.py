"""The programs that are compared with NumPy: the shapes of their arguments, and for each output the magnitude that an
error of one eps is natural to."""
import numpy as np


def spread(x, axis):
    """What an error of eps in x and its mean does to (x - mean) / deviation, but for the division."""
    return np.abs(x) + np.mean(np.abs(x), axis=axis, keepdims=True)


def relative(x, axis, eps=0):
    """1 + the condition number of the variance."""
    v = np.var(x, axis=axis, keepdims=True) + eps
    return 1 + np.sqrt(np.mean(x * x, axis=axis, keepdims=True) / v)


def normal_scale(x, axis, eps, gamma=1, beta=0):
    d = np.abs(x - np.mean(x, axis=axis, keepdims=True))
    r = 1 / np.sqrt(np.var(x, axis=axis, keepdims=True) + eps)
    return (spread(x, axis) + d * relative(x, axis, eps)) * r * np.abs(gamma) + np.abs(beta)


def batchnorm_scales(x, gamma, beta):
    axes, g, b = (0, 2, 3), gamma[:, None, None], beta[:, None, None]
    v = np.var(x, axis=axes, keepdims=True)
    moment = np.mean(x * x, axis=axes, keepdims=True)
    return (normal_scale(x, axes, 1e-5, g, b), np.mean(np.abs(x), axis=axes, keepdims=True),
            v + np.sqrt(v * moment))  # fmt: skip


def softmax_scales(x):
    # exp turns the absolute error of x - max into a relative one.
    d = x - np.max(x, axis=-1, keepdims=True)
    e = np.exp(d)
    y = e / np.sum(e, axis=-1, keepdims=True)
    return (y * (1 - d),)


def double_center_scales(x):
    a = np.abs(x)
    return (a + np.mean(a, axis=1, keepdims=True) + np.mean(a, axis=0, keepdims=True) + np.mean(a),)


TABLES = [(1, 1), (7, 5), (1, 9), (13, 1), (3, 257), (130, 33), (0, 4), (4, 0)]
EXAMPLES = {  # file: shapes of its arguments, natural magnitudes of its outputs
    "batchnorm": ([[s, s[1:2], s[1:2]] for s in
                   [(1, 1, 1, 1), (3, 5, 7, 1), (2, 1, 9, 11), (4, 6, 8, 8), (5, 3, 1, 31),
                    (0, 3, 2, 2), (2, 0, 3, 3)]], batchnorm_scales),
    "layernorm": ([[s, s[1:], s[1:]] for s in TABLES],
                  lambda x, gamma, beta: (normal_scale(x, -1, 1e-5, gamma, beta),)),
    "softmax": ([[s] for s in TABLES], softmax_scales),
    "standardize": ([[s] for s in TABLES], lambda x: (normal_scale(x, 0, 1e-12),)),
    "double_center": ([[s] for s in TABLES], double_center_scales),
}  # fmt: skip
EXAMPLE_UNITS = 8
# Examples of what NumPy has not: gradients and random numbers, which have tests of their own.
OTHER_EXAMPLES = {"dropout_norm", "dropout_norm_backward", "embedding_backward"}


# ---- tests/golden/programs -----------------------------------------------------------------------


def backward_scales(dy, x, gamma, m, v):
    axes, g = (0, 2, 3), gamma[:, None, None]
    r = 1 / np.sqrt(v + 1e-5)
    h = (np.abs(x) + np.abs(m)) * r
    n = dy.shape[0] * dy.shape[2] * dy.shape[3]
    d = np.abs(dy)
    dbeta = np.sum(d, axis=axes, keepdims=True)
    dgamma = np.sum(d * h, axis=axes, keepdims=True)
    return (np.abs(g) * r * (d + dbeta / n + h * dgamma / n), dgamma.ravel(), dbeta.ravel())


def log_softmax_scales(x):
    d = x - np.max(x, axis=-1, keepdims=True)
    return (1 + np.abs(d) + np.abs(x) + np.log(x.shape[-1]),)


def logsumexp_scales(x):
    return (1 + np.max(np.abs(x), axis=1),)


def rmsnorm_scales(x, gamma):
    return (np.abs(x * gamma) / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6),)


def groupnorm_scales(x, gamma, beta):
    g = x.reshape(x.shape[0], 32, -1)
    c = (x.shape[0], x.shape[1], 1, 1)
    plain = normal_scale(g, 2, 1e-5).reshape(x.shape)
    return (plain * np.abs(gamma).reshape(1, *c[1:]) + np.abs(beta).reshape(1, *c[1:]),)


def cosine_scales(a, b):
    return (np.sum(np.abs(a * b), axis=1) / np.sqrt(np.sum(a * a, 1) * np.sum(b * b, 1) + 1e-12),)


def sinkhorn_scales(k):
    """Signs are mixed: what cancels in a sum makes its quotient as inexact."""
    def step(x, ax, axis):
        s = np.sum(x, axis=axis, keepdims=True)
        return x / s, ax / np.abs(s) + np.abs(x) * np.sum(ax, axis=axis, keepdims=True) / (s * s)

    r, ar = step(k, np.abs(k), 1)
    return (step(r, ar, 0)[1],)


def power_scales(a, v):
    for _ in range(3):
        w, aw = a @ v, np.abs(a) @ np.abs(v)
        norm = np.sqrt(np.sum(w * w))
        v, size = w / norm, (aw + np.abs(w) * np.sum(np.abs(w) * aw) / (norm * norm)) / norm
    return (size * 8,)


def adam_scales(p, g, m, v):
    """1 - b1 and 1 - b2 are exact to eps, which is much beside 1 - b2."""
    m_new, v_new = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    m_size, v_size = np.abs(m) + np.abs(g), v + g * g
    step = 1e-3 / 0.1 / np.sqrt(v_new / 0.001)
    return np.abs(p) + step * (m_size + np.abs(m_new) * v_size / v_new), m_size, v_size


FULL = [s for s in TABLES if 0 not in s]
IMAGES = [s for s in [c[0] for c in EXAMPLES["batchnorm"][0]] if 0 not in s]
CHANNELS = [(1, 32, 1, 1), (2, 64, 3, 5), (3, 96, 8, 8)]
PROGRAMS = {
    "batchnorm": EXAMPLES["batchnorm"],
    "batchnorm_backward": ([[s, s, s[1:2], (1, s[1], 1, 1), (1, s[1], 1, 1)] for s in IMAGES],
                           backward_scales),
    "softmax": EXAMPLES["softmax"],
    "log_softmax": EXAMPLES["softmax"][:1] + (log_softmax_scales,),
    "logsumexp": ([[s] for s in FULL], logsumexp_scales),
    "layernorm": EXAMPLES["layernorm"],
    "rmsnorm": ([[s, s[1:]] for s in TABLES], rmsnorm_scales),
    "groupnorm": ([[s, s[1:2], s[1:2]] for s in CHANNELS], groupnorm_scales),
    "cosine": ([[s, s] for s in FULL], cosine_scales),
    "zscore_rows": ([[s] for s in FULL if s[1] > 1], lambda x: (normal_scale(x, 1, 0),)),
    "zscore_columns": ([[s] for s in FULL if s[0] > 1], lambda x: (normal_scale(x, 0, 0),)),
    "double_center": EXAMPLES["double_center"],
    "normalise": ([[(n,)] for n in (1, 7, 257, 4290)], lambda x: (np.abs(x) / np.sqrt(np.sum(x * x)),)),
    "sinkhorn": ([[s] for s in FULL], sinkhorn_scales),
    "power_iteration": ([[(n, n), (n,)] for n in (1, 5, 33, 64)], power_scales),
    "adam": ([[(n,)] * 4 for n in (1, 5, 1000)], adam_scales),
    "transposed_add": ([[s, s[::-1]] for s in TABLES], lambda a, b: (np.abs(a) + np.abs(b.T),)),
    "transposed_softmax": ([[s[::-1]] for s in TABLES], lambda x: softmax_scales(x.T)),
}  # fmt: skip
