"""Element types, for annotations that Python evaluates: f32[N, C] with N, C = kiln.sizes("N C")."""

__all__ = ["bf16", "c64", "c128", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


class Type:
    def __init__(self, name, dims=None):
        self.name, self.dims = name, dims

    def __getitem__(self, dims):
        return Type(self.name, dims if isinstance(dims, tuple) else (dims,))

    def __repr__(self):
        return self.name if self.dims is None else f"{self.name}[{', '.join(map(str, self.dims)) or '()'}]"


class Size(str):
    """The name of a size; sums and products of sizes are their texts."""

    def __add__(self, other):
        return Size(f"{self} + {other}")

    def __radd__(self, other):
        return Size(f"{other} + {self}")

    def __mul__(self, other):
        return Size(f"({self}) * ({other})")

    def __rmul__(self, other):
        return Size(f"({other}) * ({self})")


for _name in __all__:
    globals()[_name] = Type(_name)
