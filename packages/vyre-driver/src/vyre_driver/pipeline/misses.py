"""Why the store did not have what was asked for: counts of what it has instead, and the reason that follows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PipelineCacheMissReason(Enum):
    """The first thing that no entry shares with what was asked for."""

    EMPTY_CACHE = "empty_cache"
    PROGRAM_CHANGED = "program_changed"
    DISPATCH_POLICY_CHANGED = "dispatch_policy_changed"
    DEVICE_OR_RUNTIME_CHANGED = "device_or_runtime_changed"
    KEY_ABSENT = "key_absent"
    """All of these are there: then a version of the emitter or of the lowering is another."""


@dataclass(frozen=True, slots=True)
class PipelineCacheMissEvidence:
    """Counts of the entries that the store has instead of the one that was looked up.

    Each count is a part of the one before it: all `entries`, those of the same program, of them those with the same
    launch policy (workgroup size, error budget), and of those the ones for the same device, driver and compiler.
    """

    entries: int
    same_program: int
    same_policy: int
    same_device: int

    @property
    def reason(self) -> PipelineCacheMissReason:
        """The first count that is zero says what has changed."""
        match (self.entries, self.same_program, self.same_policy, self.same_device):
            case (0, _, _, _):
                return PipelineCacheMissReason.EMPTY_CACHE
            case (_, 0, _, _):
                return PipelineCacheMissReason.PROGRAM_CHANGED
            case (_, _, 0, _):
                return PipelineCacheMissReason.DISPATCH_POLICY_CHANGED
            case (_, _, _, 0):
                return PipelineCacheMissReason.DEVICE_OR_RUNTIME_CHANGED
            case _:
                return PipelineCacheMissReason.KEY_ABSENT
