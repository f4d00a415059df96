"""Legalized kernels as LLVM IR: a function that runs some workgroups of a launch, one after the other.

::

    define void @kernel_0(ptr %args, ptr %grid, i64 %begin, i64 %end)
    define void @kernel_0_whole(ptr %launch)

`args` are slots of eight bytes: the addresses of the bound buffers in argument order, then the lengths. `grid` has the
number of workgroups on x, y and z as u32, and the word that is not 0 once the launch is cancelled. `begin` and `end`
count workgroups, x fastest. `launch` holds the addresses of the arguments and the grid, and the number of workgroups:
all of them run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from vyre_driver.codegen.placement import Life, place
from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.lowered import RARE, Kernel, Lowered, LoweredFunction
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver_cpu.function import FunctionText
from vyre_driver_cpu.literals import operand_of
from vyre_driver_cpu.loops import chunk_of, is_better_unrolled
from vyre_driver_cpu.spelling import ATOMIC_STORE, TYPES, Spellings
from vyre_driver_cpu.values import OperandValues
from vyre_foundation.dtype import DType, f16, f32, f64, u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Length, Literal, Local
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

LINE = 64
"""Bytes of a line of the cache, to which private arrays are aligned."""
SLOT = 8
"""Bytes of an argument."""
STOP = 3
"""The place of the word in the grid that cancels a launch."""
AXES = "xyz"
ROLLED, UNROLLED = "!0", "!3"
"""The advice for loops that are not worth much of the compiler's time, and for loops that are written out."""
_WHOLE = """\
define void @{name}_whole(ptr %launch) nounwind {{
  %args = load ptr, ptr %launch
  %grid.at = getelementptr inbounds i8, ptr %launch, i64 8
  %grid = load ptr, ptr %grid.at
  %total.at = getelementptr inbounds i8, ptr %launch, i64 16
  %total = load i64, ptr %total.at
  call void @{name}(ptr %args, ptr %grid, i64 0, i64 %total)
  ret void
}}
"""
"""How Python calls a kernel: with one argument, which takes a third of the time of four."""
_ADVICE = (
    f"{ROLLED} = distinct !{{{ROLLED}, !1, !2}}",
    '!1 = !{!"llvm.loop.vectorize.enable", i1 false}',
    '!2 = !{!"llvm.loop.unroll.disable"}',
    f"{UNROLLED} = distinct !{{{UNROLLED}, !4}}",
    '!4 = !{!"llvm.loop.unroll.full"}',
    "",
)


def print_module(lowered: Lowered, spellings: Spellings) -> tuple[str, tuple[str, ...]]:
    """The text of all kernels of `lowered`, and the names of their functions."""
    lines = [f"@nan_{t} = global {TYPES[t]} {operand_of(Literal(t, t.nan_bits))}" for t in (f16, f32, f64)]
    functions = {form: f"call_{n}" for n, form in enumerate(sorted(lowered.functions, key=lambda form: form.symbol))}
    for form, name in functions.items():
        lines += _function(name, lowered.functions[form], spellings)
    tables: dict[Buffer, str] = {}
    names = tuple(f"kernel_{n}" for n in range(len(lowered.kernels)))
    for kernel in lowered.kernels:
        for buffer in kernel.program.buffers:
            if buffer.memory is Memory.CONSTANT and buffer not in tables:
                tables[buffer] = f"@table_{len(tables)}"
                lines.append(_table(buffer, tables[buffer]))
    for name, kernel in zip(names, lowered.kernels, strict=True):
        lines += _KernelPrinter(name, kernel, spellings, tables, functions).text()
    lines += _ADVICE
    return "\n".join(lines), names


def _table(buffer: Buffer, name: str) -> str:
    """Constant memory as bytes; an empty table has one, so that it has an address."""
    data = buffer.data or b"\0"
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{text}", align {LINE}'


def _function(name: str, function: LoweredFunction, spellings: Spellings) -> Iterator[str]:
    """What rare calls call. It is not inlined: then no vector computes it for lanes that do not take it."""
    out = FunctionText()
    symbols: dict[Expr, str] = {p: f"%x{n}" for n, p in enumerate(function.parameters)}
    statements = _Statements(out, function.program, spellings, {}, symbols, {})
    statements.body(function.program.body)
    result = function.result
    out.add(f"ret {TYPES[result.dtype]} {symbols[result]}")
    parameters = ", ".join(f"{TYPES[p.dtype]} {symbols[p]}" for p in function.parameters)
    yield f"define internal {TYPES[result.dtype]} @{name}({parameters}) noinline nounwind {{"
    yield from out.text()
    yield "}"


