"""Programs and arrays from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from vyre.cli.outcome import Answer
from vyre_driver import SpecMap, specialize
from vyre_driver.observe.diagnostics import Source, of_migration
from vyre_foundation import Program, decode, parse, print_program
from vyre_foundation.migration import migrate
from vyre_foundation.wire import MAGIC


def read_program(path: Path, answer: Answer) -> Program:
    """The program in `path`, in the text form (``.vyre``) or the wire form: the first bytes tell.

    From now on the answer's errors show lines of the file; those of a wire form, lines as `vyre show` prints them.
    """
    data = path.read_bytes()
    if data.startswith(MAGIC):
        program = decode(data)
        answer.source = lambda: Source(f"{path} (as text)", print_program(program))
        return _up_to_date(program, answer)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.BadParameter(
            f"{path} is neither a wire form nor UTF-8 text ({error.reason} at byte {error.start})"
        ) from None
    answer.source = lambda: Source(str(path), text)
    return _up_to_date(parse(text), answer)


def _up_to_date(program: Program, answer: Answer) -> Program:
    """`program` with the ops that its dialects have renamed; warnings say which, and what is left to a person."""
    found = migrate(program)
    answer.show(of_migration(found))
    if found.program is not program:
        answer.source = lambda: Source("the program as it is now", print_program(found.program))
    return found.program


def specialized(program: Program, pairs: Iterable[str]) -> Program:
    """`program` with ``name=value`` options as constants."""
    values: dict[str, bool | int | float] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            values[name] = {"true": True, "false": False}[text] if text in ("true", "false") else _number(text)
        except ValueError:
            raise click.BadParameter(f"--spec {pair!r} is not of the form name=number, =true or =false") from None
    return specialize(program, SpecMap.of(program, values))


def _number(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def named_paths(pairs: Iterable[str], option: str) -> dict[str, Path]:
    """``name=path`` options as a mapping."""
    found: dict[str, Path] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise click.BadParameter(f"{option} {pair!r} is not of the form name=path")
        if name in found:
            raise click.BadParameter(f"{option} names {name!r} twice")
        found[name] = Path(path)
    return found


def read_array(program: Program, name: str, path: Path) -> npt.NDArray[np.generic]:
    """A ``.npy`` file as it is; any other file as raw little-endian elements of the buffer's declared type."""
    declared = {b.name: b for b in program.inputs}
    if not path.is_file():
        raise click.BadParameter(f"--input {name}: there is no file {path}")
    if path.suffix == ".npy":
        try:
            array: npt.NDArray[np.generic] = np.load(path, allow_pickle=False)
        except ValueError as error:
            raise click.BadParameter(f"--input {name}: {path} is not a NumPy file ({error})") from None
        wanted = np.dtype(declared[name].dtype.numpy) if name in declared else None
        # The .npy format has no name for bf16: NumPy writes its two bytes as an opaque type.
        return array.view(wanted) if wanted is not None and array.dtype.kind == "V" else array
    if name not in declared:
        raise click.BadParameter(f"the program has no input {name!r}; it has {', '.join(declared) or 'none'}")
    dtype = np.dtype(declared[name].dtype.numpy)
    data = path.read_bytes()
    if len(data) % dtype.itemsize:
        raise click.BadParameter(f"--input {name}: {path} has {len(data)} bytes, not a multiple of {dtype.itemsize}")
    return np.frombuffer(data, dtype)


def write_array(path: Path, array: npt.NDArray[np.generic]) -> None:
    """A ``.npy`` file, or raw little-endian elements for any other suffix. Appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            if path.suffix == ".npy":
                np.save(file, array, allow_pickle=False)
            else:
                file.write(array.tobytes())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
