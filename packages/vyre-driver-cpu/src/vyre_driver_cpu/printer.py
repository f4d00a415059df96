"""Legalized kernels as LLVM IR: a function that runs some workgroups of a launch, one after the other.

::

    define void @kernel_0(ptr %args, ptr %grid, i64 %begin, i64 %end)
    define void @kernel_0_whole(ptr %launch)

`args` are slots of eight bytes: the addresses of the bound buffers in argument order, then the lengths. `grid` has the
number of workgroups on x, y and z as u32, the word that is not 0 once the launch is cancelled, and the address of what
loops that may take long ask whether to end, or null (see `statements.ASK_HOST`). `begin` and `end` count workgroups, x
fastest. `launch` holds the addresses of the arguments and the grid, and the number of workgroups:
all of them run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.lowered import Kernel, Lowered, LoweredFunction
from vyre_driver.legalization.schedule import RUNS
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver_cpu.compiler import LOCALLY
from vyre_driver_cpu.function import INDEPENDENT, LIKELY, NONTEMPORAL, OFTEN, UNPREDICTABLE, FunctionText
from vyre_driver_cpu.literals import operand_of
from vyre_driver_cpu.privatization import PrivateBuffer, privatized
from vyre_driver_cpu.registers import RegisterArrays
from vyre_driver_cpu.spelling import LINE, TYPES, Spellings
from vyre_driver_cpu.statements import (
    ASK_HOST,
    BY_FOUR,
    IN_PLACE,
    ROLLED,
    SCALAR,
    STREAMED,
    UNROLLED,
    StatementPrinter,
    ask,
)
from vyre_driver_cpu.vector_values import ZERO
from vyre_driver_cpu.vectors import is_made_of_vectors, print_vectors
from vyre_foundation.dtype import f16, f32, f64, u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Length, Literal
from vyre_foundation.ir.stmt import Body, For
from vyre_foundation.ir.walk import bodies

SLOT = 8
"""Bytes of an argument."""
STOP = 3
"""The place of the word in the grid that cancels a launch."""
AXES = "xyz"
_WHOLE = """\
define void @{name}_whole(ptr %launch) nounwind {{
  %args = load ptr, ptr %launch
  %grid.at = getelementptr inbounds i8, ptr %launch, i64 8
  %grid = load ptr, ptr %grid.at
  %total.at = getelementptr inbounds i8, ptr %launch, i64 16
  %total = load i64, ptr %total.at
  tail call void @{name}(ptr %args, ptr %grid, i64 0, i64 %total) noinline
  ret void
}}
"""
"""How Python calls a kernel: with one argument, which takes a third of the time of four.