class _KernelPrinter:
    def __init__(
        self,
        name: str,
        kernel: Kernel,
        spellings: Spellings,
        tables: Mapping[Buffer, str],
        functions: Mapping[CallForm, str],
    ) -> None:
        self._name, self._program, self._lengths = name, kernel.program, kernel.lengths
        self._spellings, self._tables, self._functions = spellings, tables, functions
        self._bound = [b for b in kernel.program.buffers if b.binding is not None]
        self._volume = kernel.program.workgroup_volume

    def text(self) -> Iterator[str]:
        yield from self._invocation()
        yield from self._entry()
        yield from _WHOLE.format(name=self._name).splitlines()

    def _parameters(self) -> Iterator[tuple[str, str, str]]:
        """Type, attributes and name of what an invocation gets from its launch."""
        for n, buffer in enumerate(self._bound):
            readonly = "" if buffer.access.writes else " readonly"
            yield "ptr", f" noalias{readonly} align {max(buffer.dtype.size, 1)}", f"%b{n}"
        for n, _ in enumerate(self._lengths):
            yield "i32", "", f"%n{n}"
        yield "ptr", "", "%stop"
        for what in ("groups", "group", *(("local",) if self._volume > 1 else ())):
            for axis in AXES:
                yield "i32", "", f"%{what}_{axis}"

    def _invocation(self) -> Iterator[str]:
        """The function of the program's body: a workgroup, or an invocation of one."""
        program, out = self._program, FunctionText()
        if self._volume == 1:
            ask(out, "asked")
        arrays = {b.name: f"%b{n}" for n, b in enumerate(self._bound)}
        symbols: dict[Expr, str] = {Length(program.buffer(name)): f"%n{n}" for n, name in enumerate(self._lengths)}
        unseen = dead_initialisations(program)
        for buffer in program.buffers:
            if buffer.memory is Memory.CONSTANT:
                arrays[buffer.name] = self._tables[buffer]
            elif buffer.memory in (Memory.PRIVATE, Memory.WORKGROUP):
                arrays[buffer.name] = _own_array(out, buffer, is_zero=buffer not in unseen)
        for axis, letter in enumerate(AXES):
            group, size = f"%group_{letter}", program.workgroup_size[axis]
            symbols[Id(IdKind.WORKGROUP_ID, axis)] = group
            symbols[Id(IdKind.NUM_WORKGROUPS, axis)] = f"%groups_{letter}"
            symbols[Id(IdKind.LOCAL_ID, axis)] = f"%local_{letter}" if self._volume > 1 else "0"
            symbols[Id(IdKind.GLOBAL_ID, axis)] = group
            if self._volume > 1:
                first = out.value(f"mul i32 {group}, {size}")
                symbols[Id(IdKind.GLOBAL_ID, axis)] = out.value(f"add i32 {first}, %local_{letter}")
        _Statements(out, program, self._spellings, arrays, symbols, self._functions, asks=True).body(program.body)
        out.jump("done")
        out.open("done")
        out.add("ret void")
        parameters = ", ".join(f"{type}{attributes} {name}" for type, attributes, name in self._parameters())
        yield f"define internal void @{self._name}_body({parameters}) nounwind {{"
        yield from out.text()
        yield "}"

    def _entry(self) -> Iterator[str]:
        """The loop over workgroups, and over the invocations of each where those are no loops of the body."""
        out, arguments = FunctionText(), list[str]()
        for slot, (type, _, _) in enumerate(self._parameters()):
            if slot < len(self._bound) + len(self._lengths):
                place = out.value(f"getelementptr inbounds i8, ptr %args, i64 {SLOT * slot}")
                arguments.append(f"{type} {out.value(f'load {type}, ptr {place}, align {SLOT}')}")
        groups = []
        for axis in range(3):
            place = out.value(f"getelementptr inbounds i8, ptr %grid, i64 {u32.size * axis}")
            groups.append(out.value(f"load i32, ptr {place}, align {u32.size}"))
        wide = [out.value(f"zext i32 {count} to i64") for count in groups[:2]]
        arguments.append(f"ptr {out.value(f'getelementptr inbounds i8, ptr %grid, i64 {u32.size * STOP}')}")
        arguments += [f"i32 {count}" for count in groups]
        with _Loop(out, "i64", "%begin", "%end") as number:
            row, x = out.value(f"udiv i64 {number}, {wide[0]}"), out.value(f"urem i64 {number}, {wide[0]}")
            z, y = out.value(f"udiv i64 {row}, {wide[1]}"), out.value(f"urem i64 {row}, {wide[1]}")
            arguments += [f"i32 {out.value(f'trunc i64 {id} to i32')}" for id in (x, y, z)]
            if self._volume == 1:
                out.add(f"call void @{self._name}_body({', '.join(arguments)})")
            else:
                sx, sy, sz = self._program.workgroup_size
                loop = partial(_Loop, out, "i32", "0")
                with loop(str(sz)) as lz, loop(str(sy)) as ly, loop(str(sx)) as lx:
                    all = [*arguments, f"i32 {lx}", f"i32 {ly}", f"i32 {lz}"]
                    out.add(f"call void @{self._name}_body({', '.join(all)})")
        out.add("ret void")
        yield f"define void @{self._name}(ptr %args, ptr %grid, i64 %begin, i64 %end) nounwind {{"
        yield from out.text()
        yield "}"


