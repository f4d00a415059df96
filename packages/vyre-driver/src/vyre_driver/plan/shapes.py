"""Comparison of the shapes of dispatches. Dispatches with equal shapes can share prepared launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, borrowed_input_slices

if TYPE_CHECKING:
    from vyre_foundation.ir.program import Program


def borrowed_input_shapes_match(first: Inputs, second: Inputs) -> bool:
    """Return whether two lists of inputs have the same length and the same sizes in bytes."""
    return _sizes(first) == _sizes(second)


def borrowed_input_batch_shapes_match(batch: Sequence[Inputs]) -> bool:
    """Return whether all lists of inputs of a batch have the same shapes; True for an empty batch."""
    return len({_sizes(row) for row in batch}) <= 1


def dispatch_configs_share_launch_shape(first: DispatchConfig, second: DispatchConfig) -> bool:
    """Return whether two configurations have the same plan and code. Label, profile and timeout are not compared."""
    return first.launch_shape == second.launch_shape


def resolve_fixpoint_iterations(config: DispatchConfig) -> int:
    """Return how often a dispatch runs its program, which is at least once."""
    return config.fixpoint_iterations


def program_vsa_fingerprint_words(program: Program) -> tuple[int, ...]:
    """Return the fingerprint of a program as eight u32, in little-endian order of the bytes."""
    data = bytes.fromhex(program.fingerprint())
    return tuple(int.from_bytes(data[n : n + 4], "little") for n in range(0, 32, 4))


def program_vsa_fingerprint(program: Program) -> list[int]:
    """Return the fingerprint of a program as a list of eight u32."""
    return list(program_vsa_fingerprint_words(program))


def _sizes(row: Inputs) -> tuple[int, ...]:
    return tuple([view.nbytes for view in borrowed_input_slices(row)])
