"""Faults of the host: what it launches, what it reads back, what it remembers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from vyre_conform.case import Launch
from vyre_conform.controls.evaluated import of_launches, of_outputs
from vyre_conform.controls.fault import Fault, Layer, Plant
from vyre_conform.oracle.evaluators import plan_case
from vyre_driver.backend.results import Inputs
from vyre_driver.errors import BackendError
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.stmt import For, Trap
from vyre_foundation.ir.walk import statements


def _regrid(launch: Launch, by: int, *, only_partial: bool = False) -> Launch:
    """Another number of workgroups on x than was inferred."""
    if launch.grid is not None:
        return launch
    try:
        plan = plan_case(launch)
    except VyreError:
        return launch
    longest = max((plan.lengths[b.name] for b in plan.program.outputs), default=0)
    if only_partial and longest % plan.program.workgroup_volume == 0:
        return launch
    x, y, z = plan.grid
    return replace(launch, grid=(max(0, x + by), y, z))


def _last_group_dropped(launch: Launch) -> Launch:
    return _regrid(launch, -1, only_partial=True)


def _one_group_more(launch: Launch) -> Launch:
    return _regrid(launch, 1)


def _one_iteration_less(launch: Launch) -> Launch:
    return replace(launch, iterations=max(1, launch.iterations - 1))


def _override_ignored(launch: Launch) -> Launch:
    return replace(launch, workgroup=None)


def _low_bit(launch: Launch) -> Launch:
    """A bool is the lowest bit of its byte."""
    bools = {b.name for b in launch.program.inputs if b.dtype is bool_}
    inputs = {n: bytes(x & 1 for x in data) if n in bools else data for n, data in launch.inputs.items()}
    return replace(launch, inputs=inputs)


def _fresh_outputs(launch: Launch) -> Launch:
    """The contents of read and written buffers are not copied to the device."""
    both = {b.name for b in launch.program.inputs if b.access is Access.READ_WRITE}
    inputs = {n: bytes(len(data)) if n in both else data for n, data in launch.inputs.items()}
    return replace(launch, inputs=inputs)


def _truncated(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
    return [data[:-1] + bytes(1) if data else data for data in outputs]


def _in_order_of_names(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
    named = sorted(zip([b.name for b in launch.program.outputs], outputs, strict=True))
    return [data for _, data in named]


def _range_ignored(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
    """More is read back than was asked for."""
    ranges = [b.output_range for b in launch.program.outputs]
    return [d if r is None else d + bytes(4) for d, r in zip(outputs, ranges, strict=True)]


def _of_elements(change: Callable[[DType, bytes], bytes]) -> Plant:
    """A host that reads elements back differently."""

    def spoil(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
        dtypes = [b.dtype for b in launch.program.outputs]
        return [
            b"".join(change(t, data[n : n + t.size]) for n in range(0, len(data), t.size))
            for t, data in zip(dtypes, outputs, strict=True)
        ]

    return of_outputs(spoil)


def _signed_nan(dtype: DType, element: bytes) -> bytes:
    """NaNs keep the sign that the hardware gives them."""
    if not dtype.is_float or element != dtype.nan_bits.to_bytes(dtype.size, "little"):
        return element
    return (dtype.nan_bits | 1 << (dtype.bits - 1)).to_bytes(dtype.size, "little")


def _true_is_255(dtype: DType, element: bytes) -> bytes:
    return b"\xff" if dtype is bool_ and element == b"\x01" else element


def _big_endian(dtype: DType, element: bytes) -> bytes:
    return element[::-1] if dtype.size == 2 else element


def _in_place(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
    """Results of read and written buffers go to the caller's input, too."""
    results = dict(zip([b.name for b in launch.program.outputs], outputs, strict=True))
    for buffer, given in zip(launch.program.inputs, inputs, strict=True):
        view = memoryview(given)  # type: ignore[arg-type]
        if len(results.get(buffer.name, b"")) == view.nbytes and not view.readonly:
            view[:] = results[buffer.name]
    return outputs


