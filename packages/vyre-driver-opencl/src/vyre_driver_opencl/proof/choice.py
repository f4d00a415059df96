"""The choice among exact spellings: timed on the device, once, where a store keeps what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyopencl as cl

from vyre_driver.codegen.dialect import CDialect
from vyre_driver.tune.candidate import TunedVariant, Variant
from vyre_driver.tune.patterns import patterns
from vyre_driver.tune.spelling import CHAIN, KERNEL, LANES, TimingUnit, fastest, timing_unit
from vyre_driver_opencl.compiler import BuildFailed, build
from vyre_driver_opencl.probe import Proven
from vyre_driver_opencl.proof.bench import ProbeDevice, words
from vyre_foundation.dtype import DType

REPEATS = 32
SAMPLES = 7
LONG_NS = 50_000
"""A run takes about as long, so that starting it does not count."""


def choose(bench: ProbeDevice, dialect: CDialect, proven: Proven) -> Proven:
    """`proven` with the fastest of its exact candidates in place of the first ones."""
    variants = _variants(proven.candidates)
    try:
        times = time_variants(bench, timing_unit(dialect, variants))
    except (BuildFailed, cl.Error):  # a compiler that is not up to so long a text: the order of the table stands
        return proven
    chosen = fastest(times)
    ops = dict(proven.ops)
    for row, variant in chosen.items():
        if variant.text is None:
            ops.pop(row, None)
        else:
            ops[row] = variant.text
    return replace(proven, ops=ops, candidates=_judged(proven.candidates, times, chosen))


def time_variants(bench: ProbeDevice, unit: TimingUnit) -> dict[Variant, float]:
    """Picoseconds for one application of one lane: the median of a few runs."""
    if not unit.variants:
        return {}
    device = bench.queue.device
    queue = cl.CommandQueue(bench.context, device, cl.command_queue_properties.PROFILING_ENABLE)
    kernel = cl.Kernel(build(bench.context, device, unit.text, bench.options), KERNEL)
    buffers = [_buffer(bench.context, t, start) for t in unit.types for start in range(3)]
    for position, buffer in enumerate(buffers):
        kernel.set_arg(2 + position, buffer)

    def run(number: int, repeats: int) -> int:
        kernel.set_arg(0, np.uint32(number))
        kernel.set_arg(1, np.uint32(repeats))
        event = cl.enqueue_nd_range_kernel(queue, kernel, (unit.workgroup,), (unit.workgroup,))
        event.wait()
        return event.profile.end - event.profile.start

    run(0, 1)  # some runtimes compile now
    times = {}
    for number, variant in enumerate(unit.variants):
        repeats = min(2**16, max(1, REPEATS * LONG_NS // max(1, run(number, REPEATS))))
        nanoseconds = float(np.median([run(number, repeats) for _ in range(SAMPLES)]))
        times[variant] = 1000 * nanoseconds / (repeats * LANES * CHAIN)
    return times


def _variants(candidates: Sequence[TunedVariant]) -> list[Variant]:
    """All exact ones by row, the table's own choice first, for the rows that have a choice."""
    rows: dict[tuple[str, DType], list[Variant]] = {}
    for candidate in sorted(candidates, key=lambda c: not c.is_chosen):
        if not candidate.wrong:
            rows.setdefault((candidate.variant.op, candidate.variant.operand), []).append(candidate.variant)
    return [variant for row in rows.values() if len(row) > 1 for variant in row]


def _judged(
    candidates: Sequence[TunedVariant], times: Mapping[Variant, float], chosen: Mapping[tuple[str, DType], Variant]
) -> tuple[TunedVariant, ...]:
    judged = []
    for one in candidates:
        variant = one.variant
        winner = chosen.get((variant.op, variant.operand))
        is_chosen = one.is_chosen if winner is None else winner == variant
        judged.append(replace(one, picoseconds=times.get(variant), is_chosen=is_chosen))
    return tuple(judged)


def _buffer(context: cl.Context, t: DType, start: int) -> cl.Buffer:
    """Elements without a pattern; also what an output begins with."""
    found = patterns(t)
    bits = words(t, [found[(i * 7 + start) % len(found)] for i in range(LANES)])
    return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=bits)
