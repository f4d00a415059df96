"""What may be a name, a label or a tag."""

from __future__ import annotations

import re

from vyre_foundation.ir.argument import shown
from vyre_foundation.ir.stmt import Assign, Region, Trap
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
"""Names of buffers and locals: what every target can spell after replacing the dots."""

RESERVED_PREFIX = "__"
"""Names that begin so belong to lowering."""

MAX_TEXT = 1024
"""Bytes of a name, label or tag in UTF-8."""


def check_names(report: ValidationReport) -> None:
    """The names of the program, of its buffers and locals, the labels and the tags."""
    if (got := _not_a_text(report.program.name)) is not None:
        report.on_program("name", "V015", *got)
    elif not report.program.name:
        report.on_program("name", "V003", "got an empty name, expected a string", "name the program")
    for number, buffer in enumerate(report.program.buffers):
        for finding in _name_findings(buffer.name, report.legalized):
            report.on_buffer(number, *finding)
    for place, name, _ in report.outline.declared:
        for finding in _name_findings(name, report.legalized):
            report.at(place, *finding)
    for place in report.outline.of(Trap, Region):
        _check_text(report, place)
    for place in report.outline.of(Assign):
        if isinstance(place.stmt, Assign) and (got := _not_a_text(place.stmt.name)) is not None:
            report.at(place, "V015", *got, field="name")
    names = [name for _, name, _ in report.outline.declared]
    names += [place.stmt.name for place in report.outline.of(Assign) if isinstance(place.stmt, Assign)]
    if not all(isinstance(name, str) for name in names):
        report.raise_if_any()  # what is no text may have no hash, and nothing is known about such locals


def _check_text(report: ValidationReport, place: Place) -> None:
    match place.stmt:
        case Trap(tag=text) if not text:
            report.at(place, "V046", "got an empty tag, expected a string", "say what failed", field="tag")
        case Trap(tag=text) | Region(label=text):
            if (got := _not_a_text(text)) is not None:
                report.at(place, "V015", *got, field="tag" if isinstance(place.stmt, Trap) else "label")


def _name_findings(name: object, legalized: bool) -> list[tuple[str, str, str]]:
    """Code, message and fix for what is wrong with the name of a buffer or local."""
    if not isinstance(name, str):
        return [("V015", *_wrong_type(name))]
    if not NAME.fullmatch(name):
        expected = "ASCII letters, digits, _ and dots, with a letter or _ first"
        return [("V003", f"got the name {name!r}, expected {expected}", "rename it")]
    if (got := _not_a_text(name)) is not None:
        return [("V015", *got)]
    if name.startswith(RESERVED_PREFIX) and not legalized:
        return [("V004", f"got the name {name!r}, expected one that does not begin with __", "rename it")]
    return []


def _not_a_text(text: object) -> tuple[str, str] | None:
    """Message and fix for a text that the wire form cannot or should not hold."""
    if not isinstance(text, str):
        return _wrong_type(text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"got the text {text!r}, which has lone surrogates, expected Unicode characters", "write another text"
    if size > MAX_TEXT:
        return f"got a string of {size} bytes, expected at most {MAX_TEXT}", "shorten it"
    return None


def _wrong_type(text: object) -> tuple[str, str]:
    return f"got {shown(text)}, expected a string", "pass a str"