def ask(out: FunctionText, otherwise: str) -> None:
    """End the function if the launch is cancelled, and go on at `otherwise`."""
    flag = out.value("load atomic i32, ptr %stop monotonic, align 4")
    out.branch(out.value(f"icmp eq i32 {flag}, 0"), otherwise, "done")
    out.open(otherwise)


class _Loop:
    """``for counter in [first, end)``, around what is printed in it; the counter is its value."""

    def __init__(self, out: FunctionText, type: str, first: str, end: str) -> None:
        self._out, self._type, self._first, self._end = out, type, first, end

    def __enter__(self) -> str:
        out, t = self._out, self._type
        self._head, body, self._latch, self._behind = (out.name(s) for s in ("head", "round", "latch", "behind"))
        self._next, counter = f"%{out.name('next')}", f"%{out.name('counter')}"
        before = out.block
        out.open(self._head)
        out.add(f"{counter} = phi {t} [ {self._first}, %{before} ], [ {self._next}, %{self._latch} ]")
        out.branch(out.value(f"icmp ult {t} {counter}, {self._end}"), body, self._behind)
        out.open(body)
        self._counter = counter
        return counter

    def __exit__(self, *error: object) -> None:
        out = self._out
        out.open(self._latch)
        out.add(f"{self._next} = add nuw {self._type} {self._counter}, 1")
        out.jump(self._head)
        out.open(self._behind)


def _own_array(out: FunctionText, buffer: Buffer, *, is_zero: bool) -> str:
    """Memory of one workgroup or invocation, on the stack; a private array begins as zeros."""
    assert isinstance(buffer.count, int)
    count = max(1, buffer.count)
    address = out.reserve(TYPES[buffer.dtype], count, LINE)
    if buffer.memory is Memory.PRIVATE and is_zero:
        size = count * buffer.dtype.size
        out.add(f"call void @llvm.memset.p0.i64(ptr align {LINE} {address}, i8 0, i64 {size}, i1 false)")
    return address


