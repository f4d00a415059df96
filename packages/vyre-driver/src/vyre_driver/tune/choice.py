"""The fastest way that was found to launch a program on a device, by the size of its data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING

from vyre_driver.checked import Fields, read_json
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable

if TYPE_CHECKING:
    from vyre_driver.backend.config import DispatchConfig
    from vyre_driver.device.profile import Extent
    from vyre_foundation.ir.program import Program

METHOD = 1
"""Part of every question to the store: changes with what a choice is."""


@dataclass(frozen=True, slots=True)
class LaunchChoice:
    """How to launch a program: `workgroup_size` in place of its own, `queue` by name. None leaves it to the engine.

    `variant` names one of its variants (`variants_of`), "" for what the optimizer leaves.

    `is_declared`: the caller of the tuner has answered for the workgroup size, where nothing proves that it does not
    matter. `ns` is what a dispatch took, `own_ns` what it took without the choice.
    """

    workgroup_size: Extent | None = None
    queue: str | None = None
    is_declared: bool = False
    ns: float = 0.0
    own_ns: float = 0.0
    variant: str = ""

    def __str__(self) -> str:
        size = [f"workgroups of {' × '.join(map(str, self.workgroup_size))}"] if self.workgroup_size else []
        queue = [f"the queue {self.queue!r}"] if self.queue is not None else []
        variant = [f"the variant {self.variant!r}"] if self.variant else []
        return ", ".join((*size, *queue, *variant)) or "as the engine launches it"

    @property
    def is_default(self) -> bool:
        """Whether it leaves everything to the engine."""
        return self.workgroup_size is None and self.queue is None and not self.variant


def size_bucket(byte_lengths: Sequence[int], config: DispatchConfig) -> int:
    """The bucket of a launch: the number of binary digits of its size.

    The size is the bytes of all inputs, or the workgroups of a grid that the configuration gives, if these are more.
    """
    grid = config.grid_override
    return (sum(byte_lengths) if grid is None else max(sum(byte_lengths), prod(grid))).bit_length()


class LaunchChoices:
    """The choices of one device by program and size bucket: those of earlier processes, and of this one."""

    def __init__(self, known: DeviceSignatureTable, device: tuple[str, ...]) -> None:
        self._known, self._device = known, device
        self._choices: dict[str, dict[int, LaunchChoice]] = {}

    def of(self, program: Program) -> Mapping[int, LaunchChoice]:
        """All choices for a program, by bucket."""
        digest = program.fingerprint()
        found = self._choices.get(digest)
        if found is None:
            found = self._choices[digest] = self._known.get(self._signature(digest), _read) or {}
        return found

    def get(self, program: Program, byte_lengths: Sequence[int], config: DispatchConfig) -> LaunchChoice | None:
        """The choice for a launch. None where it was not tuned, or where the configuration has decided."""
        found = self.of(program)
        return found.get(size_bucket(byte_lengths, config)) if found and config.workgroup_override is None else None

    def put(self, program: Program, bucket: int, choice: LaunchChoice, cost_ns: int = 0) -> None:
        """Take a choice from now on, and in later processes; the default choice forgets what was there.

        The choices of other processes for other sizes stay: they are read again.
        """
        stored = self._known.get(self._signature(program.fingerprint()), _read) or {}
        found = {**self.of(program), **stored, bucket: choice}
        if choice.is_default:
            del found[bucket]
        self._choices[program.fingerprint()] = found
        written = json.dumps({str(size): _written(one) for size, one in found.items()})
        self._known.put(self._signature(program.fingerprint()), written.encode(), cost_ns)

    def _signature(self, digest: str) -> DeviceSignature:
        return DeviceSignature(self._device, f"the fastest launch of {digest} by method {METHOD}")


def _read(cached: bytes) -> dict[int, LaunchChoice]:
    document = read_json(cached)
    return {int(size): _choice(fields) for size, fields in document.items()}


def _choice(document: object) -> LaunchChoice:
    fields = Fields(document)
    names = set(fields.names())
    size = fields.items("workgroup_size") if "workgroup_size" in names else None
    queue = fields.text("queue") if "queue" in names else None
    if size is not None and (len(size) != 3 or not all(type(n) is int and n > 0 for n in size)):
        raise ValueError(f"{size} is no workgroup size")
    extent = None if size is None else (size[0], size[1], size[2])
    ns, own_ns, variant = fields.number("ns"), fields.number("own_ns"), fields.text("variant")
    return LaunchChoice(extent, queue, fields.flag("is_declared"), ns, own_ns, variant)


def _written(choice: LaunchChoice) -> dict[str, object]:
    return {name: value for name, value in asdict(choice).items() if value is not None}
