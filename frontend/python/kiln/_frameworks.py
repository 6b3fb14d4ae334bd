"""What must be known of the libraries whose arrays kiln takes, where DLPack does not say it: whose stream is current, how
an array is made. Called by the module in C, for arrays whose type has no table of functions in C (PyTorch's has one)."""
import sys

CUDA, CUDA_MANAGED = 2, 13
_DTYPES = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
           "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
           "c64": "complex64", "c128": "complex128"}  # fmt: skip


def library(x):
    name = type(x).__module__.partition(".")[0]
    return "jax" if name == "jaxlib" else name


def plain(kind):
    """May arrays of this type be asked for a capsule without more ado?"""
    return kind.__module__ == "numpy" and hasattr(kind, "__dlpack__")


def capsule(x, given):
    """A DLPack capsule of an array, whose memory may be used by what is put into the stream that is given, or, with None,
    into stream(x)."""
    name = library(x)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"expected an array that speaks DLPack, not {type(x).__name__}")
    how = {}
    if x.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED):
        how["stream"] = (stream(x) if given is None else given) or 1  # 1: the legacy default stream
    elif name == "jax":
        x.block_until_ready()
    try:
        return x.__dlpack__(max_version=(1, 0), **how)
    except TypeError:  # it knows of no versions
        return x.__dlpack__(**how)


def stream(like):
    """The address of the stream that the array's library is in; None where it does not tell."""
    name = library(like)
    if name == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    if name == "torch":
        return sys.modules["torch"].cuda.current_stream(like.device).cuda_stream
    return None


def empty(like, shape, dtype):
    """An array for an output, of the library of `like` and on its device; None where it cannot be asked for one."""
    name = "numpy" if like is None else library(like)
    if name == "numpy":
        import numpy

        if dtype == "bf16":
            raise TypeError("NumPy has no bf16; call with arrays of another library, or return cast(y, f32)")
        return numpy.empty(shape, _DTYPES[dtype])
    if name == "cupy":
        cupy = sys.modules["cupy"]
        with like.device:
            return cupy.empty(shape, _DTYPES[dtype])
    if name == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, _DTYPES[dtype]), device=like.device)
    return None


def adopt(like, tensor):
    """An array of the library of `like` that has taken over a tensor of kiln's."""
    name = library(like)
    if name == "jax":
        import jax.dlpack

        return jax.dlpack.from_dlpack(tensor)
    if hasattr(like, "__array_namespace__"):
        return like.__array_namespace__().from_dlpack(tensor)
    module = sys.modules.get(name)
    if module is None or not hasattr(module, "from_dlpack"):
        raise TypeError(f"{name} does not say how a DLPack tensor becomes an array of it")
    return module.from_dlpack(tensor)
