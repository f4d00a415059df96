"""The shape of a random launch, and the buffers of a random program."""

from __future__ import annotations

import math
from random import Random

from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Count, LengthOf, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import Local
from vyre_foundation.testing.expressions import Expressions
from vyre_foundation.testing.profile import Profile
from vyre_foundation.testing.scope import COMMUTATIVE, GID, LID, SID, GeneratorScope, Hold, Shared
from vyre_foundation.testing.simple import ATOMIC_TYPES
from vyre_foundation.testing.statements import Statements
from vyre_foundation.testing.values import random_bytes

_VOLUMES = (1, 1, 2, 3, 4, 5, 7, 8, 8, 16, 16, 24, 32, 33, 64, 128, 256)


class Declarations:
    """Draws workgroup and grid, then declares buffers and fills the inputs."""

    def __init__(self, rng: Random, profile: Profile) -> None:
        self.rng, self.profile = rng, profile
        self.workgroup = self._extent(self._volume())
        self.volume = math.prod(self.workgroup)
        groups = self._extent(self._groups())
        self.indirect = profile.indirect and rng.random() < 0.08
        self.is_inferred = math.prod(groups[1:]) == 1 and not self.indirect and rng.random() < 0.7
        self.grid = (1, 1, 1) if self.is_inferred and rng.random() < 0.3 else groups
        self.total = self.volume * math.prod(self.grid)
        self.subgroup_size = self._subgroup_size()
        self.scope = GeneratorScope(self.volume)
        self.buffers: list[Buffer] = []
        self.inputs: dict[str, bytes] = {}
        self.exprs = Expressions(rng, profile, self.scope, self.subgroup_size)
        self.stmts = Statements(self.exprs, self.subgroup_size)

    # ── shape ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _volume(self) -> int:
        limit = min(256 if self.profile.wide_groups else 64, self.profile.max_invocations)
        return self.rng.choice([v for v in _VOLUMES if v <= limit])

    def _groups(self) -> int:
        """A few workgroups; seldom more than devices run at a time, with a remainder."""
        most = max(1, self.profile.max_invocations // self.volume)
        return (
            self.rng.randint(65, most) if most > 65 and self.rng.random() < 0.15 else self.rng.randint(1, min(6, most))
        )

    def _extent(self, volume: int) -> tuple[int, int, int]:
        """Three factors of a volume, most of it on x."""
        if self.profile.axes == 1 or self.rng.random() < 0.55:
            return (volume, 1, 1)
        y = self.rng.choice([d for d in (1, 2, 3, 4, 5, 7, 8) if volume % d == 0])
        z = self.rng.choice([d for d in (1, 2, 3, 4) if volume // y % d == 0]) if self.profile.axes == 3 else 1
        return (volume // y // z, y, z)

    def _subgroup_size(self) -> int | None:
        sizes = [s for s in (1, 2, 4, 8, 16, 32, 64) if self.volume % s == 0]
        return self.rng.choice(sizes[-3:]) if self.profile.subgroups and self.rng.random() < 0.35 else None

    # ── buffers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _type(self) -> DType:
        return self.rng.choice(self.profile.dtypes)

    def _length(self) -> int:
        n = self.total
        return self.rng.choice((n, n, n, max(0, n - 1), n + 1, 2 * n, self.volume, 3, 1, 0))

    def _declare(
        self, name: str, dtype: DType, access: Access, memory: Memory, count: Count, data: bytes | None = None
    ) -> Buffer:
        binding = sum(b.binding is not None for b in self.buffers) if memory.is_bound else None
        buffer = Buffer(f"{name}{len(self.buffers)}", dtype, access, memory, count, binding, data)
        self.buffers.append(buffer)
        return buffer

    def _fill(self, buffer: Buffer, count: int) -> None:
        self.inputs[buffer.name] = random_bytes(self.rng, buffer.dtype, count)

    def declare_inputs(self) -> None:
        """Declare one to four inputs of random types and lengths, with values."""
        for _ in range(self.rng.randint(1, 4)):
            count = self._length()
            rule = self.rng.choice((RUNTIME, RUNTIME, count))
            buffer = self._declare("in", self._type(), Access.READ, Memory.STORAGE, rule)
            self._fill(buffer, count)
            self.scope.fixed.append(buffer)
        if Memory.UNIFORM in self.profile.memories and self.rng.random() < 0.4:
            count = self.rng.randint(1, 8)
            buffer = self._declare("uni", self._type(), Access.READ, Memory.UNIFORM, self.rng.choice((RUNTIME, count)))
            self._fill(buffer, count)
            self.scope.fixed.append(buffer)
        if Memory.CONSTANT in self.profile.memories and self.rng.random() < 0.4:
            dtype, count = self._type(), self.rng.randint(1, 9)
            data = random_bytes(self.rng, dtype, count)
            self.scope.fixed.append(self._declare("tab", dtype, Access.READ, Memory.CONSTANT, count, data=data))
        if self.indirect:
            memory = self.rng.choice([m for m in (Memory.STORAGE, Memory.UNIFORM) if m in self.profile.memories])
            self.words = self._declare("grid", u32, Access.READ, memory, RUNTIME)
            self.words_offset = self.rng.choice((0, 1, 4))
            grid = b"".join(n.to_bytes(4, "little") for n in self.grid)
            self.inputs[self.words.name] = bytes(4 * self.words_offset) + grid

    def _share(self, buffer: Buffer, base: Local, limit: int, slots: int, hold: Hold = Hold.OWN) -> None:
        from_last = base is not LID and self.rng.random() < 0.15
        op = self.rng.choice(COMMUTATIVE)
        self.scope.shared[buffer] = Shared(buffer, base, limit, slots, from_last, hold, op)

    def declare_outputs(self) -> None:
        """The first output is as long as the grid, so an inferred grid covers at least that."""
        for n in range(self.rng.randint(1, 3)):
            slots = self.rng.choice((1, 1, 1, 2, 3)) if n or not self.is_inferred else 1
            access = self.rng.choice((Access.WRITE, Access.WRITE, Access.READ_WRITE))
            buffer = self._output(n, access, slots)
            hold = Hold.OWN
            if access is Access.READ_WRITE and n:
                holds = [Hold.OWN, Hold.ALL]
                if buffer.dtype in ATOMIC_TYPES and self.profile.atomics:
                    holds += [Hold.ATOMIC, Hold.ATOMIC]
                hold = self.rng.choice(holds)
            self._share(buffer, self.rng.choice((GID, SID)), self.total, slots, hold)

    def declare_sums(self) -> None:
        """The output for the digests, which nothing else touches."""
        if self.profile.digest:
            count = max(0, self.total - self.rng.choice((0, 0, 0, 1)))
            self.stmts.sums = self._declare("sums", u32, Access.WRITE, Memory.STORAGE, count)

    def _output(self, n: int, access: Access, slots: int) -> Buffer:
        dtype = self._type()
        if access is Access.READ_WRITE and self.profile.atomics and self.rng.random() < 0.5:
            dtype = self.rng.choice([t for t in ATOMIC_TYPES if t in self.profile.dtypes])
        count = self._output_length(n, slots)
        rule: Count = count
        if access is Access.READ_WRITE:
            rule = self.rng.choice((RUNTIME, count))
        elif (source := self._buffer_of_length(count)) is not None:
            rule = LengthOf(source.name)
        elif (shorter := self._rule_of_a_shorter(count)) is not None:
            rule = shorter
        buffer = self._declare("out" if access is Access.WRITE else "rw", dtype, access, Memory.STORAGE, rule)
        if access is Access.READ_WRITE:
            self._fill(buffer, count)
        return buffer

    def _output_length(self, n: int, slots: int) -> int:
        if not self.is_inferred:
            return self.rng.choice((self.total * slots, self.total, max(0, self.total - 1), self.total + 2, 0))
        # The inferred grid covers the longest output: none may be longer than the invocations that are planned.
        least = max(0, self.total - self.volume) + 1 if n == 0 else 0
        return self.rng.choice((self.total, self.total, self.rng.randint(least, self.total)))

    def _buffer_of_length(self, count: int) -> Buffer | None:
        known = [b for b in self.buffers if b.is_input and len(self.inputs[b.name]) == count * b.dtype.size]
        return self.rng.choice(known) if known and self.rng.random() < 0.5 else None

    def _rule_of_a_shorter(self, count: int) -> LengthOf | None:
        """A rule for a length that is greater than that of an input."""
        lengths = [(b.name, len(self.inputs[b.name]) // b.dtype.size) for b in self.buffers if b.is_input]
        shorter = [(name, length) for name, length in lengths if length <= count]
        if not shorter or self.rng.random() < 0.6:
            return None
        name, length = self.rng.choice(shorter)
        times = self.rng.choice((1, 1, count // length)) if length else 1
        return LengthOf(name, times=max(1, times), plus=count - length * max(1, times))

    def declare_device_memory(self) -> None:
        """Declare workgroup, private, scratch and constant memory, as far as the profile has it."""
        rng, kinds = self.rng, self.profile.memories
        if Memory.WORKGROUP in kinds and self.profile.barriers:
            for _ in range(rng.choice((0, 1, 1, 2))):
                slots = rng.choice((1, 1, 2))
                count = max(1, self.volume * slots + rng.choice((0, 0, 1, -1)))
                buffer = self._declare("wg", self._shared_type(), Access.READ_WRITE, Memory.WORKGROUP, count)
                self._share(buffer, LID, self.volume, slots)
        for memory, name in ((Memory.SCRATCH, "scr"), (Memory.PERSISTENT, "keep")):
            if memory in kinds and rng.random() < 0.25:
                slots = rng.choice((1, 1, 2))
                counts: list[Count] = [self.total * slots, self.total]
                if memory is Memory.SCRATCH:
                    counts += [PerLaunch(Per.INVOCATION, slots), PerLaunch(Per.WORKGROUP, self.volume)]
                buffer = self._declare(name, self._shared_type(), Access.READ_WRITE, memory, rng.choice(counts))
                self._share(buffer, rng.choice((GID, SID)), self.total, slots)
        if Memory.PRIVATE in kinds and rng.random() < 0.4:
            buffer = self._declare("prv", self._type(), Access.READ_WRITE, Memory.PRIVATE, rng.randint(1, 6))
            self.scope.private.append(buffer)

    def _shared_type(self) -> DType:
        """Half of the time a type with atomics."""
        atomic = [t for t in ATOMIC_TYPES if t in self.profile.dtypes]
        return self.rng.choice(atomic) if self.profile.atomics and self.rng.random() < 0.4 else self._type()

    def ordered(self) -> tuple[Buffer, ...]:
        """The buffers as a program lists them: by binding, those without one last."""
        return tuple(sorted(self.buffers, key=lambda b: (b.binding is None, b.binding or 0)))
