"""The source of a function: its syntax tree, with places for messages."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import tokenize
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, TypeGuard

from vyre.kernels.errors import KernelError
from vyre.kernels.matching import MatchRewriter
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.origin import place_text


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function and its syntax tree, whose places are those in the file."""

    function: Callable[..., Any]
    file: str
    lines: Sequence[str]
    """The lines of the function; the first has the number `first`."""
    first: int
    tree: ast.FunctionDef

    def line_of(self, node: ast.AST) -> int:
        """The number of the line at which a node begins."""
        return getattr(node, "lineno", self.tree.lineno)

    def error(self, node: ast.AST, message: str, fix: str) -> KernelError:
        """The error for a node of the tree."""
        number = self.line_of(node)
        start = getattr(node, "col_offset", self.tree.col_offset)
        line = self.lines[number - self.first] if 0 <= number - self.first < len(self.lines) else ""
        last = getattr(node, "end_lineno", number) or number
        stop = (getattr(node, "end_col_offset", None) or start + 1) if last == number else len(line.encode())
        if isinstance(node, (ast.FunctionDef, ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ClassDef)):
            stop = len(line.rstrip().encode())
        before = line.encode()[:start].decode()  # columns of the tree count bytes
        marked = line.encode()[start:stop].decode().rstrip()
        caret = "".join("\t" if c == "\t" else " " for c in before) + "^" * max(1, len(marked))
        where = place_text(self.file, number, len(before) + 1)
        return KernelError(message, fix=fix, where=where, line=line.rstrip(), caret=caret)

    def nested_too_deep(self) -> KernelError:
        """The error where Python's stack does not suffice for what is nested."""
        message = "an expression, a chain of elif, or a chain of device functions, is nested too deep"
        fix = "give parts of it names, write a loop, or split the chain by a comparison around its halves"
        return self.error(self.tree, message, fix)


def source_of(function: object) -> FunctionSource:
    """Read the source of a function that a ``def`` statement made.

    Raises:
        BuildError: It is no such function, or its source is not there, or is not what Python has compiled.
    """
    if not _is_plain(function):
        raise BuildError(f"got {type(function).__name__}, expected a function", fix=_function_fix(function))
    if function.__name__ == "<lambda>":
        raise BuildError("got a lambda, expected a function", fix="decorate a function that `def` makes")
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise _without_source(function) from None
    except tokenize.TokenError:
        raise _with_other_source(function) from None
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    text = "\n" * (first - 1) + "".join(lines)  # which keeps the numbers of the lines
    if lines[0][:1].isspace():
        text = "\n" * (first - 2) + "if True:\n" + "".join(lines)
    if not _is_compiled_from(function.__code__, "".join(linecache.getlines(file, function.__globals__)), text):
        raise _with_other_source(function)
    outer = ast.parse(text).body[0]
    tree = outer.body[0] if isinstance(outer, ast.If) else outer
    if not isinstance(tree, ast.FunctionDef):
        message = f"got {function.__name__!r}, which is no plain function"
        raise BuildError(message, fix="decorate a function that `def` makes, not `async def`")
    source = FunctionSource(function, file, [line.rstrip("\n") for line in lines], first, tree)
    try:
        MatchRewriter().visit(tree)
    except RecursionError:
        raise source.nested_too_deep() from None
    return source


def _is_plain(given: object) -> TypeGuard[FunctionType]:
    """Whether the interpreter runs a function. Nuitka changes `isinstance`, which is true of what it compiles, too."""
    return type(given) is FunctionType


def _without_source(function: FunctionType) -> BuildError:
    message = f"the source of {function.__name__!r} is not available, and a kernel is compiled from its source"
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    if file.endswith(".py") and not linecache.getlines(file, function.__globals__):
        message += f": there is no {file}"
        fix = (
            "install the file beside the compiled one; 'Frozen applications' of docs/install.md says how freezers do it"
        )
        return BuildError(message, fix=fix)
    fix = (
        "define the function in a file, or in a cell of a notebook without %%time and the like; source that a "
        "program writes is registered with `linecache.lazycache`"
    )
    return BuildError(message, fix=fix)


def _with_other_source(function: FunctionType) -> BuildError:
    """The error for a source that Python makes another function of. Under ``python -c``, it is that of the command."""
    if function.__code__.co_filename == "<string>":
        return _without_source(function)
    message = f"the source of {function.__name__!r} has changed since Python compiled it"
    fix = "import the module again, or start a new process; tools that rewrite functions must leave kernels out"
    return BuildError(message, fix=fix)


def _function_fix(given: object) -> str:
    """What to pass in the place of what is no function."""
    if isinstance(given, (int, str, tuple, list)):
        return "name the options, as in @vy.kernel(workgroup_size=64) or @vy.kernel(shape='n')"
    fix = "decorate a function that `def` makes"
    if isinstance(given, type):
        return f"{fix}; a structure is @vy.struct"
    if inspect.isroutine(given) or hasattr(given, "__code__"):
        return f"{fix}, in a module that no tool compiles to machine code, as Cython and Nuitka do"
    return fix


