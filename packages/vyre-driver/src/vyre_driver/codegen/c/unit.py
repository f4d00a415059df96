"""Printing of a translation unit: the prelude, the constant tables, and a function for every kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from vyre_driver.codegen.c.literals import spell, spell_element
from vyre_driver.codegen.c.names import Names
from vyre_driver.codegen.c.statements import Lines, print_body
from vyre_driver.codegen.dialect import CDialect, SourceText
from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.text_forms import CallForm
from vyre_foundation.dialects.lowering import TextModule
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Length, Literal, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, For, Let, Subgroup, Var
from vyre_foundation.ir.walk import program_expressions, statements


def print_unit(lowered: Lowered, dialect: CDialect) -> SourceText:
    """Return the source of all kernels of `lowered`, which was legalized for ``dialect.target()``.

    Equal programs have equal source, in every process.
    """
    lines = Lines()
    for line in dialect.prelude.splitlines():
        lines.add(line)
    entries_of_texts = {text.entry for text in lowered.texts.values()}
    names = Names(dialect.reserved | _spelled(dialect) | entries_of_texts, dialect.reserved_prefixes)
    _print_texts(lowered, lines)
    texts = {**lowered.texts, **_print_functions(lowered, dialect, lines, names)}
    tables = _print_tables(lowered, dialect, lines, names)
    entries = tuple(names(kernel.name) for kernel in lowered.kernels)
    for entry, kernel in zip(entries, lowered.kernels, strict=True):
        _print_kernel(kernel, entry, dialect, lines, names.inner(), tables, texts)
    return SourceText("\n".join(lines.lines) + "\n", entries, tuple(lines.places))


_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def _spelled(dialect: CDialect) -> frozenset[str]:
    """The words by which a dialect names types and coordinates."""
    texts = (*dialect.types.values(), *dialect.ids.values(), *dialect.index_ids.values())
    return frozenset(word for text in texts for word in _WORD.findall(text))


def _print_texts(lowered: Lowered, lines: Lines) -> None:
    """What dialects state in this language, each once."""
    for form, module in sorted(lowered.texts.items(), key=lambda item: item[1].entry):
        lines.place = f"the text of {form.op}"
        for line in module.text.splitlines():
            lines.add(line)
    lines.place = ""


def _print_functions(lowered: Lowered, dialect: CDialect, lines: Lines, names: Names) -> dict[CallForm, TextModule]:
    """The functions of rare calls, and by what name each is called."""
    texts: dict[CallForm, TextModule] = {}
    for form, function in sorted(lowered.functions.items(), key=lambda item: item[0].symbol):
        lines.place = f"the function of {form.op}"
        entry, inner, symbols = names(form.symbol), names.inner(), dict[Expr, str]()
        symbols.update((parameter, inner(parameter.name)) for parameter in function.parameters)
        parameters = ", ".join(f"{dialect.types[p.dtype]} {symbols[p]}" for p in function.parameters)
        result = dialect.types[function.result.dtype]
        lines.open(dialect.function.format(type=result, name=entry, parameters=parameters))
        _print_locals_and_body(function.program, dialect, lines, inner, symbols, {}, {})
        lines.add(f"return {symbols[function.result]};")
        lines.close()
        texts[form] = TextModule("", entry)
    lines.place = ""
    return texts


def _print_tables(lowered: Lowered, dialect: CDialect, lines: Lines, names: Names) -> dict[Buffer, str]:
    """Constant memory, each table once for all kernels."""
    tables: dict[Buffer, str] = {}
    for kernel in lowered.kernels:
        for buffer in kernel.program.buffers:
            if buffer.memory is Memory.CONSTANT and buffer not in tables:
                name = tables[buffer] = names(buffer.name)
                values = ", ".join(_elements(buffer, dialect))
                lines.add(
                    dialect.constant.format(
                        type=dialect.types[buffer.dtype], name=name, count=_element_count(buffer), values=values
                    )
                )
    return tables


def _elements(buffer: Buffer, dialect: CDialect) -> Iterator[str]:
    """The elements of a table, each as its type spells it, or as a plain number where it only has memory."""
    assert buffer.data is not None
    size = buffer.dtype.size
    for start in range(0, len(buffer.data), size):
        constant = Literal(buffer.dtype, int.from_bytes(buffer.data[start : start + size], "little"))
        yield spell_element(dialect, constant) if buffer.dtype in dialect.literals else str(constant.value)
    if not buffer.data:
        yield "0"


def _print_kernel(
    kernel: Kernel,
    entry: str,
    dialect: CDialect,
    lines: Lines,
    names: Names,
    tables: dict[Buffer, str],
    texts: Mapping[CallForm, TextModule],
) -> None:
    program = kernel.program
    lines.place = kernel.name
    arrays = {b.name: tables[b] if b in tables else names(b.name) for b in program.buffers}
    symbols: dict[Expr, str] = {Length(program.buffer(name)): names(f"{name}_length") for name in kernel.lengths}
    lines.add("")
    if kernel.arrangement.reason:
        lines.add(f"// {kernel.arrangement}")
    lines.open(_head(program, entry, dialect, arrays, symbols))
    if dialect.begin:
        lines.add(dialect.begin)
    unseen, alignment = dead_initialisations(program), dialect.alignment if kernel.arrangement.as_loops else ""
    for buffer in program.buffers:
        if buffer.memory in (Memory.WORKGROUP, Memory.PRIVATE):
            lines.add(alignment + _array(buffer, arrays[buffer.name], dialect, is_zero=buffer not in unseen))
    for id in _ids(program):
        symbols[id] = names(f"{id.kind.value}_{'xyz'[id.axis]}" if id.kind.has_axis else id.kind.value)
        lines.add(f"const {dialect.types[u32]} {symbols[id]} = {dialect.ids[id.kind, id.axis]};")
    _print_locals_and_body(program, dialect, lines, names, symbols, arrays, texts)
    lines.close()


def _print_locals_and_body(
    program: Program,
    dialect: CDialect,
    lines: Lines,
    names: Names,
    symbols: dict[Expr, str],
    arrays: dict[str, str],
    texts: Mapping[CallForm, TextModule],
) -> None:
    """What stands between the head and the end of a function; `symbols` gets its locals."""
    symbols.update((local, names(local.name)) for local in _locals(program))
    if dialect.opaque:
        symbols.update((nan, _hidden(nan, dialect, lines, names)) for nan in _nans(program))
    print_body(program, dialect, lines, names, symbols, arrays, texts)


def _head(program: Program, entry: str, dialect: CDialect, arrays: dict[str, str], lengths: dict[Expr, str]) -> str:
    """The kernel's qualifiers, name and parameters: its buffers, then the lengths that it reads."""
    parameters = [
        dialect.parameters[b.memory, b.access].format(type=dialect.types[b.dtype], name=arrays[b.name])
        for b in program.buffers
        if b.binding is not None
    ]
    parameters += [dialect.length_parameter.format(name=name) for name in lengths.values()]
    x, y, z = program.workgroup_size
    head = dialect.kernel.format(name=entry, parameters=", ".join(parameters), x=x, y=y, z=z)
    return " ".join((*(m.text for m in dialect.markings if m.applies(program)), head))