class _Statements:
    """Prints the statements of one function; `symbols` gets its immutable locals.

    One that `asks` ends where the word at ``%stop`` is not 0.
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
    ) -> None:
        self._out, self._symbols, self._spellings, self._asks = out, symbols, spellings, asks
        self._variables: dict[str, str] = {}
        placement = place(program)
        lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        self._early = placement.early
        self._number = 0
        self._rare = 0
        self._loops: list[tuple[str, str]] = []
        """The latch and the end of each loop around the present place."""
        self._values = OperandValues(out, spellings, placement, arrays, symbols, self._variables, lets, functions)

    def body(self, body: Body) -> None:
        for position, stmt in enumerate(body):
            visited()
            for node in self._early.get(self._number, ()):
                self._values.operand(node)
            self._number += 1
            self._stmt(stmt)
            if isinstance(stmt, (Break, Continue, Return)):  # nothing behind it is reached
                self._number += sum(1 for _ in statements(body[position + 1 :]))
                return

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let(name, value):
                self._symbols[Local(name, value.dtype)] = self._values.operand(value)
            case Var(name, value):
                self._variables[name] = self._out.reserve(TYPES[value.dtype])
                self._assign(name, value)
            case Assign(name, value):
                self._assign(name, value)
                self._values.forget(Life.UNTIL_ASSIGN)
            case Store(buffer, index, value):
                given = self._values.operand(value)
                address = self._values.address(buffer, index)
                self._out.add(f"store {TYPES[buffer.dtype]} {given}, ptr {address}, align {buffer.dtype.size}")
                self._values.forget(Life.UNTIL_WRITE)
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
        given = self._values.operand(value)
        self._out.add(f"store {TYPES[value.dtype]} {given}, ptr {self._variables[name]}")

    def _atomic(self, stmt: Atomic) -> None:
        dtype = stmt.buffer.dtype
        operands = [self._values.operand(x) for x in (stmt.value, stmt.expected) if x is not None]
        address = self._values.address(stmt.buffer, stmt.index)
        if stmt.op is AtomicOp.EXCHANGE and stmt.result is None:
            store = ATOMIC_STORE.format(type=TYPES[dtype], value=operands[0], address=address, size=dtype.size)
            self._out.add(store)
        else:
            old = self._out.spelled(self._spellings.atomics[stmt.op, dtype], (address, *operands))
            if stmt.result is not None:
                self._symbols[Local(stmt.result, dtype)] = old
        self._values.forget(Life.UNTIL_WRITE)

    def _if(self, stmt: If) -> None:
        out = self._out
        then, orelse, behind = out.name("then"), out.name("else"), out.name("behind")
        out.branch(self._values.operand(stmt.condition), then, orelse if stmt.orelse else behind)
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
        start, stop = self._values.operand(stmt.start), self._values.operand(stmt.stop)
        behind, chunk = self._out.name("behind"), chunk_of(stmt) if self._asks else None
        if chunk is None:
            self._iterations(stmt, start, stop, behind, behind)
        else:
            self._chunks(stmt, start, stop, chunk * stmt.step, behind)
        self._out.open(behind)

    def _iterations(self, stmt: For, start: str, stop: str, end: str, behind: str) -> str:
        """The loop from `start` to `stop`, which goes to `end` then, and by a break to `behind`: its counter."""
        out, dtype = self._out, stmt.start.dtype
        t = TYPES[dtype]
        head, body, latch = (out.name(stem) for stem in ("head", "round", "latch"))
        counter, next = f"%{out.name('counter')}", f"%{out.name('next')}"
        before = out.block
        out.open(head)
        out.add(f"{counter} = phi {t} [ {start}, %{before} ], [ {next}, %{latch} ]")
        out.branch(out.value(f"icmp {_sign(dtype)}lt {t} {counter}, {stop}"), body, end)
        out.open(body)
        self._symbols[Local(stmt.name, dtype)] = counter
        self._loops.append((latch, behind))
        self._block(stmt.body)
        self._loops.pop()
        out.open(latch)
        out.add(f"{next} = add n{_sign(dtype)}w {t} {counter}, {stmt.step}")
        advice = self._advice(stmt)
        out.jump(head, f", !llvm.loop {advice}" if advice else "")
        return counter

    def _chunks(self, stmt: For, start: str, stop: str, chunk: int, behind: str) -> None:
        """The loop in parts that count up to `chunk`, and between them the question whether the launch is cancelled."""
        out, dtype = self._out, stmt.start.dtype
        t, sign = TYPES[dtype], _sign(dtype)
        head, part, asked, later = (out.name(stem) for stem in ("head", "part", "asked", "later"))
        first, before = f"%{out.name('first')}", out.block
        last = f"%{out.name('counter')}"
        out.open(head)
        out.add(f"{first} = phi {t} [ {start}, %{before} ], [ {last}, %{later} ]")
        out.branch(out.value(f"icmp {sign}lt {t} {first}, {stop}"), part, behind)
        out.open(part)
        left = out.value(f"sub {t} {stop}, {first}")  # as a whole number without a sign, whatever the type
        size = str(chunk) if chunk <= dtype.highest else "-1"  # all of what the type can count
        is_last = out.value(f"icmp ule {t} {left}, {size}")
        full = out.value(f"add {t} {first}, {size}")
        limit = out.value(f"select i1 {is_last}, {t} {stop}, {t} {full}")
        counter = self._iterations(stmt, first, limit, asked, behind)
        out.open(asked)
        ask(out, later)
        out.add(f"{last} = add {t} {counter}, 0")
        out.jump(head)

    def _advice(self, loop: For) -> str:
        """What LLVM is told about a loop; by itself it makes vectors, and unrolls nothing."""
        if self._rare:
            return ROLLED
        return UNROLLED if is_better_unrolled(loop) else ""

    def _block(self, body: Body) -> None:
        self._values.known.enter()
        self.body(body)
        self._values.known.leave()


def _sign(dtype: DType) -> str:
    return "s" if dtype.is_signed else "u"