def _second_differs() -> Plant:
    """Every other dispatch gives nothing but zeros."""
    calls = count()

    def spoil(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
        return [bytes(len(data)) for data in outputs] if next(calls) % 2 else outputs

    return of_outputs(spoil)


def _output_forgotten(launch: Launch, outputs: list[bytes], inputs: Inputs) -> Sequence[bytes]:
    return outputs[:-1] if len(outputs) > 1 else outputs


# ── what happens to the process, and to errors ───────────────────────────────────────────────────────────────────────


def _aborts(launch: Launch) -> Launch:
    """A runtime that dies of traps."""
    if any(isinstance(stmt, Trap) for stmt in statements(launch.program.body)):
        os.abort()
    return launch


def _hangs(launch: Launch) -> Launch:
    """A compiler that does not come back from loops that count by more than one."""
    while any(isinstance(stmt, For) and stmt.step > 1 for stmt in statements(launch.program.body)):
        time.sleep(1)
    return launch


def _leaves(launch: Launch) -> Launch:
    """A runtime that ends the process as if all were well."""
    if launch.program.subgroup_size is not None:
        os._exit(0)
    return launch


def _untyped_errors(launch: Launch) -> Launch:
    """Refusals that no caller can tell from a bug."""
    try:
        plan_case(launch)
    except VyreError as error:
        raise RuntimeError(str(error)) from error
    return launch


def _one_error(launch: Launch) -> Launch:
    """Refusals that do not say what was refused."""
    try:
        plan_case(launch)
    except VyreError as error:
        raise BackendError("it did not work", backend="mutant") from error
    return launch


_fault = partial(Fault, Layer.HOST)

# fmt: off
FAULTS = (
    _fault("last-group", "the last, partial workgroup is not launched",
           of_launches(_last_group_dropped), "memory:sizes"),
    _fault("group-too-many", "one workgroup too many is launched",
           of_launches(_one_group_more), "ids:inferred_grid"),
    _fault("iteration-short", "the last fixpoint iteration is left out",
           of_launches(_one_iteration_less), "iterations:*"),
    _fault("override-ignored", "the workgroup override is ignored",
           of_launches(_override_ignored), "ids:workgroup_override"),
    _fault("bool-low-bit", "a bool is the lowest bit of its byte",
           of_launches(_low_bit), "memory:bool_bytes"),
    _fault("bool-255", "true is stored as 255",
           _of_elements(_true_is_255), "ops:is_nan"),
    _fault("bytes-swapped", "elements of two bytes come with the high one first",
           _of_elements(_big_endian), "ops:add"),
    _fault("upload-forgotten", "read and written buffers start as zeros",
           of_launches(_fresh_outputs), "memory:untouched_outputs"),
    _fault("readback-short", "the last byte of an output is not read back",
           of_outputs(_truncated), "memory:gather_long"),
    _fault("outputs-by-name", "outputs come in the order of their names",
           of_outputs(_in_order_of_names), "memory:many_buffers"),
    _fault("output-forgotten", "the last of several outputs does not come",
           of_outputs(_output_forgotten), "memory:many_buffers"),
    _fault("range-ignored", "an output range is not kept",
           of_outputs(_range_ignored), "memory:output_range"),
    _fault("nan-sign", "a NaN keeps its sign",
           _of_elements(_signed_nan), "memory:nan*"),
    _fault("inputs-written", "results are written into the caller's inputs",
           of_outputs(_in_place), "memory:untouched_outputs memory:*"),
    _fault("stale-memory", "a second dispatch gives something else",
           _second_differs(), "memory:*"),
    _fault("aborts", "the process dies of a trap",
           of_launches(_aborts), "traps:*"),
    _fault("leaves", "the process ends when it sees subgroups",
           of_launches(_leaves), "subgroups:*"),
    _fault("hangs", "loops with a step never end",
           of_launches(_hangs), "control:*step* control:*", seconds=2.0),
    _fault("errors-untyped", "refusals are bare exceptions",
           of_launches(_untyped_errors), "refusals:override_that_splits_a_subgroup"),
    _fault("errors-alike", "every refusal is the same error",
           of_launches(_one_error), "refusals:override_that_splits_a_subgroup"),
)
# fmt: on