def _array(buffer: Buffer, name: str, dialect: CDialect, *, is_zero: bool) -> str:
    """Memory inside of a kernel; a private array starts as zeros, the kernel itself clears the workgroup's."""
    type, count = dialect.types[buffer.dtype], _element_count(buffer)
    if buffer.memory is Memory.PRIVATE:
        return f"{type} {name}[{count}]{f' = {dialect.zeros}' if is_zero else ''};"
    return dialect.workgroup.format(type=type, name=name, count=count)


def _element_count(buffer: Buffer) -> int:
    """Elements to declare: C has no empty arrays."""
    assert isinstance(buffer.count, int)
    return max(1, buffer.count)


def _ids(program: Program) -> list[Id]:
    """The coordinates that a kernel uses, in the order of the enumeration."""
    order = list(IdKind)
    used = {node for node in program_expressions(program) if isinstance(node, Id)}
    return sorted(used, key=lambda id: (order.index(id.kind), id.axis))


def _nans(program: Program) -> list[Literal]:
    used = {node for node in program_expressions(program) if isinstance(node, Literal) and node.value != node.value}
    return sorted(used, key=lambda nan: nan.dtype.size)


def _hidden(nan: Literal, dialect: CDialect, lines: Lines, names: Names) -> str:
    """The name of a NaN whose bits the compiler does not know.

    As a constant it is loaded under a mask, which was several times slower where no invocation has a NaN. Inferred from
    that, not observed: such a load never brings its page into memory, so that the core handles each one as an
    exception.
    """
    unsigned = nan.dtype.unsigned
    bits, name = names("nan_bits"), names("canonical_nan")
    lines.add(f"{dialect.types[unsigned]} {bits} = {spell(dialect, Literal(unsigned, nan.bits))};")
    lines.add(dialect.opaque.format(bits))
    lines.add(f"const {dialect.types[nan.dtype]} {name} = {dialect.bitcasts[unsigned, nan.dtype].format(bits)};")
    return name


def _locals(program: Program) -> Iterator[Local]:
    for stmt in statements(program.body):
        match stmt:
            case Let(name, value) | Var(name, value) | For(name, value):
                yield Local(name, value.dtype)
            case Atomic(buffer=buffer, result=str(name)):
                yield Local(name, buffer.dtype)
            case Subgroup(op, value, result=str(name)):
                yield Local(name, op.result_type(value.dtype))
            case _:
                pass