The call is not inlined: LLVM would optimize and generate the kernel once more."""
_INLINE_COPIES = ' "no-builtin-memcpy"'
"""Loops that copy stay loops in kernels whose workgroups run one by one: one copies about a thousand bytes at once, for
which a call takes longer."""
_ADVICE = (
    f"{ROLLED} = distinct !{{{ROLLED}, !1, !2}}",
    '!1 = !{!"llvm.loop.vectorize.enable", i1 false}',
    '!2 = !{!"llvm.loop.unroll.disable"}',
    f"{UNROLLED} = distinct !{{{UNROLLED}, !4}}",
    '!4 = !{!"llvm.loop.unroll.full"}',
    f"{STREAMED} = distinct !{{{STREAMED}, !6}}",
    '!6 = !{!"llvm.loop.interleave.count", i32 1}',
    f"{BY_FOUR} = distinct !{{{BY_FOUR}, !8}}",
    '!8 = !{!"llvm.loop.unroll.count", i32 4}',
    f'{LIKELY} = !{{!"branch_weights", i32 2, i32 1}}',
    f"{INDEPENDENT} = distinct !{{}}",
    f"{IN_PLACE} = distinct !{{{IN_PLACE}, !12}}",
    f'!12 = !{{!"llvm.loop.parallel_accesses", {INDEPENDENT}}}',
    f"{SCALAR} = distinct !{{{SCALAR}, !1, !8}}",
    f"{UNPREDICTABLE} = !{{}}",
    f"{NONTEMPORAL} = !{{i32 1}}",
    f'{OFTEN} = !{{!"branch_weights", i32 2000, i32 1}}',
    "",
)

DEEP = 8
"""The most loops inside of each other, with that over invocations, that LLVM's whole pipeline optimizes. It looks at
all of them again after it has changed an inner one: with the code generator 4.5 s for 16 loops and 15 s for 24, where
the passes of `LOCALLY` take 0.2 and 0.3 s."""


def print_module(lowered: Lowered, spellings: Spellings) -> tuple[str, tuple[str, ...]]:
    """The text of all kernels of `lowered`, and the names of their functions."""
    lines = [f"@nan_{t} = global {TYPES[t]} {operand_of(Literal(t, t.nan_bits))}" for t in (f16, f32, f64)]
    lines.append("@every_bit = global i64 -1")
    lines.append(f"{ZERO} = private constant i64 0")
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
    printers = [
        _KernelPrinter(name, kernel, spellings, tables, functions, lowered.source.workgroup_volume)
        for name, kernel in zip(names, lowered.kernels, strict=True)
    ]
    constants: dict[str, str] = {}
    for printer in printers:
        lines += printer.text()
        constants |= printer.constants
    lines += [f"{name} = private unnamed_addr constant {constant}" for name, constant in constants.items()]
    if any(printer.asks_host for printer in printers):
        lines += ASK_HOST.splitlines()
    deep = any(_loops_around(kernel.program.body) > DEEP for kernel in lowered.kernels)
    if deep or all(printer.is_made_of_vectors for printer in printers):
        lines.insert(0, LOCALLY)
    lines += _ADVICE
    return "\n".join(lines), names


def _loops_around(body: Body) -> int:
    """How many loops the innermost statements under `body` are inside of."""
    return max((isinstance(stmt, For) + _loops_around(inner) for stmt in body for inner in bodies(stmt)), default=0)


def _table(buffer: Buffer, name: str) -> str:
    """Constant memory as bytes; an empty table has one, so that it has an address."""
    data = buffer.data or b"\0"
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{text}", align {LINE}'


def _function(name: str, function: LoweredFunction, spellings: Spellings) -> Iterator[str]:
    """What rare calls call. It is not inlined: then no vector computes it for lanes that do not take it."""
    out = FunctionText()
    symbols: dict[Expr, str] = {p: f"%x{n}" for n, p in enumerate(function.parameters)}
    statements = StatementPrinter(out, function.program, spellings, {}, symbols, {})
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
        invocations: int,
    ) -> None:
        self._invocations = invocations
        self._name, self._program, self._lengths = name, kernel.program, kernel.lengths
        self._spellings, self._tables, self._functions = spellings, tables, functions
        self._bound = [b for b in kernel.program.buffers if b.binding is not None]
        self._volume = kernel.program.workgroup_volume
        self._private = privatized(kernel)
        self.is_made_of_vectors = False
        """Whether what is printed is long, and LLVM has no vectors to make of it."""
        self.constants: dict[str, str] = {}
        """What is printed beside it, by name."""
        self.asks_host = False
        """Whether one of its loops may take long."""
        self._attributes = "" if kernel.arrangement.most > 1 else _INLINE_COPIES

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
        for n, _ in enumerate(self._private):
            yield "i1", "", f"%own{n}"
            yield "i64", "", f"%stride{n}"
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
        vectorize = partial(print_vectors, RegisterArrays(program, self._spellings.stream_bits))
        private = {buffer.name: (f"%own{n}", f"%stride{n}") for n, buffer in enumerate(self._private)}
        statements = StatementPrinter(
            out,
            program,
            self._spellings,
            arrays,
            symbols,
            self._functions,
            asks=True,
            private=private,
            vectorize=vectorize,
        )
        statements.body(program.body)
        self.is_made_of_vectors = is_made_of_vectors(statements)
        if statements.left_to_llvm == statements.streams > 0:
            self._attributes += f' "prefer-vector-width"="{self._spellings.stream_bits}"'
        self.constants, self.asks_host = out.constants, out.asks_host
        out.jump("done")
        out.open("done")
        out.add("ret void")
        parameters = ", ".join(f"{type}{attributes} {name}" for type, attributes, name in self._parameters())
        yield f"define internal void @{self._name}_body({parameters}) nounwind{self._attributes} {{"
        yield from out.text()
        yield "}"

    def _entry(self) -> Iterator[str]:
        """The loop over workgroups, and over the invocations of each where those are no loops of the body."""
        out, arguments = FunctionText(), list[str]()
        for slot, (type, _, _) in enumerate(self._parameters()):
            if slot < len(self._bound) + len(self._lengths):
                place = out.value(f"getelementptr inbounds i8, ptr %args, i64 {SLOT * slot}")
                arguments.append(f"{type} {out.value(f'load {type}, ptr {place}, align {SLOT}')}")
        private = self._private_buffers(out, [argument.split()[-1] for argument in arguments])
        for slot, buffer in private.items():
            buffer.begin()
            arguments[slot] = f"ptr {buffer.address}"
        arguments += [f"i1 {buffer.is_own}, i64 {buffer.stride}" for buffer in private.values()]
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
        for buffer in private.values():
            buffer.end()
        out.add("ret void")
        yield f"define void @{self._name}(ptr %args, ptr %grid, i64 %begin, i64 %end) nounwind{self._attributes} {{"
        yield from out.text()
        yield "}"

    def _private_buffers(self, out: FunctionText, slots: Sequence[str]) -> dict[int, PrivateBuffer]:
        """Those that a call of the kernel may have of its own, by their slots; `slots` are operands."""
        if not self._private:
            return {}
        invocations = out.value(f"mul i64 {out.value('sub i64 %end, %begin')}, {self._invocations}")
        names = [buffer.name for buffer in self._bound]
        if RUNS in names:
            runs = out.value(f"load i32, ptr {slots[names.index(RUNS)]}, align {u32.size}")
            invocations = out.value(f"mul i64 {invocations}, {out.value(f'zext i32 {runs} to i64')}")
        found = {}
        for buffer, op in self._private.items():
            length = str(buffer.count)
            if not isinstance(buffer.count, int):
                slot = len(self._bound) + self._lengths.index(buffer.name)
                length = out.value(f"zext i32 {slots[slot]} to i64")
            slot = names.index(buffer.name)
            found[slot] = PrivateBuffer(out, self._spellings, buffer, op, slots[slot], length, invocations)
        return found


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
