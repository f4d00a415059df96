"""Which dispatches look alike: what was prepared for one of them serves the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, borrowed_input_slices

if TYPE_CHECKING:
    from vyre_foundation.ir.program import Program


def borrowed_input_shapes_match(first: Inputs, second: Inputs) -> bool:
    """Whether two rows of inputs are as many, and as many bytes each."""
    return _sizes(first) == _sizes(second)


def borrowed_input_batch_shapes_match(batch: Sequence[Inputs]) -> bool:
    """Whether all rows of a batch look alike; an empty batch does."""
    return len({_sizes(row) for row in batch}) <= 1


def dispatch_configs_share_launch_shape(first: DispatchConfig, second: DispatchConfig) -> bool:
    """Whether two configurations lead to the same plan and code: label, profile and timeout do not count."""
    return first.launch_shape == second.launch_shape


def resolve_fixpoint_iterations(config: DispatchConfig) -> int:
    """How often a dispatch runs its program: at least once, as `DispatchConfig` has checked."""
    return config.fixpoint_iterations


def program_vsa_fingerprint_words(program: Program) -> tuple[int, ...]:
    """The fingerprint of a program as eight u32, its first bytes in the first of them, little-endian."""
    data = bytes.fromhex(program.fingerprint())
    return tuple(int.from_bytes(data[n : n + 4], "little") for n in range(0, 32, 4))


def program_vsa_fingerprint(program: Program) -> list[int]:
    """The same as a list, for callers that put it beside other words."""
    return list(program_vsa_fingerprint_words(program))


def _sizes(row: Inputs) -> tuple[int, ...]:
    return tuple([view.nbytes for view in borrowed_input_slices(row)])
