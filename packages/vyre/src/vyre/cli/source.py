"""Programs and arrays from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np
import numpy.typing as npt

from vyre.cli.outcome import Answer
from vyre_driver import SpecMap, specialize
from vyre_driver.graph.nodes import GraphBuffer
from vyre_driver.graph.wire import MAGIC as GRAPH
from vyre_driver.observe import writing as places
from vyre_driver.observe.diagnostics import Source, of_migration
from vyre_driver.pipeline.ahead import ANY_VERSION
from vyre_foundation import Program, decode, parse, print_program
from vyre_foundation.discovery.migration import migrate
from vyre_foundation.dtype import DType
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.wire import MAGIC

WRITE = "in Python, write `vyre.print_program(kernel.program)` to a file, such as kernel.vyre, and name that"
"""How a kernel, or what `build()` returned, becomes a file of the command line."""
PICKLE = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
"""How pickles begin, by protocol."""
MAX_HEADER = 10_000
"""Characters in the header of a NumPy file."""


def read_bytes(path: Path) -> bytes:
    """What a file holds, or a pipe gives. Devices are refused: some never end."""
    if path.is_char_device() or path.is_block_device():
        raise click.BadParameter(f"{path} is a device. Fix: name a file")
    return path.read_bytes()


def read_program(path: Path, answer: Answer) -> Program:
    """The program in `path`, in the text form (``.vyre``) or the wire form: the first bytes tell.

    From now on the answer's errors show lines of the file; those of a wire form, lines as `vyre show` prints them.
    """
    data = read_bytes(path)
    refuse_python(path, data)
    if data.startswith(ANY_VERSION):
        what = f"{path} is a compiled program, which `vyre compile` wrote"
        fix = "name the program that it was made from; `vyre run` runs the compiled one"
        raise click.BadParameter(f"{what}. Fix: {fix}")
    if data.startswith(GRAPH):
        raise click.BadParameter(f"{path} is a graph. Fix: name a program; `vyre graph` takes graphs")
    if data.startswith(MAGIC):
        program = decode(data)
        answer.source = lambda: Source(f"{path} (as text)", print_program(program))
        return _up_to_date(program, answer)
    try:
        text = data.decode("utf-8-sig")  # some editors begin a file with the mark of its encoding
    except UnicodeDecodeError as error:
        raise click.BadParameter(
            f"{path} is neither the text of a program nor its bytes ({error.reason}, byte {error.start}). Fix: {WRITE}"
        ) from None
    answer.source = lambda: Source(str(path), text)
    return _up_to_date(parse(text), answer)


def refuse_python(path: Path, data: bytes) -> None:
    """Refuse source of Python, and a pickle, whose reading would run what it says."""
    if path.suffix in (".py", ".ipynb"):
        raise click.BadParameter(f"{path} is a file of Python, which the command line does not run. Fix: {WRITE}")
    if data.startswith(PICKLE):
        raise click.BadParameter(f"{path} is a pickle, which the command line does not load. Fix: {WRITE}")


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
            fix = "write name=number, name=true or name=false"
            raise click.BadParameter(f"--spec {pair!r} gives a name no value. Fix: {fix}") from None
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
            raise click.BadParameter(f"{option} {pair!r} is not of the form name=path. Fix: write a name, = and a path")
        if name in found:
            raise click.BadParameter(f"{option} names {name!r} twice. Fix: name it once")
        found[name] = Path(path)
    return found


def read_arrays(declared: Iterable[Buffer | GraphBuffer], inputs: Iterable[str]) -> dict[str, Any]:
    """The arrays in the files of ``name=path`` options, for some of the declared inputs."""
    types = {buffer.name: buffer.dtype for buffer in declared}
    return {name: read_array(types, name, path) for name, path in named_paths(inputs, "--input").items()}


def one_of(names: Iterable[str]) -> str:
    """What a message says of a name that is none of `names`, and the remedy."""
    known = ", ".join(names)
    return f", only {known}. Fix: name one of them" if known else ": there are none. Fix: leave the option out"


def read_array(types: Mapping[str, DType], name: str, path: Path) -> npt.NDArray[np.generic]:
    """A ``.npy`` file as it is; any other, but a ``.npz``, as raw little-endian elements of the input's type."""
    if not path.is_file():
        problem = f"{path} is no regular file" if path.exists() else f"there is no file {path}"
        raise click.BadParameter(f"--input {name}: {problem}. Fix: name a file that holds the array")
    if name not in types:
        raise click.BadParameter(f"there is no input {name!r}{one_of(types)}")
    dtype = np.dtype(types[name].numpy)
    if path.suffix in (".npy", ".npz"):
        array = _read_npy(name, path)
        # The .npy format has no name for bf16: NumPy writes its two bytes as an opaque type.
        return array.view(dtype) if array.dtype == np.dtype(f"V{dtype.itemsize}") else array
    data = path.read_bytes()
    if len(data) % dtype.itemsize:
        problem = f"{path} has {len(data)} bytes, not a multiple of {dtype.itemsize}"
        raise click.BadParameter(f"--input {name}: {problem}. Fix: give whole elements of {types[name]}")
    return np.frombuffer(data, dtype)


def _read_npy(name: str, path: Path) -> npt.NDArray[np.generic]:
    """The array in a file. It is mapped first, so that a header cannot ask for more memory than the file has bytes."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False, max_header_size=MAX_HEADER)
        if not isinstance(mapped, np.ndarray):
            mapped.close()
            raise ValueError("it is an archive of arrays")
        if mapped.dtype.kind == "V" and mapped.dtype.fields is not None:
            raise ValueError(f"its elements are structures: {mapped.dtype}")
        return np.array(mapped)
    except Exception as error:  # NumPy parses the header as Python, and raises what that raises
        fix = "write it with numpy.save, one array of numbers to a file"
        raise click.BadParameter(f"--input {name}: {path} is not a NumPy file ({error}). Fix: {fix}") from None


def require_writable(path: Path, option: str) -> None:
    """As in `vyre_driver.observe.writing`, as an error of the option."""
    with _of_an_option():
        places.require_writable(path, option)


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """As in `vyre_driver.observe.writing`, as an error of the option."""
    with _of_an_option(), places.writing(path, option):
        yield


@contextmanager
def _of_an_option() -> Iterator[None]:
    try:
        yield
    except VyreError as error:
        raise click.BadParameter(str(error)) from None


def require_distinct(paths: Mapping[str, Path], option: str) -> None:
    """Refuse two names for one file."""
    names: dict[Path, str] = {}
    for name, path in paths.items():
        require_writable(path, option)
        first = names.setdefault(path.resolve(), name)
        if first != name and (path.is_file() or not path.exists()):
            raise click.BadParameter(f"{option}: {first!r} and {name!r} are both to be {path}. Fix: name two files")


def write_arrays(files: Mapping[str, Path], arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Write the arrays for which ``--output`` names a file."""
    for name, path in files.items():
        with writing(path, "--output"):
            write_array(path, arrays[name])


def write_array(path: Path, array: npt.NDArray[np.generic]) -> None:
    """A ``.npy`` file, or raw little-endian elements for any other suffix.

    A file appears whole or not at all; pipes and devices are written as they are.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            _write(file, path, array)
        return
    path = path.resolve()
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            _write(file, path, array)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write(file: BinaryIO, path: Path, array: npt.NDArray[np.generic]) -> None:
    if path.suffix == ".npy":
        np.save(file, array, allow_pickle=False)
    else:
        file.write(array.tobytes())
