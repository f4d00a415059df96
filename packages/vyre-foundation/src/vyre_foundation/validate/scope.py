"""Rules about locals: declared once, visible where they are used, of one type, changed only if mutable.

Names are unique in a program, so whether an expression may stand at a statement is a question about numbers: the
statement must come after the latest of its declarations and not after the earliest end of their scopes. Both numbers
are stored for every expression, which makes the check linear however much expressions share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.stmt import Assign, For, Let, Var
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport

SCOPE_CODES = frozenset(("V020", "V021", "V022", "V023", "V024", "V025"))
"""Where one of these is found, nothing is known about the values of locals."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A local: visible at the statements after number `start`, up to number `end`."""

    name: str
    dtype: DType
    place: Place
    start: int
    end: int

    @property
    def is_mutable(self) -> bool:
        """Whether `Assign` may change it."""
        return isinstance(self.place.stmt, Var)


class Visible(NamedTuple):
    """Where an expression may stand, and which of its locals say so."""

    start: int
    end: int
    latest: str
    shortest: str


class Scopes:
    """The locals of a program, and the rules about them."""

    def __init__(self, report: ValidationReport) -> None:
        self._report = report
        self._locals: dict[str, Declared] = {}
        self._undeclared: dict[str, tuple[Place, str]] = {}
        for place, name, dtype in report.outline.declared:
            self._declare(place, name, dtype)
        self._visible = self._find_visible()

    def _find_visible(self) -> dict[Expr, Visible]:
        """Where expressions may stand that may not stand everywhere.

        A local that is visible from its first use to the end of the program, as most are, restrains none of them.
        """
        code, last = self._report.program.code, len(self._report.outline.places) - 1
        visible: dict[Expr, Visible] = {}
        for number in code.numbers_by_kind.get(Local, ()):
            node = code.nodes[number]
            if (declared := self._locals.get(node.name)) is not None:
                first_use, _ = self._report.first_use(number)
                if not declared.start < first_use.number <= declared.end == last:
                    visible[node] = Visible(declared.start, declared.end, declared.name, declared.name)
        for node in code.nodes if visible else ():
            found = None
            for child in node.args:
                other = visible.get(child)
                if other is not None and other is not found:
                    found = other if found is None else _intersection(found, other)
            if found is not None:
                visible[node] = found
        return visible

    def check_visible(self) -> None:
        """Whether what statements evaluate may stand there."""
        for place in self._report.outline.places if self._visible else ():
            for field, root in place.roots():
                visible = self._visible.get(root)
                if visible is not None and not visible.start < place.number <= visible.end:
                    self._out_of_scope(place, field, visible)

    def report_undeclared(self) -> None:
        """A finding for each name that is not declared, where it is used first, when everything has been here."""
        buffers = {buffer.name for buffer in self._report.program.buffers}
        for name, (place, field) in self._undeclared.items():
            message, fix = f"got {name!r}, expected a declared local", "declare it with let or var before"
            if name in buffers:
                message, fix = f"got {name!r}, a buffer, expected a declared local", "give the index of an element"
            self._report.at(place, "V021", message, fix, field=field)

    def _declare(self, place: Place, name: str, dtype: DType) -> None:
        if name in self._locals:
            message = f"got {name!r} again, expected a new name, as {self._locals[name].place.path} declares it"
            self._report.at(place, "V020", message, "rename one of the two: a name is for a whole program")
            return
        outline = self._report.outline
        end = outline.end(place) if isinstance(place.stmt, For) else outline.scope_end(place)
        self._locals[name] = Declared(name, dtype, place, place.number, end)

    def check_local(self, number: int, node: Local) -> None:
        """Report a use of a local that is not declared or has another type; whether it is visible is checked later."""
        declared = self._locals.get(node.name)
        if declared is None:
            self._undeclared_at(*self._report.first_use(number), node.name)
        elif node.dtype is not declared.dtype:
            message = f"got {node.name!r} as {node.dtype}, expected {declared.dtype}, as at {declared.place.path}"
            self._report.on_node(number, "V023", message, "use the declared type, and cast to others")

    def _undeclared_at(self, place: Place, field: str, name: str) -> None:
        if name not in self._undeclared or place.number < self._undeclared[name][0].number:
            self._undeclared[name] = place, field

    def _out_of_scope(self, place: Place, field: str, visible: Visible) -> None:
        is_early = visible.start >= place.number
        declared = self._locals[visible.latest if is_early else visible.shortest]
        if not is_early and (variable := self._variable_read_by(declared)) is not None:
            place_read = self._report.located(declared.place)
            message = f"got the value of {variable!r} at {place_read}, after the end of that body"
            fix = (
                f"set {variable!r} there, and read it here; in Python `.set` and `+=` do that, and `name = …` does not"
            )
            self._report.at(place, "V022", message, fix, field=field)
            return
        got = "before its declaration" if is_early else "after the end of the body with its declaration"
        message = f"got {declared.name!r} {got} at {declared.place.path}, expected it where it is visible"
        fix = "declare it in a body around both, before the use"
        if not is_early:
            fix += "; what a loop or a branch changes is a variable, in builders p.var(…), which `.set` and `+=` change"
        self._report.at(place, "V022", message, fix, field=field)

    def _variable_read_by(self, declared: Declared) -> str | None:
        """The variable whose value of then a local is."""
        stmt = declared.place.stmt
        if not (isinstance(stmt, Let) and isinstance(stmt.value, Local)):
            return None
        read = self._locals.get(stmt.value.name)
        return read.name if read is not None and read.is_mutable else None

    def check_assign(self, place: Place, stmt: Assign) -> None:
        """Report an assignment to a local that is not declared, not visible, not mutable, or of another type."""
        declared = self._locals.get(stmt.name)
        if declared is None:
            self._undeclared_at(place, "name", stmt.name)
            return
        if not declared.start < place.number <= declared.end:
            self._out_of_scope(place, "name", Visible(declared.start, declared.end, stmt.name, stmt.name))
        if not declared.is_mutable:
            what = "a loop counter" if isinstance(declared.place.stmt, For) else "immutable"
            message = f"got an assignment to {stmt.name!r}, which is {what}, expected a local declared with var"
            self._report.at(place, "V024", message, "declare it with var, or bind a new name", field="name")
        if stmt.value.dtype is not declared.dtype:
            message = f"got {stmt.value.dtype} for {stmt.name!r}, expected {declared.dtype}"
            self._report.at(place, "V025", message, f"cast the value to {declared.dtype}", field="value")


def _intersection(a: Visible, b: Visible) -> Visible:
    later, shorter = (a if a.start >= b.start else b), (a if a.end <= b.end else b)
    return Visible(later.start, shorter.end, later.latest, shorter.shortest)
