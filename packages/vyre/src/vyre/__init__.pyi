"""What type checkers and editors read of `vyre`.

A type such as `f32` is a value, which buffers are declared with, and an annotation: a class whose metaclass is that of
types says both. In the annotation of a kernel's parameter an array has the type of its elements, because the names of
axes are texts: `Array` is `Annotated` here. So type checkers see elements, indices and operators, and the kernel itself
checks shapes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import (
    Annotated as Array,
    Annotated as InOut,
    Annotated as Out,
    Any,
    ClassVar,
    Generic,
    Self,
    TypeVar,
    overload,
)

import numpy as np

import vyre_algorithms as algorithms
import vyre_math
from vyre_algorithms import (
    Runs as Runs,
    TopK as TopK,
    Unique as Unique,
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    bincount as bincount,
    blake3 as blake3,
    compact as compact,
    connected_components as connected_components,
    convolve as convolve,
    coo as coo,
    correlate as correlate,
    crc32 as crc32,
    csr as csr,
    cumprod as cumprod,
    cumsum as cumsum,
    exact_dot as exact_dot,
    exact_sum as exact_sum,
    fft as fft,
    find_all as find_all,
    gather as gather,
    histogram as histogram,
    ifft as ifft,
    irfft as irfft,
    kmeans as kmeans,
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    mean as mean,
    normal as normal,
    pagerank as pagerank,
    partition as partition,
    philox as philox,
    prod as prod,
    reduce as reduce,
    repeat as repeat,
    rfft as rfft,
    run_length as run_length,
    sample as sample,
    scan as scan,
    scatter as scatter,
    searchsorted as searchsorted,
    segmented_reduce as segmented_reduce,
    segmented_scan as segmented_scan,
    sha256 as sha256,
    shuffle as shuffle,
    sort as sort,
    sort_pairs as sort_pairs,
    spmv as spmv,
    std as std,
    stencil as stencil,
    sum as sum,
    take_along_axis as take_along_axis,
    threefry as threefry,
    top_k as top_k,
    transpose as transpose,
    uniform as uniform,
    unique as unique,
    unique_all as unique_all,
    var as var,
)
from vyre_driver import (
    DeviceArray as DeviceArray,
    DispatchConfig as DispatchConfig,
    StructArray as StructArray,
    VyreBackend as VyreBackend,
    registered_backends_by_precedence as registered_backends_by_precedence,
)
from vyre_foundation import (
    OPS as OPS,
    RUNTIME as RUNTIME,
    Access as Access,
    Buffer as Buffer,
    BuildError as BuildError,
    DeclarationError as DeclarationError,
    DType as DType,
    Facts as Facts,
    Finding as Finding,
    InvalidProgram as InvalidProgram,
    LengthOf as LengthOf,
    LiteralOutOfRange as LiteralOutOfRange,
    Memory as Memory,
    Mutable as Mutable,
    Op as Op,
    Per as Per,
    PerLaunch as PerLaunch,
    Program as Program,
    ProgramBuilder as ProgramBuilder,
    TextError as TextError,
    TypeMismatch as TypeMismatch,
    Value as Value,
    VyreError as VyreError,
    WireError as WireError,
    apply as apply,
    call as call,
    ceil_div as ceil_div,
    clamp as clamp,
    constant as constant,
    decode as decode,
    degrees as degrees,
    encode as encode,
    fingerprint as fingerprint,
    floor_div as floor_div,
    floor_mod as floor_mod,
    format_expr as format_expr,
    fract as fract,
    functions,
    lerp as lerp,
    parse as parse,
    print_program as print_program,
    program as program,
    radians as radians,
    saturate as saturate,
    select as select,
    smoothstep as smoothstep,
    step as step,
    validate as validate,
)

from .overloads import max as max, min as min  # isort: skip  # before those of the operations, which are a part of them
from vyre_foundation.build import Operand
from vyre_foundation.functions import *  # type: ignore[no-redef]  # noqa: F403
from vyre_math import *  # noqa: F403

from .arrays import array as array, asarray as asarray, empty as empty, zeros as zeros
from .bars import progress as progress
from .errors import (
    DataRace as DataRace,
    DispatchTimeout as DispatchTimeout,
    InvalidGraph as InvalidGraph,
    InvalidInput as InvalidInput,
    InvalidLaunch as InvalidLaunch,
    Trapped as Trapped,
)
from .execution import backend_for as backend_for, check as check, grid_for as grid_for, run as run, tune as tune
from .graphs import graph as graph
from .kernels.aggregates import struct as struct
from .kernels.errors import KernelError as KernelError
from .kernels.intrinsics import (
    barrier as barrier,
    bounded as bounded,
    cross as cross,
    dot as dot,
    global_id as global_id,
    grid_barrier as grid_barrier,
    index as index,
    length as length,
    local_id as local_id,
    normalize as normalize,
    num_workgroups as num_workgroups,
    subgroup as subgroup,
    subgroup_lane as subgroup_lane,
    trap as trap,
    workgroup_id as workgroup_id,
)
from .kernels.kernel import KernelFunction as KernelFunction, kernel as kernel
from .profiles import explain as explain, profile as profile

__all__ = [
    "OPS",
    "RUNTIME",
    "Access",
    "Array",
    "Buffer",
    "BuildError",
    "DType",
    "DataRace",
    "DeclarationError",
    "DeviceArray",
    "DispatchConfig",
    "DispatchTimeout",
    "Facts",
    "Finding",
    "InOut",
    "InvalidGraph",
    "InvalidInput",
    "InvalidLaunch",
    "InvalidProgram",
    "KernelError",
    "KernelFunction",
    "LengthOf",
    "LiteralOutOfRange",
    "Memory",
    "Mutable",
    "Op",
    "Out",
    "Per",
    "PerLaunch",
    "Program",
    "ProgramBuilder",
    "Runs",
    "Struct",
    "StructArray",
    "TextError",
    "TopK",
    "Trapped",
    "TypeMismatch",
    "Unique",
    "Value",
    "Vec2",
    "Vec3",
    "Vec4",
    "VyreBackend",
    "VyreError",
    "WireError",
    "algorithms",
    "all",
    "any",
    "apply",
    "argmax",
    "argmin",
    "argsort",
    "array",
    "asarray",
    "backend_for",
    "barrier",
    "bf16",
    "bincount",
    "blake3",
    "bool_",
    "bounded",
    "call",
    "ceil_div",
    "check",
    "clamp",
    "compact",
    "connected_components",
    "constant",
    "convolve",
    "coo",
    "correlate",
    "crc32",
    "cross",
    "csr",
    "cumprod",
    "cumsum",
    "decode",
    "degrees",
    "dot",
    "empty",
    "encode",
    "exact_dot",
    "exact_sum",
    "explain",
    "f16",
    "f32",
    "f64",
    "fft",
    "find_all",
    "fingerprint",
    "floor_div",
    "floor_mod",
    "format_expr",
    "fract",
    "func",
    "gather",
    "global_id",
    "graph",
    "grid_barrier",
    "grid_for",
    "histogram",
    "i8",
    "i16",
    "i32",
    "i64",
    "ifft",
    "index",
    "irfft",
    "kernel",
    "kmeans",
    "length",
    "lerp",
    "local_id",
    "matmul",
    "matrix_transpose",
    "mean",
    "normal",
    "normalize",
    "num_workgroups",
    "pagerank",
    "parse",
    "partition",
    "philox",
    "print_program",
    "private",
    "prod",
    "profile",
    "program",
    "progress",
    "radians",
    "reduce",
    "registered_backends_by_precedence",
    "repeat",
    "rfft",
    "run",
    "run_length",
    "sample",
    "saturate",
    "scan",
    "scatter",
    "searchsorted",
    "segmented_reduce",
    "segmented_scan",
    "select",
    "sha256",
    "shuffle",
    "smoothstep",
    "sort",
    "sort_pairs",
    "spmv",
    "std",
    "stencil",
    "step",
    "struct",
    "subgroup",
    "subgroup_lane",
    "sum",
    "take_along_axis",
    "threefry",
    "top_k",
    "transpose",
    "trap",
    "tune",
    "u8",
    "u16",
    "u32",
    "u64",
    "uniform",
    "unique",
    "unique_all",
    "validate",
    "var",
    "vec",
    "workgroup",
    "workgroup_id",
    "zeros",
]
__all__ += functions.__all__
__all__ += vyre_math.__all__

__version__: str

class _ScalarType(DType, type): ...

class _Scalar(Value, metaclass=_ScalarType):
    def __init__(self, x: Operand, /) -> None: ...
    def __add__(self, other: Operand) -> Self: ...
    def __sub__(self, other: Operand) -> Self: ...
    def __mul__(self, other: Operand) -> Self: ...
    def __truediv__(self, other: Operand) -> Self: ...
    def __floordiv__(self, other: Operand) -> Self: ...
    def __mod__(self, other: Operand) -> Self: ...
    def __pow__(self, other: Operand) -> Self: ...  # type: ignore[override]
    def __and__(self, other: Operand) -> Self: ...
    def __or__(self, other: Operand) -> Self: ...
    def __xor__(self, other: Operand) -> Self: ...
    def __lshift__(self, other: Operand) -> Self: ...
    def __rshift__(self, other: Operand) -> Self: ...
    def __iadd__(self, other: Operand) -> Self: ...
    def __isub__(self, other: Operand) -> Self: ...
    def __imul__(self, other: Operand) -> Self: ...
    def __itruediv__(self, other: Operand) -> Self: ...
    def __ifloordiv__(self, other: Operand) -> Self: ...
    def __imod__(self, other: Operand) -> Self: ...
    def __iand__(self, other: Operand) -> Self: ...
    def __ior__(self, other: Operand) -> Self: ...
    def __ixor__(self, other: Operand) -> Self: ...
    def __ilshift__(self, other: Operand) -> Self: ...
    def __irshift__(self, other: Operand) -> Self: ...
    def __radd__(self, other: float) -> Self: ...
    def __rsub__(self, other: float) -> Self: ...
    def __rmul__(self, other: float) -> Self: ...
    def __rtruediv__(self, other: float) -> Self: ...
    def __rfloordiv__(self, other: float) -> Self: ...
    def __rmod__(self, other: float) -> Self: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __invert__(self) -> Self: ...
    def __lt__(self, other: Operand) -> bool_: ...
    def __le__(self, other: Operand) -> bool_: ...
    def __gt__(self, other: Operand) -> bool_: ...
    def __ge__(self, other: Operand) -> bool_: ...
    def __eq__(self, other: object) -> bool_: ...  # type: ignore[override]
    def __ne__(self, other: object) -> bool_: ...  # type: ignore[override]
    def __bool__(self) -> bool: ...  # type: ignore[override]
    def __len__(self) -> int: ...  # type: ignore[override]
    def __iter__(self) -> Iterator[Self]: ...  # type: ignore[override]
    def __getitem__(self, index: Any) -> Self: ...  # type: ignore[override]
    def __setitem__(self, index: Any, value: Operand) -> None: ...  # type: ignore[override]
    def cast(self, dtype: type[_S]) -> _S: ...  # type: ignore[override]
    def bitcast(self, dtype: type[_S]) -> _S: ...  # type: ignore[override]
    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def size(self) -> Any: ...
    @property
    def ndim(self) -> int: ...
    def atomic_add(self, index: Any, value: Operand) -> Self: ...
    def atomic_and(self, index: Any, value: Operand) -> Self: ...
    def atomic_or(self, index: Any, value: Operand) -> Self: ...
    def atomic_xor(self, index: Any, value: Operand) -> Self: ...
    def atomic_min(self, index: Any, value: Operand) -> Self: ...
    def atomic_max(self, index: Any, value: Operand) -> Self: ...
    def atomic_exchange(self, index: Any, value: Operand) -> Self: ...
    def atomic_compare_exchange(self, index: Any, expected: Operand, value: Operand) -> Self: ...

class bf16(_Scalar): ...
class bool_(_Scalar): ...
class f16(_Scalar): ...
class f32(_Scalar): ...
class f64(_Scalar): ...
class i8(_Scalar): ...
class i16(_Scalar): ...
class i32(_Scalar): ...
class i64(_Scalar): ...
class u8(_Scalar): ...
class u16(_Scalar): ...
class u32(_Scalar): ...
class u64(_Scalar): ...

_S = TypeVar("_S", bound=_Scalar)
_R = TypeVar("_R")

class _Vector(Generic[_S]):
    x: _S
    y: _S
    def __init__(self, *components: Operand) -> None: ...
    def __getattr__(self, components: str) -> Any: ...
    def cast(self, dtype: DType) -> Any: ...
    def bitcast(self, dtype: DType) -> Any: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[_S]: ...
    def __len__(self) -> int: ...
    def __add__(self, other: Self | Operand) -> Self: ...
    def __sub__(self, other: Self | Operand) -> Self: ...
    def __mul__(self, other: Self | Operand) -> Self: ...
    def __truediv__(self, other: Self | Operand) -> Self: ...
    def __radd__(self, other: Operand) -> Self: ...
    def __rsub__(self, other: Operand) -> Self: ...
    def __rmul__(self, other: Operand) -> Self: ...
    def __neg__(self) -> Self: ...
    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def size(self) -> Any: ...

class Vec2(_Vector[_S]): ...

class Vec3(_Vector[_S]):
    z: _S

class Vec4(_Vector[_S]):
    z: _S
    w: _S

class Struct:
    dtype: ClassVar[np.dtype[np.void]]
    shape: ClassVar[tuple[Any, ...]]
    size: ClassVar[Any]
    def __getitem__(self, index: Any) -> Self: ...
    def __setitem__(self, index: Any, value: Self) -> None: ...
    def __len__(self) -> int: ...

@overload
def vec(dtype: type[_S], size: int, /) -> Any: ...
@overload
def vec(x: _S, y: Operand, /) -> Vec2[_S]: ...
@overload
def vec(x: _S, y: Operand, z: Operand, /) -> Vec3[_S]: ...
@overload
def vec(x: _S, y: Operand, z: Operand, w: Operand, /) -> Vec4[_S]: ...
@overload
def vec(*components: Operand) -> Any: ...
def private(dtype: type[_S], *shape: int | Sequence[int]) -> _S: ...
def workgroup(dtype: type[_S], *shape: int | Sequence[int]) -> _S: ...
def func(function: Callable[..., _R]) -> Callable[..., _R]: ...
