"""The reason for a miss in the store, from counts of related entries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PipelineCacheMissReason(Enum):
    """The first component of the identity that no entry shares."""

    EMPTY_CACHE = "empty_cache"
    PROGRAM_CHANGED = "program_changed"
    DISPATCH_POLICY_CHANGED = "dispatch_policy_changed"
    DEVICE_OR_RUNTIME_CHANGED = "device_or_runtime_changed"
    KEY_ABSENT = "key_absent"
    """An entry shares all components, so a version of the emitter or of the lowering differs."""


@dataclass(frozen=True, slots=True)
class PipelineCacheMissEvidence:
    """Counts of entries in the store that are related to the missing one.

    Each count includes the next one: all `entries`, those of the same program, those that also have the same launch
    policy (workgroup size, error budget), and those that also have the same device, driver and compiler.
    """

    entries: int
    same_program: int
    same_policy: int
    same_device: int

    @property
    def reason(self) -> PipelineCacheMissReason:
        """The reason, which follows from the first count that is zero."""
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
