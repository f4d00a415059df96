"""Memory of several invocations at once: how the lanes of a vector load and store elements.

It is accessed in the way that the pattern of an index allows: neighbours in one piece, what is near in one piece and
with a permutation, rows in pieces that are transposed, and the rest element by element. Where a mask leaves lanes out,
gathers and scatters do it, but for guarded loads of elements that no instruction gathers. On CPUs whose gathers are
fast they load all that is not near, and words for what is small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial

from vyre_driver_cpu.function import NONTEMPORAL
from vyre_driver_cpu.lane_rows import NEAR, Group, row_groups, split
from vyre_driver_cpu.lanes import Pattern, VectorLanes, can_address
from vyre_driver_cpu.spelling import LINE, TYPES
from vyre_driver_cpu.transposition import Transposition
from vyre_driver_cpu.values import FunctionScope
from vyre_driver_cpu.vector_arithmetic import VectorArithmetic
from vyre_foundation.dtype import DType, bool_, u32, u64
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Local
from vyre_foundation.ir.stmt import Body

FETCHED = 1 << 14
"""Bytes of the rows of a vector that are fetched while the vector before is computed: half of a cache of level 1."""
ITERATIONS_AHEAD = 8
"""How many iterations before its use an element is prefetched. On an Emerald Rapids, neighbour forces took twice as
long with 4 and four times as long with 64; a Jacobi step took a tenth less with 64."""
ZERO = "@zero"
"""Eight bytes that are zero."""


class VectorValues(VectorArithmetic):
    """The values of a vector, and the elements of memory that its lanes load and store.

    `in_order`: rows of elements are loaded from memory of the launch in the order of the program (see `registers`).
    Where all lanes are active, stores to the buffers of `past_caches` fill lines, and are non-temporal.
    """

    def __init__(
        self,
        scope: FunctionScope,
        lanes: VectorLanes,
        first: str,
        *,
        constants_in_memory: bool = False,
        in_order: bool = False,
        past_caches: Set[Buffer] = frozenset(),
    ) -> None:
        super().__init__(scope, lanes, first, constants_in_memory=constants_in_memory)
        self._past_caches = past_caches
        self._in_order = in_order
        self._rows: list[dict[Group, list[dict[int, str]]]] = [{}]
        """Rows that are loaded in the blocks around the present place, by the distance of their elements."""
        self.loops: list[tuple[Local, int]] = []
        """The counters of the loops around the present place, and their steps."""

    # ── where elements are ───────────────────────────────────────────────────────────────────────────────────────────

    def _pattern(self, index: Expr) -> Pattern | None:
        pattern = self.lanes.pattern(index)
        return pattern if can_address(index, pattern) else None

    def _base(self, buffer: Buffer, index: Expr) -> str:
        """The address of the element of lane 0, which may be out of bounds where it is not active."""
        place, array = self.in_first(index), self._scope.arrays[buffer.name]
        if index.dtype is not u64:
            place = self._out.value(f"zext {TYPES[index.dtype]} {place} to i64")
        return self._out.value(f"getelementptr {TYPES[buffer.dtype]}, ptr {array}, i64 {place}")

    def _beside(self, buffer: Buffer, base: str, distance: int) -> str:
        """The address of the element some way behind another."""
        if not distance:
            return base
        return self._out.value(f"getelementptr {TYPES[buffer.dtype]}, ptr {base}, i64 {distance}")

    def _each(self, buffer: Buffer, index: Expr) -> str:
        """The addresses of all lanes."""
        return self._pointers(buffer, self._scope.arrays[buffer.name], self.vector(index), index.dtype)

    def _pointers(self, buffer: Buffer, array: str, places: str, dtype: DType) -> str:
        """The addresses of elements of an array at indices of a type."""
        width = self.lanes.width
        if dtype is not u64:
            places = self._out.value(f"zext {self.type(dtype)} {places} to <{width} x i64>")
        return self._out.value(f"getelementptr {TYPES[buffer.dtype]}, ptr {array}, <{width} x i64> {places}")

    def _relative(self, pattern: Pattern) -> tuple[int, ...]:
        return tuple(offset - pattern.offsets[0] for offset in pattern.offsets)

    def of_lane(self, root: Expr, buffer: Buffer | None = None) -> Callable[[str], str]:
        """What gives the value of `root` in a lane, or the address of that element of a buffer.

        It takes the number of the lane, as a type and an operand.
        """
        out = self._out
        if not self.lanes.varies(root):
            one = self.operand(root) if buffer is None else self.address(buffer, root)
            return lambda lane: one
        values, t, vector = self.operand(root), TYPES[root.dtype], self.type(root.dtype)
        if buffer is not None:
            values, t, vector = self._each(buffer, root), "ptr", f"<{self.lanes.width} x ptr>"
        every = out.reserve(vector)
        out.add(f"store {vector} {values}, ptr {every}")

        def of(lane: str) -> str:
            return out.value(f"load {t}, ptr {out.value(f'getelementptr {t}, ptr {every}, {lane}')}")

        return of

    # ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def enter(self, body: Body) -> None:
        """A block begins: rows that it surely reads are loaded together."""
        self._rows.append({})
        if self.mask is not None:
            return
        for group, rows in row_groups(body, self.lanes).items():
            self._rows[-1][group] = [dict.fromkeys(distances, "") for distances in rows]

    def leave(self) -> None:
        """A block ends."""
        self._rows.pop()

    def _load(self, node: Load, args: list[str]) -> str:
        if not self.lanes.varies(node.index):
            return super()._load(node, args)
        self.known.remember(node.index, args[0])  # addresses are made of it, and nested loads would compute it again
        mask, pattern = self.mask, self._pattern(node.index)
        if node.checked:
            t = self.type(node.index.dtype)
            length = self.splat(self._length(node), node.index.dtype)
            mask = self.both(mask, self._out.value(f"icmp ult {t} {args[0]}, {length}"))
        found = self._from_row(node) if mask is None else None
        if found is None and pattern is not None:
            found = self._near(node, pattern, mask)
        if found is not None:
            return found
        if self.lanes.may_be_adjacent(node.index) or self.lanes.may_wrap(node.index):
            return self._maybe_adjacent(node, mask)
        if self._has_words(node.buffer):
            return self._from_words(node, mask)
        if mask is not None and node.checked and node.dtype.bits < u32.bits and node.buffer.count != 0:
            return self._guarded(node, mask)
        return self._gathered(node, self._each(node.buffer, node.index), mask)

    def _maybe_adjacent(self, node: Load, mask: str | None) -> str:
        """Elements that may be side by side, which the addresses say when they are there."""
        out, t = self._out, self.type(node.dtype)
        adjacent, apart, behind = (out.name(stem) for stem in ("adjacent", "apart", "behind"))
        is_adjacent, base = self._adjacent(node.buffer, node.index)
        pointers = self._each(node.buffer, node.index)  # here: what it computes may be used again behind the branch
        out.branch(is_adjacent, adjacent, apart)
        out.open(adjacent)
        one = self._loaded(node.buffer, base, mask)
        out.jump(behind)
        out.open(apart)
        each = self._from_words(node, mask) if self._has_words(node.buffer) else self._gathered(node, pointers, mask)
        out.open(behind)
        return out.value(f"phi {t} [ {one}, %{adjacent} ], [ {each}, %{apart} ]")

    def _adjacent(self, buffer: Buffer, index: Expr) -> tuple[str, str]:
        """Whether all lanes are behind the first as neighbours are, and the address of the first."""
        out, t, width, dtype = self._out, self.type(index.dtype), self.lanes.width, index.dtype
        if self.lanes.may_wrap(index):
            first = self.in_first(index)
            is_adjacent = out.value(f"icmp ule {TYPES[dtype]} {first}, {-width}")
        else:
            places = self.operand(index)
            first = out.value(f"extractelement {t} {places}, i64 0")
            steps = ", ".join(f"{TYPES[dtype]} {n}" for n in range(width))
            expected = out.value(f"add {t} {self.splat(first, dtype)}, <{steps}>")
            is_other = self.any(out.value(f"icmp ne {t} {places}, {expected}"))
            fits = out.value(f"icmp ule {TYPES[dtype]} {first}, {-width}")
            is_adjacent = out.value(f"select i1 {is_other}, i1 false, i1 {fits}")
        wide = first if dtype is u64 else out.value(f"zext {TYPES[dtype]} {first} to i64")
        array = self._scope.arrays[buffer.name]
        return is_adjacent, out.value(f"getelementptr {TYPES[buffer.dtype]}, ptr {array}, i64 {wide}")

    def _loaded(self, buffer: Buffer, base: str, mask: str | None) -> str:
        """Adjacent elements."""
        vector, width = self.type(buffer.dtype), self.lanes.width
        if mask is None:
            load = "load volatile" if self._in_order and buffer.memory is not Memory.PRIVATE else "load"
            return self._out.value(f"{load} {vector}, ptr {base}, align {buffer.dtype.size}")
        name = f"@llvm.masked.load.v{width}{_suffix(buffer.dtype)}.p0"
        place = f"ptr align {buffer.dtype.size} {base}"
        is_active = f"{self.condition_type} {self.active(mask)}"
        return self._out.value(f"call {vector} {name}({place}, {is_active}, {vector} zeroinitializer)")

    def _gathered(self, node: Load, pointers: str, mask: str | None) -> str:
        buffer, t = node.buffer, self.type(node.dtype)
        if mask is None and not (self._spellings.gathers and node.dtype.bits >= u32.bits):
            return self._one_by_one(node, pointers)
        every = f"{self.condition_type} {'splat (i1 true)' if mask is None else self.active(mask)}"
        name = f"@llvm.masked.gather.v{self.lanes.width}{_suffix(node.dtype)}.v{self.lanes.width}p0"
        places = f"<{self.lanes.width} x ptr> align {buffer.dtype.size} {pointers}"
        return self._out.value(f"call {t} {name}({places}, {every}, {t} zeroinitializer)")

    def _has_words(self, buffer: Buffer) -> bool:
        """Whether small elements are gathered as parts of words."""
        if not self._spellings.gathers or buffer.dtype.bits >= u32.bits or not buffer.memory.is_bound:
            return False
        if isinstance(buffer.count, int):
            return buffer.count * buffer.dtype.bits >= u32.bits
        return buffer.access is Access.READ and Length(buffer) in self._symbols

    def _from_words(self, node: Load, mask: str | None) -> str:
        """Elements of 8 or 16 bits out of gathered words, which begin at the elements, or at the last word.

        So words are within the buffer at any index, also in lanes that are not active.
        """
        out, buffer, width, dtype = self._out, node.buffer, self.lanes.width, node.index.dtype
        if isinstance(buffer.count, int):
            array, last = self._scope.arrays[buffer.name], str(buffer.count - u32.bits // buffer.dtype.bits)
        else:
            length = self._symbols[Length(buffer)]
            array, last = out.words(self._scope.arrays[buffer.name], length, buffer.dtype)
            if dtype is u64:
                last = out.value(f"zext i32 {last} to i64")
        t, word, places = self.type(dtype), self.type(u32), self.operand(node.index)
        limit = self.splat(last, dtype)
        starts = out.value(f"call {t} @llvm.umin.v{width}{TYPES[dtype]}({t} {places}, {t} {limit})")
        behind = out.value(f"sub {t} {places}, {starts}")
        if dtype is u64:
            behind = out.value(f"trunc {t} {behind} to {word}")
        pointers = f"<{width} x ptr> align {buffer.dtype.size} {self._pointers(buffer, array, starts, dtype)}"
        every = f"{self.condition_type} splat (i1 true)"
        gathered = out.value(
            f"call {word} @llvm.masked.gather.v{width}i32.v{width}p0({pointers}, {every}, {word} poison)"
        )
        bits = out.value(f"mul {word} {behind}, splat (i32 {buffer.dtype.bits})")
        bits = out.value(f"and {word} {bits}, splat (i32 {u32.bits - 1})")
        small, vector = f"<{width} x i{buffer.dtype.bits}>", self.type(buffer.dtype)
        value = out.value(f"trunc {word} {out.value(f'lshr {word} {gathered}, {bits}')} to {small}")
        if vector != small:
            value = out.value(f"bitcast {small} {value} to {vector}")
        if mask is None:
            return value
        every = f"{self.condition_type} {self.active(mask)}"
        return out.value(f"select {every}, {vector} {value}, {vector} zeroinitializer")

    def _guarded(self, node: Load, mask: str) -> str:
        """A checked load of small elements, which nothing gathers: lanes that a mask leaves out load element 0.

        LLVM branches for each lane of a gather that the CPU does not have.
        """
        out, t, places = self._out, self.type(node.dtype), self.type(node.index.dtype)
        array = self._scope.arrays[node.buffer.name]
        if not isinstance(node.buffer.count, int):
            is_empty = out.value(f"icmp eq {TYPES[node.index.dtype]} {self._length(node)}, 0")
            array = out.value(f"select i1 {is_empty}, ptr {ZERO}, ptr {array}")
        every = f"{self.condition_type} {self.active(mask)}"
        index = out.value(f"select {every}, {places} {self.operand(node.index)}, {places} zeroinitializer")
        found = self._one_by_one(node, self._pointers(node.buffer, array, index, node.index.dtype))
        return out.value(f"select {every}, {t} {found}, {t} zeroinitializer")

    def _one_by_one(self, node: Load, pointers: str) -> str:
        """A plain load for each lane: together they take less time than a gather."""
        vector, element, width = "poison", TYPES[node.dtype], self.lanes.width
        for lane in range(width):
            pointer = self._out.value(f"extractelement <{width} x ptr> {pointers}, i64 {lane}")
            loaded = self._out.value(f"load {element}, ptr {pointer}, align {node.dtype.size}")
            vector = self._out.value(f"insertelement <{width} x {element}> {vector}, {element} {loaded}, i64 {lane}")
        return vector

    def _near(self, node: Load, pattern: Pattern, mask: str | None) -> str | None:
        """Elements that are side by side, or near."""
        buffer, t, width = node.buffer, TYPES[node.dtype], self.lanes.width
        places = self._relative(pattern)
        if places == tuple(range(width)):
            is_safe = not node.checked and self._is_own_block(buffer, pattern)
            base = self._base(buffer, node.index)
            if buffer.memory.is_bound:
                self._prefetch_strided(buffer, node.index, base)
            return self._loaded(buffer, base, None if is_safe else mask)
        if mask is not None and places == tuple(range(0, -width, -1)):
            turned = self.shuffle(f"i{self._mask_bits}", width, mask, "poison", range(width)[::-1])
            address = self._beside(buffer, self._base(buffer, node.index), 1 - width)
            return self.shuffle(t, width, self._loaded(buffer, address, turned), "poison", range(width)[::-1])
        window = self._window(buffer, pattern)
        if mask is not None or window is None:
            return None
        low, span, align = window
        address = self._beside(buffer, self._base(buffer, node.index), low)
        if span == 1:
            return self.splat(self._out.value(f"load {t}, ptr {address}, align {align}"), node.dtype)
        wide = self._out.value(f"load <{span} x {t}>, ptr {address}, align {align}")
        return self.shuffle(t, span, wide, "poison", [place - low for place in places])

    def _prefetch_strided(self, buffer: Buffer, index: Expr, base: str) -> None:
        """Prefetch what a later iteration of the innermost loop loads, if the distance is known only at run time.

        Loops waited for such loads on the CPU that was measured (benchmarks/RESULTS.md, neighbour forces).
        """
        if not self.loops:
            return
        counter, step = self.loops[-1]
        stride = _stride(index, counter)
        if stride is not None and not self.lanes.varies(stride):
            distance = self._out.value(f"mul i64 {self.operand(stride)}, {step * ITERATIONS_AHEAD}")
            ahead = self._out.value(f"getelementptr {TYPES[buffer.dtype]}, ptr {base}, i64 {distance}")
            self._out.add(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)")

    def _window(self, buffer: Buffer, pattern: Pattern) -> tuple[int, int, int] | None:
        """Adjacent elements that contain those of all lanes: their distance from lane 0, number and alignment in bytes.

        An aligned block is preferred. It is within bounds where one of its elements is, if the buffer consists of such.
        """
        places, size, most = self._relative(pattern), buffer.dtype.size, NEAR * self.lanes.width
        low, span = min(places), max(places) - min(places) + 1
        block = 1 << max(pattern.offsets).bit_length()
        if 1 < span <= block <= min(most, pattern.align) and isinstance(buffer.count, int) and not buffer.count % block:
            is_own = buffer.memory is Memory.PRIVATE
            return -pattern.offsets[0], block, min(LINE, block * size) if is_own else size
        return (low, span, size) if span <= most else None

    def _is_own_block(self, buffer: Buffer, pattern: Pattern) -> bool:
        """Whether a row of all lanes is in memory that no other thread sees, if the element of one lane is."""
        width, first = self.lanes.width, pattern.offsets[0]
        if buffer.memory is not Memory.PRIVATE or not isinstance(buffer.count, int) or buffer.count % width:
            return False
        return pattern.align % width == first % width == 0

    def _from_row(self, node: Load) -> str | None:
        """An element of rows that are loaded together: all of them, with the first."""
        root, distance = split(node.index)
        for known in reversed(self._rows):
            for columns in known.get((node.buffer, root), ()):
                if distance not in columns:
                    continue
                if not columns[distance]:
                    columns.update(zip(columns, self._columns(node, root, tuple(columns)), strict=True))
                return columns[distance]
        return None

    def _columns(self, node: Load, root: Expr, distances: Sequence[int]) -> list[str]:
        buffer, t, length = node.buffer, TYPES[node.dtype], len(distances)
        rows, ahead = [], self._ahead(buffer, root)
        for place in self._rows_at(buffer, root):
            address = self._beside(buffer, place, distances[0])
            rows.append(self._out.value(f"load <{length} x {t}>, ptr {address}, align {buffer.dtype.size}"))
            if ahead:
                following = self._beside(buffer, address, ahead)
                self._out.add(f"call void @llvm.prefetch.p0(ptr {following}, i32 0, i32 3, i32 1)")
        turned = Transposition(self.lanes.width, length, buffer.dtype.size)
        vectors = [self._joined(t, [rows[row] for row in turned.rows_of_vector(n)], length) for n in range(length)]
        return turned.columns(vectors, partial(self.shuffle, t, self.lanes.width))

    def _rows_at(self, buffer: Buffer, root: Expr) -> Iterator[str]:
        """The address of the element at an index, of each lane."""
        pattern = self._pattern(root)
        if pattern is not None:
            base = self._base(buffer, root)
            for place in self._relative(pattern):
                yield self._beside(buffer, base, place)
            return
        own, common = self._terms(root)
        pointers, width = self._each(buffer, own), self.lanes.width
        for lane in range(width):
            address = self._out.value(f"extractelement <{width} x ptr> {pointers}, i64 {lane}")
            for term in common:
                address = self._out.value(
                    f"getelementptr {TYPES[buffer.dtype]}, ptr {address}, i64 {self.operand(term)}"
                )
            yield address

    def _terms(self, index: Expr) -> tuple[Expr, list[Expr]]:
        """An index of u64 as what lanes have of their own, and what is the same for all: they are added."""
        common: list[Expr] = []
        while True:
            match index:
                case Apply(op, (a, b)) if op.id == "add" and self.lanes.varies(a) != self.lanes.varies(b):
                    index, term = (a, b) if self.lanes.varies(a) else (b, a)
                    common.append(term)
                case _:
                    return index, common

    def _ahead(self, buffer: Buffer, root: Expr) -> int:
        """How far ahead rows are fetched that move with a loop around; 0 if they are not fetched ahead.

        The prefetchers of CPUs follow fewer streams than a vector has lanes. Where the rows of a vector take `FETCHED`
        bytes at most, those of the next vector are fetched, and otherwise what the next iteration reads.
        """
        moves = (self.lanes.advance(root, counter, step) for counter, step in reversed(self.loops))
        move, size, pattern = next(filter(None, moves), 0), buffer.dtype.size, self._pattern(root)
        if not move:
            return 0
        if pattern is not None:
            vector = (pattern.offsets[-1] - pattern.offsets[0]) * self.lanes.width // (self.lanes.width - 1)
            if vector * size <= FETCHED:
                return vector
        return max(move, LINE // size) if move > 0 else min(move, -LINE // size)

    def _joined(self, type: str, vectors: list[str], length: int) -> str:
        """The elements of short vectors, one after the other."""
        while len(vectors) > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [self.shuffle(type, length, a, b, range(2 * length)) for a, b in pairs]
            length *= 2
        return vectors[0]

    # ── stores ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def store(self, buffer: Buffer, index: Expr, value: Expr) -> None:
        """Write the elements of the active lanes."""
        given, pattern = self.vector(value), self._pattern(index)
        if pattern is not None and self._store_near(buffer, index, given, pattern):
            return
        if not (self.lanes.may_be_adjacent(index) or self.lanes.may_wrap(index)):
            self._scatter(buffer, self._each(buffer, index), given)
            return
        out = self._out
        adjacent, apart, behind = (out.name(stem) for stem in ("adjacent", "apart", "behind"))
        is_adjacent, base = self._adjacent(buffer, index)
        pointers = self._each(buffer, index)
        out.branch(is_adjacent, adjacent, apart)
        out.open(adjacent)
        self._store_at(buffer, base, given)
        out.jump(behind)
        out.open(apart)
        self._scatter(buffer, pointers, given)
        out.open(behind)

    def _scatter(self, buffer: Buffer, pointers: str, given: str) -> None:
        t, width = self.type(buffer.dtype), self.lanes.width
        name = f"@llvm.masked.scatter.v{width}{_suffix(buffer.dtype)}.v{width}p0"
        places = f"<{width} x ptr> align {buffer.dtype.size} {pointers}"
        every = f"{self.condition_type} {self.active(self.mask) if self.mask else 'splat (i1 true)'}"
        self._out.add(f"call void {name}({t} {given}, {places}, {every})")

    def _store_at(self, buffer: Buffer, base: str, given: str, *, is_own: bool = False) -> None:
        """Adjacent elements; `is_own`: elements of lanes that are not active may be written as they are.

        Masked stores of AVX2 are slow on Zen 3, so a whole vector takes a plain one. Those of small elements are a
        branch for each lane.
        """
        vector, width, size = self.type(buffer.dtype), self.lanes.width, buffer.dtype.size
        place = f"ptr {base}, align {size}"
        if self.mask is None:
            if buffer in self._past_caches:
                place = f"ptr {base}, align {LINE}, !nontemporal {NONTEMPORAL}"
            self._out.add(f"store {vector} {given}, {place}")
            return
        name = f"@llvm.masked.store.v{width}{_suffix(buffer.dtype)}.p0"
        is_active = self.active(self.mask)
        mask = f"{self.condition_type} {self._unknown(is_active)}"
        masked = f"call void {name}({vector} {given}, ptr align {size} {base}, {mask})"
        if self._vectors.mask_registers:
            self._out.add(masked)
            return
        whole, part, behind = (self._out.name(stem) for stem in ("whole", "part", "behind"))
        self._out.branch(self.every(is_active), whole, part)
        self._out.open(whole)
        self._out.add(f"store {vector} {given}, {place}")
        self._out.jump(behind)
        self._out.open(part)
        if is_own:
            old = self._loaded(buffer, base, None)
            blended = self._out.value(f"select {mask}, {vector} {given}, {vector} {old}")
            self._out.add(f"store {vector} {blended}, {place}")
        else:
            self._out.add(masked)
        self._out.open(behind)

    def _unknown(self, condition: str) -> str:
        """The condition, of which LLVM does not know the lanes.

        For AVX-512, LLVM 22 stores the whole element that is truncated if one lane is active and it knows which.
        """
        if not self._vectors.mask_registers:
            return condition
        bit = self._out.value(f"trunc i64 {self._out.every_bit()} to i1")
        return self._out.value(f"and {self.condition_type} {condition}, {self.splat(bit, bool_)}")

    def _store_near(self, buffer: Buffer, index: Expr, given: str, pattern: Pattern) -> bool:
        """Elements that are side by side, in any order; or near, in memory that no other thread sees."""
        t, width = TYPES[buffer.dtype], self.lanes.width
        places = self._relative(pattern)
        if places == tuple(range(width)):
            is_own = self._is_own_block(buffer, pattern)
            self._store_at(buffer, self._base(buffer, index), given, is_own=is_own)
            return True
        window = self._window(buffer, pattern)
        if self.mask is not None or window is None:
            return False
        low, span, align = window
        lane_of = {place - low: lane for lane, place in enumerate(places)}
        if buffer.memory is not Memory.PRIVATE and len(lane_of) < span:
            return False
        address = self._beside(buffer, self._base(buffer, index), low)
        wide = self.shuffle(t, width, given, "poison", [lane_of.get(n, -1) for n in range(span)])
        if len(lane_of) == span:
            self._out.add(f"store <{span} x {t}> {wide}, ptr {address}, align {align}")
            return True
        old = self._out.value(f"load <{span} x {t}>, ptr {address}, align {align}")
        new = self.shuffle(t, span, old, wide, [span + n if n in lane_of else n for n in range(span)])
        self._out.add(f"store <{span} x {t}> {new}, ptr {address}, align {align}")
        return True

    def store_rows(self, buffer: Buffer, root: Expr, values: Mapping[int, str]) -> None:
        """Write a row of each lane: the elements of `values` at their distances from the index `root`."""
        t, length, size = TYPES[buffer.dtype], len(values), buffer.dtype.size
        columns = [values[distance] for distance in sorted(values)]
        turned = Transposition(self.lanes.width, length, size)
        rows = turned.rows(columns, partial(self.shuffle, t, self.lanes.width))
        for (vector, part), place in zip(rows, self._rows_at(buffer, root), strict=True):
            row = self.shuffle(t, self.lanes.width, vector, "poison", part)
            address = self._beside(buffer, place, min(values))
            self._out.add(f"store <{length} x {t}> {row}, ptr {address}, align {size}")

    def store_interleaved(self, buffer: Buffer, root: Expr, values: Mapping[int, str]) -> None:
        """Write adjacent elements: those of `values` at their distances from `root`, lane after lane."""
        t, width, count = TYPES[buffer.dtype], self.lanes.width, len(values)
        columns = [values[distance] for distance in sorted(values)]
        columns += ["poison"] * ((1 << (count - 1).bit_length()) - count)
        vector, length = self._joined(t, columns, width), width * len(columns)
        places = [width * column + lane for lane in range(width) for column in range(count)]
        row = self.shuffle(t, length, vector, "poison", places)
        address = self._beside(buffer, self._base(buffer, root), min(values))
        self._out.add(f"store <{len(places)} x {t}> {row}, ptr {address}, align {buffer.dtype.size}")


def _suffix(dtype: DType) -> str:
    """How the names of intrinsics end."""
    return f"f{dtype.bits}" if dtype.is_float else TYPES[dtype]


def _stride(index: Expr, counter: Local) -> Expr | None:
    """The factor of a counter in a sum of u64, if it is no literal."""
    match index:
        case Apply(op, (a, b)) if op.id == "add" and index.dtype is u64:
            return _stride(a, counter) or _stride(b, counter)
        case Apply(op, (a, b)) if op.id == "mul" and index.dtype is u64:
            counts = (counter, Cast(u64, counter))
            other = b if a in counts else a if b in counts else None
            return None if other is None or isinstance(other, Literal) else other
        case _:
            return None
