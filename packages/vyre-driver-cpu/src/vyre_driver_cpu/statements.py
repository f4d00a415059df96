"""StatementPrinter as blocks of LLVM IR, for one value at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vyre_driver.codegen.known import KnownValues
from vyre_driver.codegen.placement import Life, place
from vyre_driver.legalization.lowered import RARE
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.function import OFTEN, FunctionText
from vyre_driver_cpu.loops import (
    COPIES,
    changes_in_place,
    chunk_of,
    combines,
    is_better_unrolled,
    is_printed_twice,
    is_short,
    is_stream,
    looks_up,
)
from vyre_driver_cpu.spelling import ATOMIC_STORE, TYPES, Spellings
from vyre_driver_cpu.values import FunctionScope, OperandValues
from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.interrupt import visited
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Return,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from vyre_foundation.ir.walk import statements

ROLLED, UNROLLED, STREAMED, BY_FOUR, IN_PLACE, SCALAR = "!0", "!3", "!5", "!7", "!11", "!13"
"""The advice for loops that are not worth much of the compiler's time, that are written out, that memory limits, that
are written out four iterations at a time, whose invocations change memory that they load other elements of, and that
are written out four iterations at a time without vectors."""


ASK_HOST = """\
define internal preserve_mostcc i32 @ask_host(ptr %stop) noinline cold nounwind {
entry:
  %word = load atomic i32, ptr %stop monotonic, align 4
  %goes.on = icmp eq i32 %word, 0
  br i1 %goes.on, label %look, label %end
look:
  %host.at = getelementptr inbounds i8, ptr %stop, i64 4
  %host = load ptr, ptr %host.at, align 8
  %is.there = icmp ne ptr %host, null
  br i1 %is.there, label %call, label %end
call:
  %function = load ptr, ptr %host, align 8
  %answer = call i32 %function(ptr %host)
  br label %end
end:
  %result = phi i32 [ %word, %entry ], [ 0, %look ], [ %answer, %call ]
  ret i32 %result
}
"""
"""Whether to end: the launch is cancelled, or the host says so, whose thread runs the kernel.