_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
"""The flags of what `from __future__ import` turns on, which a notebook does for later cells."""


def _is_compiled_from(code: CodeType, file: str, text: str) -> bool:
    """Whether Python makes this code of a function from the text of its file.

    In a file that is no module, as a page of documentation, it is compared with the text of the function alone: what
    does not depend on the names around it.
    """
    flags, place = code.co_flags & _FUTURE | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, (code.co_name, code.co_firstlineno)
    known = _functions_of(file, code.co_filename, flags)
    found = (_functions_of(text, code.co_filename, flags) or {} if known is None else known).get(place)
    if found is None or found == code:
        return found is not None
    if known is None:
        return _outline(found) == _outline(code)
    apart = _functions_of(file, code.co_filename, flags, apart=True) or {}
    return apart.get(place) == code or _is_rewritten(code)


def _is_rewritten(code: CodeType) -> bool:
    """Whether pytest has rewritten an assertion in the function: it uses names that no source can have."""
    return any(name.startswith("@") for name in (*code.co_names, *code.co_varnames))


@functools.lru_cache(maxsize=8)
def _functions_of(
    text: str, file: str, flags: int, *, apart: bool = False
) -> Mapping[tuple[str, int], CodeType] | None:
    """The code of each function in a text, by its name and the number of its first line; None if it is no module.

    `apart`: each statement is compiled by itself, as IPython does, which makes other code of the calls of a module.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # Python has given them already
            if apart:
                statements = compile(text, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True).body
                modules = [ast.Module([statement], []) for statement in statements]
            found = [compile(x, file, "exec", flags, dont_inherit=True) for x in (modules if apart else [text])]
    except (SyntaxError, ValueError, RecursionError):
        return None
    for code in found:  # which grows
        found += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return {(code.co_name, code.co_firstlineno): code for code in found}


def _outline(code: CodeType) -> tuple[object, ...]:
    """The names, numbers, texts and lines of a function, which do not depend on what stands around it."""
    constants = [repr(x) for x in code.co_consts if not isinstance(x, CodeType)]
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    return names, constants, {line for *_, line in code.co_lines() if line is not None}


def closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The values of the names that a function takes from the functions around it."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def scaled_names(statements: Sequence[ast.AST]) -> dict[str, ast.AST]:
    """The names that statements give multiples of what they stand for, each with the first node that computes one.

    A shift by one bit is not among them: a CRC or a shift register shifts bits out of its type on purpose.
    """
    found: dict[str, ast.AST] = {}
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        match node:
            case ast.AugAssign(ast.Name(name), op, by) if _scales(op, by):
                found.setdefault(name, node)
            case ast.Assign([ast.Name(name)], value):
                for part in ast.walk(value):
                    match part:
                        case ast.BinOp(ast.Name(other), op, by) if other == name and _scales(op, by):
                            found.setdefault(name, part)
                        case ast.BinOp(_, ast.Mult(), ast.Name(other)) if other == name:
                            found.setdefault(name, part)
    return found


def _scales(op: ast.operator, by: ast.expr) -> bool:
    is_one = isinstance(by, ast.Constant) and by.value == 1
    return isinstance(op, ast.Mult) or (isinstance(op, ast.LShift) and not is_one)


def assigned_names(statements: Sequence[ast.AST]) -> dict[str, ast.AST]:
    """The names that statements give values to, each with the first node that does; inner scopes are left out."""
    found: dict[str, ast.AST] = {}
    stack: list[ast.AST] = list(reversed(statements))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            path = path_of(node)
            if path is not None:
                found.setdefault(path.partition(".")[0], node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, node)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.For) and is_unnamed(node.target):
            stack.extend(reversed((node.iter, *node.body, *node.orelse)))
            continue
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found |= {
                inner.target.id: inner
                for inner in ast.walk(node)
                if isinstance(inner, ast.NamedExpr) and inner.target.id not in found
            }
            continue
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return found


def path_of(node: ast.expr) -> str | None:
    """How a name, or a part of what it stands for, is written, as in ``ball.place``; None for other expressions."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *names]) if isinstance(node, ast.Name) else None


def changed_paths(tree: ast.FunctionDef) -> Mapping[str, int]:
    """The things to a part of which a function assigns, each with the first line that does."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            path = path_of(node.value)
            if path is not None:
                found[path] = min(node.lineno, found.get(path, node.lineno))
    return found


def is_unnamed(target: ast.expr) -> bool:
    """Whether the target of a loop is ``_``, which nothing reads."""
    return isinstance(target, ast.Name) and target.id == "_"


def leaves_iteration(statements: Sequence[ast.AST]) -> bool:
    """Whether a ``break`` or ``continue`` of the loop around the statements is among them."""
    stack = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Break, ast.Continue)):
            return True
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def has_return(statements: Sequence[ast.AST]) -> bool:
    """Whether a ``return`` is among the statements, or inside of one."""
    stack = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            return True
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def stem_of(name: str) -> str:
    """A name for a local of the program; names that begin with two underscores are reserved."""
    stem = name.lstrip("_")
    return stem if stem.isascii() and stem.isidentifier() else "v"
