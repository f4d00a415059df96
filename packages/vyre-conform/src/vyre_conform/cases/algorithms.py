"""Algorithms: the programs of `vyre_algorithms`, with what they are given and with digests of what they give.

An algorithm is one launch or several. It runs once on the reference, which records the launches; each program is a
case. `algorithms.json` has the digest of what each gives: a change of one is a change of a definition, or an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

import vyre_algorithms as va
from vyre_algorithms.buckets import sort_by_buckets, sort_by_splitters, values_in_buckets
from vyre_algorithms.choose import choose_by_chunks
from vyre_algorithms.count import count_in_buckets
from vyre_algorithms.order import KeyOrder, KeyType
from vyre_algorithms.radix import DigitOf, is_in_order
from vyre_algorithms.repeats import places_by_scan, repeat_by_chunks
from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Size, Spec, fixed
from vyre_driver import compile_graph
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.graph.record import GraphRecorder
from vyre_foundation.dtype import f32, f64, i32, u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program
from vyre_reference.backend import ReferenceBackend

FILE = "algorithms.json"
BLOCK = 4096
SIZE = BLOCK + 300
"""Elements: more than a block of a reduction or a scan has."""
FEW = 300
FIRST = ("sum", "dot", "exact_sum", "scan", "sort", "select", "matmul", "spmv", "fft", "sha256")
"""The algorithms of every change; the others are those of releases, because compiling them takes minutes."""
SEGMENTS = np.array([0, 1, 70, 70, FEW, SIZE])
SHORT_SEGMENTS = np.array([*range(0, 200, 4), 201, 203, 203, 206, 211, 222, FEW])
ROWS = np.arange(0, FEW + 1, 10)

Array = npt.NDArray[Any]
Call = Callable[[ReferenceBackend], object]


class AnotherDigest(VyreError):
    """A launch on the reference does not have the recorded digest."""

    code = "E1214"


def words(count: int = SIZE) -> Array:
    """Words that are spread by a multiplication; nothing else has a part in them."""
    return (np.arange(1, count + 1, dtype=np.uint64) * 0x9E37_79B9_7F4A_7C15 >> 32).astype(np.uint32)


def floats(count: int = SIZE, dtype: str = "f4") -> Array:
    """From −0.5 to 0.5, scaled by powers of 2, so that the order of additions shows."""
    x = words(count)
    fractions = (x >> 8).astype("f4") / np.float32(1 << 24) - np.float32(0.5)
    found: Array = (fractions * np.exp2((x & 7).astype("f4"))).astype(dtype)
    return found


def is_positive(value: Any) -> Any:
    """The predicate of `select`."""
    return value > 0


def is_odd(sources: Sequence[Any], index: Any) -> Any:
    """The choice of `select_chunks`."""
    return (sources[0][index] & 1) != 0


def is_greater(a: Any, b: Any) -> Any:
    """The comparison of `sort`."""
    return a > b


def average(at: Any) -> Any:
    """The function of `stencil`."""
    return 0.5 * at(0, 0) + 0.125 * ((at(-1, 0) + at(1, 0)) + (at(0, -1) + at(0, 1)))


def _table(*shape: int, dtype: str = "f4") -> Array:
    return floats(int(np.prod(shape)), dtype).reshape(shape)


def _of_segments_of_a_graph(backend: ReferenceBackend) -> object:
    """Starts are checked by a program where they are known only at the launch."""
    with GraphRecorder("segments") as graph:
        x, starts = graph.input("x", f32, FEW), graph.input("starts", u32, 4)
        graph.output("y", va.segmented_reduce(x, starts, "max"))
    given = {"x": floats(FEW), "starts": np.array([0, 1, 90, FEW], np.uint32)}
    return compile_graph(graph.build(), backend).run(given)


# fmt: off
CALLS: dict[str, Call] = {
    "sum":              lambda b: va.sum(floats(), backend=b),
    "sum_f64":          lambda b: va.sum(floats(dtype="f8"), backend=b),
    "sum_f16":          lambda b: va.sum(floats(dtype="f2"), backend=b),
    "sum_rows":         lambda b: va.sum(_table(20, 90), 1, backend=b),
    "sum_short_rows":   lambda b: va.sum(_table(20, 30), 1, backend=b),
    "max_columns":      lambda b: va.max(_table(70, 20), 0, backend=b),
    "argmin_short":     lambda b: va.argmin(_table(3, 7, 20), 1, backend=b),
    "var":              lambda b: va.var(floats(), backend=b),
    "std_rows":         lambda b: va.std(_table(20, 90), 1, ddof=1, backend=b),
    "std_short_rows":   lambda b: va.std(_table(20, 30), 1, ddof=1, backend=b),
    "std_columns":      lambda b: va.std(_table(70, 20), 0, backend=b),
    "std_of_blocks":    lambda b: va.std(_table(2, BLOCK + 9), 1, backend=b),
    "std_of_long_columns": lambda b: va.std(_table(BLOCK + 9, 2), 0, backend=b),
    "prod":             lambda b: va.prod(words(), dtype=np.uint32, backend=b),
    "min":              lambda b: va.min(floats(), backend=b),
    "argmax":           lambda b: va.argmax(floats(), backend=b),
    "any":              lambda b: va.any(words() == 7, backend=b),
    "all":              lambda b: va.all(floats(), backend=b),
    "max_of_some":      lambda b: va.max(floats(FEW), where=words(FEW) % 3 == 0, initial=0.25, backend=b),
    "xor":              lambda b: va.reduce(words(), "xor", backend=b),
    "and_rows":         lambda b: va.reduce(words(900).reshape(10, 90), "and", axis=1, backend=b),
    "dot":              lambda b: va.dot(floats(), floats()[::-1], backend=b),
    "exact_sum":        lambda b: va.exact_sum(floats(), backend=b),
    "exact_sum_f64":    lambda b: va.exact_sum(np.ldexp(floats(dtype="f8"), words() % 900), backend=b),
    "exact_sum_rows":   lambda b: va.exact_sum(np.ldexp(_table(5, 60), words(300).reshape(5, 60) % 90), 1, backend=b),
    "exact_dot":        lambda b: va.exact_dot(floats(), floats()[::-1], backend=b),
    "segmented_reduce": lambda b: va.segmented_reduce(floats(), SEGMENTS, backend=b),
    "segmented_rows":   lambda b: va.segmented_reduce(_table(9, 40), np.array([0, 1, 9, 40]), backend=b),
    "segmented_long":   lambda b: va.segmented_reduce(floats(), np.array([0, 7, SIZE]), backend=b),
    "segmented_short":  lambda b: va.segmented_reduce(floats(FEW), SHORT_SEGMENTS, backend=b),
    "segments_of_graph": _of_segments_of_a_graph,
    "scan":             lambda b: va.scan(floats(), backend=b),
    "scan_exclusive":   lambda b: va.scan(floats(FEW), exclusive=True, backend=b),
    "scan_rows":        lambda b: va.cumsum(_table(3, 90), 1, backend=b),
    "scan_short_rows":  lambda b: va.cumsum(_table(20, 30), 1, backend=b),
    "scan_columns":     lambda b: va.scan(_table(3, 30, 20), axis=1, exclusive=True, backend=b),
    "scan_bits":        lambda b: va.scan(words(FEW), "or", exclusive=True, backend=b),
    "segmented_scan":   lambda b: va.segmented_scan(floats(), SEGMENTS, backend=b),
    "sort":             lambda b: va.sort(floats(FEW), backend=b),
    "sort_rows":        lambda b: va.sort(_table(5, 90), descending=True, backend=b),
    "sort_short_rows":  lambda b: va.sort(_table(5, 60), descending=True, backend=b),
    "argsort_rows":     lambda b: va.argsort(_table(40, 15), backend=b),
    "sort_buckets":     lambda b: sort_by_buckets(words(), KeyType(u32, KeyOrder.UNSIGNED), True, 2**32 - 1, b),
    "sort_splitters":   lambda b: sort_by_splitters(words(), KeyType(u32, KeyOrder.UNSIGNED), True, b),
    "sort_in_order":    lambda b: is_in_order(np.arange(FEW, dtype="u4"), KeyType(u32, KeyOrder.UNSIGNED), b),
    "argsort":          lambda b: va.argsort(words(FEW) & 15, backend=b),
    "sort_before":      lambda b: va.sort(floats(100), before=is_greater, backend=b),
    "compact":          lambda b: va.compact(words(FEW), words(FEW) % 3 == 0, backend=b),
    "select":           lambda b: va.select(floats(), is_positive, backend=b),
    "select_chunks":    lambda b: choose_by_chunks(is_odd, [words()], b),
    "unique":           lambda b: va.unique(words(FEW) & 63, backend=b),
    "unique_all":       lambda b: va.unique_all(words(FEW) & 63, backend=b),
    "run_length":       lambda b: va.run_length(words(FEW) & 1, backend=b).lengths,
    "top_k":            lambda b: va.top_k(floats(), 9, backend=b),
    "top_k_rows":       lambda b: va.top_k(_table(5, 96), 3, backend=b),
    "searchsorted":     lambda b: va.searchsorted(np.sort(words(FEW)), words(FEW), backend=b),
    "bincount":         lambda b: va.bincount(words(FEW) & 63, backend=b),
    "bincount_many":    lambda b: va.bincount(words(FEW) & 8191, minlength=5000, backend=b),
    "bincount_buckets": lambda b: count_in_buckets(words(FEW) % 5000, np.zeros(5000, np.uint32), b),
    "bincount_weights": lambda b: va.bincount(words(FEW) & 63, floats(FEW), backend=b),
    "bincount_of_blocks": lambda b: va.bincount(np.minimum(words() & 63, 1), floats(), backend=b),
    "bincount_moved":   lambda b: values_in_buckets(words(9000) & 63, floats(9000), DigitOf.KEY, b),
    "bincount_moved_at_once": lambda b: values_in_buckets(words(FEW) & 1023, floats(FEW), DigitOf.NUMBER, b),
    "histogram":        lambda b: va.histogram(floats(FEW), 30, (-8.0, 8.0), backend=b),
    "histogram_uneven": lambda b: va.histogram(floats(FEW), np.linspace(-2, 2, 31) ** 3, backend=b),
    "histogram_weights": lambda b: va.histogram(floats(FEW), 30, (-8, 8), weights=words(FEW), density=True, backend=b),
    "gather":           lambda b: va.gather(floats(FEW), words(FEW) % FEW, backend=b),
    "scatter":          lambda b: va.scatter(floats(FEW), words(FEW) % FEW, floats(FEW), backend=b),
    "gather_rows":      lambda b: va.gather(_table(9, 40), words(5) % 40, 1, backend=b),
    "scatter_rows":     lambda b: va.scatter(_table(9, 40), words(5) % 40, _table(9, 5), axis=1, backend=b),
    "scatter_add":      lambda b: va.scatter(words(FEW), words(FEW) & 15, words(FEW), "add", backend=b),
    "scatter_prod":     lambda b: va.scatter(words(FEW), words(FEW) & 15, words(FEW), "prod", backend=b),
    "scatter_add_f32":  lambda b: va.scatter(floats(16), words(FEW) & 15, floats(FEW), "add", backend=b),
    "scatter_xor":      lambda b: va.scatter(words(FEW), words(FEW) & 15, words(FEW), "xor", backend=b),
    "scatter_max_f32":  lambda b: va.scatter(floats(16), words(FEW) & 15, floats(FEW), "max", backend=b),
    "scatter_xor_bool": lambda b: va.scatter(words(16) > 9, words(FEW) & 15, words(FEW) % 7 == 0, "xor", backend=b),
    "repeat":           lambda b: va.repeat(floats(FEW), 3, backend=b),
    "repeat_often":     lambda b: va.repeat(floats(FEW), 17, backend=b),
    "repeat_rows":      lambda b: va.repeat(_table(9, 40), words(9) & 3, 0, backend=b),
    "repeat_counts":    lambda b: repeat_by_chunks(words(FEW), words(FEW) % 7, int((words(FEW) % 7).sum()), 64, b),
    "repeat_by_scan":   lambda b: places_by_scan(words(FEW) & 3, int((words(FEW) & 3).sum()), b),
    "take_along_rows":  lambda b: va.take_along_axis(_table(9, 40), words(45).reshape(9, 5) % 40, backend=b),
    "take_along_axis":  lambda b: va.take_along_axis(_table(9, 40), words(80).reshape(2, 40) % 9, 0, backend=b),
    "transpose":        lambda b: va.transpose(_table(40, 25), backend=b),
    "transpose_axes":   lambda b: va.transpose(_table(5, 6, 7), (2, 1, 0), backend=b),
    "matmul":           lambda b: va.matmul(_table(20, 30), _table(30, 10), backend=b),
    "matmul_rows":      lambda b: va.matmul(_table(20, 30), _table(30, 5), backend=b),
    "matmul_blocks":    lambda b: va.matmul(_table(40, 9), _table(9, 33), backend=b),
    "matmul_strips":    lambda b: va.matmul(_table(97, 5), _table(5, 17), backend=b),
    "matmul_i8":        lambda b: va.matmul(_table(9, 9, dtype="i1"), _table(9, 9, dtype="i1"), dtype=i32, backend=b),
    "spmv":             lambda b: va.spmv(floats(FEW), words(FEW) % 50, ROWS, floats(50), backend=b),
    "csr":              lambda b: va.csr(words(FEW) % 50, words(FEW) & 255, floats(FEW), 50, backend=b),
    "correlate":        lambda b: va.correlate(_table(20, 15), _table(3, 3), backend=b),
    "stencil":          lambda b: va.stencil(_table(20, 15), average, boundary="edge", backend=b),
    "stencil_mirrored": lambda b: va.stencil(_table(20, 15), average, boundary="reflect", backend=b),
    "fft":              lambda b: va.fft(floats(64).astype("c8"), backend=b),
    "fft_60":           lambda b: va.fft(floats(60).astype("c16"), backend=b),
    "fft_long":         lambda b: va.fft(floats(2048).astype("c16"), backend=b),
    "fft_chirp":        lambda b: va.fft(_table(3, 34), backend=b),
    "ifft_mixed":       lambda b: va.ifft(_table(2, 2 * 7 * 11 * 13, dtype="f8"), backend=b),
    "rfft":             lambda b: va.rfft(floats(128), backend=b),
    "rfft_mixed":       lambda b: va.rfft(floats(120), backend=b),
    "rfft_odd":         lambda b: va.rfft(_table(3, 15), backend=b),
    "irfft":            lambda b: va.irfft(_table(3, 21, dtype="f8"), backend=b),
    "irfft_short":      lambda b: va.irfft(_table(3, 33), backend=b),
    "irfft_odd":        lambda b: va.irfft(floats(8), 15, backend=b),
    "philox":           lambda b: va.philox(7, FEW, backend=b),
    "threefry":         lambda b: va.threefry(7, FEW, backend=b),
    "uniform":          lambda b: va.uniform(7, FEW, backend=b),
    "normal":           lambda b: va.normal(7, FEW, backend=b),
    "normal_f64":       lambda b: va.normal(7, FEW, f64, backend=b),
    "shuffle":          lambda b: va.shuffle(words(FEW), 3, backend=b),
    "sample":           lambda b: va.sample(FEW, 200, 3, backend=b),
    "sha256":           lambda b: va.sha256([b"", b"abc", bytes(200)], backend=b),
    "blake3":           lambda b: va.blake3([b"", b"abc", bytes(3000)], backend=b),
    "crc32":            lambda b: va.crc32([b"", b"abc", bytes(200)], backend=b),
    "find_all":         lambda b: va.find_all(b"ushers and hers", [b"he", b"she", b"hers"], backend=b),
    "find_all_often":   lambda b: va.find_all(b"ushers and hers" * 6, [b"he"] * 46, backend=b),
    "kmeans":           lambda b: va.kmeans(_table(60, 3), 4, 7, backend=b),
    "pagerank":         lambda b: va.pagerank(words(80) % 20, words(80)[::-1] % 20, 20, iterations=2, backend=b),
    "components":       lambda b: va.connected_components(words(30) % 40, words(30)[::-1] % 40, 40, backend=b),
}
# fmt: on


def specs() -> Iterator[Spec]:
    for name, digests in on_file().items():
        size = Size.CI if name in FIRST else Size.FULL
        for number in range(len(digests)):
            yield fixed(address("algorithms", name, launch=number), _case, name, number, size=size)


@cache
def on_file() -> dict[str, list[str]]:
    """The digests of the results of launches, by the name of the algorithm."""
    found: dict[str, list[str]] = json.loads(files("vyre_conform.cases").joinpath(FILE).read_text("utf-8"))
    return found


def _case(name: str, number: int) -> tuple[Launch, Expected]:
    launch, outputs = launches_of(name)[number]
    found, wanted = digest_of(outputs), on_file()[name][number]
    if found != wanted:
        fix = (
            "find what changed; `VYRE_ACCEPT=1 pytest packages/vyre-conform/tests/cases/test_algorithms.py` accepts it"
        )
        raise AnotherDigest(f"launch {number} of {name} gives {found[:12]}…, and {wanted[:12]}… is on file", fix=fix)
    return launch, Exactly(outputs)


def digest_of(outputs: Sequence[bytes]) -> str:
    """One digest of the outputs of a launch."""
    return hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in outputs)).hexdigest()


@cache
def launches_of(name: str) -> list[tuple[Launch, tuple[bytes, ...]]]:
    """The launches of an algorithm, the first of each program, with their outputs.

    They are those of devices on which the invocations of a workgroup run side by side, and then those of the others.
    """
    results: dict[object, tuple[bytes, ...]] = {}
    found: dict[object, tuple[Launch, tuple[bytes, ...]]] = {}
    for are_loops in (False, True):
        backend = _Recorder(are_loops, results)
        CALLS[name](backend)
        found = found | {key: launch for key, launch in backend.launches.items() if key not in found}
    return list(found.values())


class _Recorder(ReferenceBackend, contract=1):
    """The reference as another kind of device, which records the first launch of each program.

    `results` has the outputs of all launches without persistent memory: an equal launch is not evaluated again.
    """

    def __init__(self, are_loops: bool, results: dict[object, tuple[bytes, ...]]) -> None:
        super().__init__()
        self._are_loops, self._results = are_loops, results
        self.launches: dict[object, tuple[Launch, tuple[bytes, ...]]] = {}

    def device_profile(self) -> DeviceProfile:
        """That of the reference, but for how the invocations of a workgroup run."""
        return replace(super().device_profile(), workgroups_are_loops=self._are_loops)

    def _launch(
        self, program: Program, inputs: Inputs, config: DispatchConfig, persistent: dict[str, bytearray] | None
    ) -> Outputs:
        given = {buffer.name: bytes(data) for buffer, data in zip(program.inputs, inputs, strict=True)}
        fingerprint, grid, workgroup = program.fingerprint(), config.grid_override, config.workgroup_override
        key = fingerprint, *given.values(), grid, workgroup
        outputs = self._results.get(key) if persistent is None else None
        if outputs is None:
            outputs = tuple(map(bytes, super()._launch(program, inputs, config, persistent)))
            if persistent is None:
                self._results[key] = outputs
        launch = Launch(program=program, inputs=given, grid=grid, workgroup=workgroup)
        self.launches.setdefault(fingerprint, (launch, outputs))
        return [memoryview(bytearray(data)) for data in outputs]