It saves the registers that it uses, so that loops need not keep their values in memory for a call that seldom comes.
"""


def ask(out: FunctionText, otherwise: str) -> None:
    """End the function if the launch is cancelled, and go on at `otherwise`."""
    _end_unless(out, out.value("load atomic i32, ptr %stop monotonic, align 4"), otherwise)


def ask_host(out: FunctionText, otherwise: str) -> None:
    """The same; the host may decide that it ends. For the end of a chunk."""
    out.asks_host = True
    _end_unless(out, out.value("call preserve_mostcc i32 @ask_host(ptr %stop)"), otherwise)


def _end_unless(out: FunctionText, answer: str, otherwise: str) -> None:
    out.branch(out.value(f"icmp eq i32 {answer}, 0"), otherwise, "done", OFTEN)
    out.open(otherwise)


VERSIONS = "unchecked", "checked"
"""What the blocks of a region that is written twice are called."""


class Chunks:
    """A countdown in a loop: every `size` iterations, `ask` prints the question whether the launch is to end."""

    def __init__(self, out: FunctionText, size: int) -> None:
        self._out, self._size = out, min(size, (1 << 32) - 1)
        self._left = out.reserve("i32")
        self._begin()

    def ask(self) -> None:
        """Count an iteration, and ask where none is left."""
        out = self._out
        end, later = out.name("end"), out.name("later")
        left = out.value(f"load i32, ptr {self._left}")
        out.branch(out.value(f"icmp ne i32 {left}, 0"), later, end)
        out.open(end)
        ask_host(out, out.name("asked"))
        self._begin()
        out.open(later)
        left = out.value(f"load i32, ptr {self._left}")
        out.add(f"store i32 {out.value(f'sub i32 {left}, 1')}, ptr {self._left}")

    def _begin(self) -> None:
        self._out.add(f"store i32 {self._size}, ptr {self._left}")


class Counting:
    """``for counter = start; …; counter += step``: between `open` and `test` is what decides, then the body."""

    def __init__(self, out: FunctionText, type: str, sign: str, start: str, step: int) -> None:
        self._out, self._type, self._sign, self._start, self._step = out, type, sign, start, step
        self._head, self._body, self._latch, self._behind = (out.name(s) for s in ("head", "round", "latch", "behind"))
        self._counter, self._next = f"%{out.name('counter')}", f"%{out.name('next')}"

    def open(self) -> str:
        """Begin an iteration: the counter."""
        before = self._out.block
        self._out.open(self._head)
        sources = f"[ {self._start}, %{before} ], [ {self._next}, %{self._latch} ]"
        self._out.add(f"{self._counter} = phi {self._type} {sources}")
        return self._counter

    def test(self, condition: str) -> None:
        """Leave unless `condition` holds."""
        self._out.branch(condition, self._body, self._behind)
        self._out.open(self._body)

    def close(self, advice: str = "") -> None:
        """End an iteration; what comes next is behind the loop."""
        out = self._out
        out.open(self._latch)
        out.add(f"{self._next} = add n{self._sign}w {self._type} {self._counter}, {self._step}")
        out.jump(self._head, f", !llvm.loop {advice}" if advice else "")
        out.open(self._behind)


class StatementPrinter:
    """Prints the statements of one function; `symbols` gets its immutable locals.

    One that `asks` ends where the word at ``%stop`` is not 0. `private` has, by the names of buffers, a condition under
    which no other thread accesses that buffer, and the number of elements from one copy of it to the next. `vectorize`
    prints a loop over invocations as vectors, or says that it cannot.
    """

    def __init__(
        self,
        out: FunctionText,
        program: Program,
        spellings: Spellings,
        arrays: Mapping[str, str],
        symbols: dict[Expr, str],
        functions: Mapping[CallForm, str],
        *,
        asks: bool = False,
        private: Mapping[str, tuple[str, str]] | None = None,
        vectorize: Callable[[StatementPrinter, For], bool] = lambda statements, loop: False,
    ) -> None:
        placement = place(program)
        lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        bounds = UpperBounds(lets, (s for s in statements(program.body) if isinstance(s, For)))
        known: KnownValues[str] = KnownValues(placement)
        scope = FunctionScope(out, spellings, placement, arrays, symbols, {}, lets, functions, known, bounds)
        self.mutable = frozenset(s.name for s in statements(program.body) if isinstance(s, Var))
        self.asks, self.private, self._vectorize = asks, private or {}, vectorize
        self.vectorized: list[int] = []
        """Operations of each loop over invocations that is printed as vectors."""
        self.left_to_llvm = 0
        """Loops over invocations that are innermost, and printed for one of them."""
        self.streams = 0
        """Those of them that memory limits."""
        self.number = 0
        """How many statements stand before the present place."""
        self._rare = 0
        self._of_invocations = 0
        """How many loops over invocations are around the present place."""
        self._times = 1
        """How often the present place is reached at most in one call of the function."""
        self._copy = ""
        """The number of the copies of buffers that are used at the present place; empty for the first."""
        self._loops: list[tuple[str, str]] = []
        """The latch and the end of each loop around the present place."""
        self._use(scope, OperandValues(scope))

    @property
    def is_rare(self) -> bool:
        """Whether what is printed seldom runs."""
        return self._rare > 0

    def _use(self, scope: FunctionScope, values: OperandValues) -> None:
        self.scope, self.values, self._out = scope, values, scope.out

    def body(self, body: Body) -> None:
        """Print statements in order."""
        for position, stmt in enumerate(body):
            visited()
            self._early_values()
            self._stmt(stmt)
            if isinstance(stmt, (Break, Continue, Return)):  # nothing behind it is reached
                self.number += sum(1 for _ in statements(body[position + 1 :]))
                return

    def _early_values(self) -> None:
        """What is computed before the next statement."""
        for node in self.scope.placement.early.get(self.number, ()):
            self.values.operand(node)
        self.number += 1

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let(name, value):
                self.scope.symbols[Local(name, value.dtype)] = self.values.operand(value)
            case Var(name, value):
                self.scope.variables[name] = self._out.reserve(TYPES[value.dtype])
                self._assign(name, value)
            case Assign(name, value):
                self._assign(name, value)
                self.values.forget(Life.UNTIL_ASSIGN)
            case Store(buffer, index, value):
                given = self.values.operand(value)
                address = self.values.address(buffer, index)
                self._out.add(f"store {TYPES[buffer.dtype]} {given}, ptr {address}, align {buffer.dtype.size}")
                self.values.forget(Life.UNTIL_WRITE)
            case Atomic():
                self._atomic(stmt)
            case If():
                self._if(stmt)
            case For():
                self._for(stmt)
            case Region(label, body):
                self._rare += label == RARE
                self.body(body)
                self._rare -= label == RARE
            case Break():
                self._out.jump(self._loops[-1][1])
            case Continue():
                self._out.jump(self._loops[-1][0])
            case Return():
                self._out.jump("done")
            case _:
                raise AssertionError(f"legalization leaves no {type(stmt).__name__} for this target")

    def _assign(self, name: str, value: Expr) -> None:
        given = self.values.operand(value)
        self._out.add(f"store {TYPES[value.dtype]} {given}, ptr {self.scope.variables[name]}")

    def _atomic(self, stmt: Atomic) -> None:
        operands = [self.values.operand(x) for x in (stmt.value, stmt.expected) if x is not None]
        old = self.atomically(stmt, self.values.address(stmt.buffer, stmt.index), operands)
        if stmt.result is not None:
            self.scope.symbols[Local(stmt.result, stmt.buffer.dtype)] = old
        self.values.forget(Life.UNTIL_WRITE)

    def atomically(self, stmt: Atomic, address: str, operands: Sequence[str]) -> str:
        """One atomic, and its old value if that is used."""
        dtype = stmt.buffer.dtype
        if stmt.op is AtomicOp.EXCHANGE and stmt.result is None:
            store = ATOMIC_STORE.format(type=TYPES[dtype], value=operands[0], address=address, size=dtype.size)
            self._out.add(store)
            return ""
        if stmt.buffer.name in self.private:
            self._combine(stmt, address, operands)
            return ""
        return self._out.spelled(self.scope.spellings.atomics[stmt.op, dtype], (address, *operands))

    def _combine(self, stmt: Atomic, address: str, operands: Sequence[str]) -> None:
        """An atomic without a result on a buffer that may be private."""
        out, dtype, spellings = self._out, stmt.buffer.dtype, self.scope.spellings
        alone, shared, behind = out.name("alone"), out.name("shared"), out.name("behind")
        is_own, stride = self.private[stmt.buffer.name]
        out.branch(is_own, alone, shared)
        out.open(alone)
        place = address
        if self._copy:
            elements = out.value(f"mul i64 {self._copy}, {stride}")
            place = out.value(f"getelementptr {TYPES[dtype]}, ptr {address}, i64 {elements}")
        old = out.value(f"load {TYPES[dtype]}, ptr {place}, align {dtype.size}")
        value = out.spelled(spellings.combination(stmt.op, dtype), (old, *operands))
        out.add(f"store {TYPES[dtype]} {value}, ptr {place}, align {dtype.size}")
        out.jump(behind)
        out.open(shared)
        out.spelled(spellings.atomics[stmt.op, dtype], (address, *operands))
        out.open(behind)

    def _if(self, stmt: If) -> None:
        out = self._out
        names, advice = (VERSIONS, OFTEN) if _is_versioned(stmt) else (("then", "else"), "")
        then, orelse, behind = *map(out.name, names), out.name("behind")
        out.branch(self.values.operand(stmt.condition), then, orelse if stmt.orelse else behind, advice)
        out.open(then)
        self._block(stmt.then)
        if stmt.orelse:
            if out.is_open:
                out.jump(behind)
            out.open(orelse)
            self._block(stmt.orelse)
        out.open(behind)

    def _for(self, stmt: For) -> None:
        """The end is evaluated before the loop. Legalization has proven that the counter does not overflow."""
        if not (stmt.is_parallel and self._vectorize(self, stmt)):
            self.loop(stmt, self.values.operand(stmt.start), self.values.operand(stmt.stop))

    def loop(self, stmt: For, start: str, stop: str) -> None:
        """A loop from `start` to `stop` for LLVM."""
        if stmt.is_parallel and not self._rare:
            self.streams += is_stream(stmt)
            self.left_to_llvm += not any(isinstance(s, For) and s.is_parallel for s in statements(stmt.body))
        behind, chunk = self._out.name("behind"), chunk_of(stmt) if self.asks else None
        if chunk is None:
            self._iterations(stmt, start, stop, behind, behind, self._advice(stmt))
        else:
            self._chunks(stmt, start, stop, chunk * stmt.step, behind)
        self._out.open(behind)

    def one_by_one(self, loop: For, start: str, stop: str) -> None:
        """The last iterations of a loop, which are few."""
        behind = self._out.name("behind")
        self._rare += 1
        self._iterations(loop, start, stop, behind, behind, ROLLED)
        self._rare -= 1
        self._out.open(behind)

    def once(self, loop: For) -> None:
        """The only iteration of a loop."""
        self.scope.symbols[Local(loop.name, loop.start.dtype)] = self.values.operand(loop.start)
        self._block(loop.body)

    def _iterations(self, stmt: For, start: str, stop: str, end: str, behind: str, advice: str) -> str:
        """The loop from `start` to `stop`, which goes to `end` then, and by a break to `behind`: its counter."""
        out, dtype = self._out, stmt.start.dtype
        t = TYPES[dtype]
        head, body, latch = (out.name(stem) for stem in ("head", "round", "latch"))
        counter, next = f"%{out.name('counter')}", f"%{out.name('next')}"
        before = out.block
        out.open(head)
        out.add(f"{counter} = phi {t} [ {start}, %{before} ], [ {next}, %{latch} ]")
        out.branch(out.value(f"icmp {sign_of(dtype)}lt {t} {counter}, {stop}"), body, end)
        out.open(body)
        self.scope.symbols[Local(stmt.name, dtype)] = counter
        self._loops.append((latch, behind))
        self._of_invocations += stmt.is_parallel
        times, self._times = self._times, self.times_in(stmt)
        copy, self._copy = self._copy, self._copy_in(counter, t) if advice == SCALAR else ""
        first = len(out.lines)
        self._block(stmt.body)
        if advice == IN_PLACE:
            out.independent(first)
        self._of_invocations -= stmt.is_parallel
        self._times, self._copy = times, copy
        self._loops.pop()
        out.open(latch)
        out.add(f"{next} = add n{sign_of(dtype)}w {t} {counter}, {stmt.step}")
        out.jump(head, f", !llvm.loop {advice}" if advice else "")
        return counter

    def _chunks(self, stmt: For, start: str, stop: str, chunk: int, behind: str) -> None:
        """The loop in parts, and between them the question whether the launch is cancelled.

        It asks after `chunk` iterations, counted over all executions of the loop: to ask takes as long as some
        iterations, too long for each execution of a short loop. The count is kept in memory, not in a register that
        the loop needs. An execution is not counted if it is so short that those of a whole workgroup have `chunk`
        iterations at most. Where many executions may be so short, they have a loop of their own, without a limit.
        """
        out, dtype = self._out, stmt.start.dtype
        t, sign = TYPES[dtype], sign_of(dtype)
        uncounted = chunk // self._times
        if uncounted and not self._rare and is_printed_twice(stmt):
            self._short_execution(stmt, start, stop, uncounted, behind)
            uncounted = 0
        head, part, end, full, later = (out.name(stem) for stem in ("head", "part", "end", "full", "later"))
        first, before = f"%{out.name('first')}", out.block
        last = f"%{out.name('counter')}"
        size = str(chunk) if chunk <= dtype.highest else "-1"  # all of what the type can count
        left = out.reserve(t, initial=size)
        out.open(head)
        out.add(f"{first} = phi {t} [ {start}, %{before} ], [ {last}, %{later} ]")
        out.branch(out.value(f"icmp {sign}lt {t} {first}, {stop}"), part, behind)
        out.open(part)
        rest = out.value(f"sub {t} {stop}, {first}")  # a number without a sign, whatever the type
        if uncounted:
            count, begin = out.name("count"), out.name("begin")
            out.branch(out.value(f"icmp ule {t} {rest}, {uncounted}"), begin, count)
            out.open(count)
        free = out.value(f"load volatile {t}, ptr {left}")
        unused = out.value(f"call {t} @llvm.usub.sat.{t}({t} {free}, {t} {rest})")
        out.add(f"store volatile {t} {unused}, ptr {left}")
        is_last = out.value(f"icmp ule {t} {rest}, {free}")
        limit = out.value(f"select i1 {is_last}, {t} {stop}, {t} {out.value(f'add {t} {first}, {free}')}")
        if uncounted:
            out.open(begin)
            limit = out.value(f"phi {t} [ {stop}, %{part} ], [ {limit}, %{count} ]")
        advice = ROLLED if self._rare else ""  # LLVM knows no number of iterations, and warns of such advice
        counter = self._iterations(stmt, first, limit, end, behind, advice)
        out.open(end)
        out.branch(out.value(f"icmp eq {t} {limit}, {stop}"), behind, full)
        out.open(full)
        ask_host(out, later)
        out.add(f"store volatile {t} {size}, ptr {left}")
        out.add(f"{last} = add {t} {counter}, 0")
        out.jump(head)

    def _short_execution(self, stmt: For, start: str, stop: str, most: int, behind: str) -> None:
        """A loop of at most `most` iterations, which goes to `behind`; what comes next is for others."""
        out, t, number = self._out, TYPES[stmt.start.dtype], self.number
        some, short, long = (out.name(stem) for stem in ("some", "short", "long"))
        out.branch(out.value(f"icmp {sign_of(stmt.start.dtype)}lt {t} {start}, {stop}"), some, behind)
        out.open(some)
        distance = out.value(f"sub {t} {stop}, {start}")
        out.branch(out.value(f"icmp ule {t} {distance}, {most}"), short, long, OFTEN)
        out.open(short)
        self._iterations(stmt, start, stop, behind, behind, "")
        self.number = number
        out.open(long)

    def _copy_in(self, counter: str, type: str) -> str:
        """The copy for an iteration of a loop that is unrolled `COPIES` times: a constant in each of these."""
        if not self.private:
            return ""
        number = self._out.value(f"and {type} {counter}, {COPIES - 1}")
        return number if type == "i64" else self._out.value(f"zext {type} {number} to i64")

    def times_in(self, loop: For) -> int:
        """How often the body of a loop at the present place runs at most in one call of the function, or 1."""
        trips, dtype = loop.trip_count, loop.start.dtype
        if trips is None:
            trips = dtype.highest if dtype.is_signed else self.scope.bounds.of(loop.stop)
        return self._times * max(1, trips)

    def _advice(self, loop: For) -> str:
        """What LLVM is told about a loop; by itself it makes vectors, and unrolls nothing."""
        if self._rare:
            return ROLLED
        if is_better_unrolled(loop):
            return UNROLLED if self._of_invocations or is_short(loop) else BY_FOUR
        if combines(loop) or (looks_up(loop) and not self.scope.spellings.gathers):
            return SCALAR
        if changes_in_place(loop):
            return IN_PLACE
        return STREAMED if is_stream(loop) else ""

    def _block(self, body: Body) -> None:
        self.scope.known.enter()
        self.body(body)
        self.scope.known.leave()


def _is_versioned(stmt: If) -> bool:
    """Whether a branch chooses between the versions of a region."""
    return len(stmt.orelse) == 1 and isinstance(stmt.orelse[0], Region) and stmt.orelse[0].label == RARE


def sign_of(dtype: DType) -> str:
    """The letter of instructions that compare or count integers of a type."""
    return "s" if dtype.is_signed else "u"
