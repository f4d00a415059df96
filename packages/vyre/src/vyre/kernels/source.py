"""The source of a function: its syntax tree, with places for messages."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vyre.kernels.errors import KernelError
from vyre.kernels.matching import MatchRewriter
from vyre_foundation.errors import BuildError


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
        return KernelError(
            message, fix=fix, where=f"{self.file}:{number}:{len(before) + 1}", line=line.rstrip(), caret=caret
        )


def source_of(function: Callable[..., Any]) -> FunctionSource:
    """Read the source of a function that a ``def`` statement made.

    Raises:
        BuildError: It is no such function, or its source is not there.
    """
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        got = "a lambda" if inspect.isfunction(function) else type(function).__name__
        raise BuildError(f"got {got}, expected a function", fix="decorate a function that `def` makes")
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        message = f"the source of {function.__name__!r} is not available, and a kernel is compiled from its source"
        raise BuildError(message, fix="define the function in a file or in a notebook") from None
    is_indented = lines[0][:1].isspace()
    text = ("if True:\n" if is_indented else "") + "".join(lines)
    try:
        outer = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        raise _changed(function) from None
    tree = outer.body[0] if isinstance(outer, ast.If) else outer
    if not _is_of(tree, inspect.unwrap(function)):
        raise _changed(function)
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    if not isinstance(tree, ast.FunctionDef):
        message = f"got {function.__name__!r}, which is no plain function"
        raise BuildError(message, fix="decorate a function that `def` makes, not `async def`")
    ast.increment_lineno(tree, first - 1 - is_indented)
    MatchRewriter().visit(tree)
    return FunctionSource(function, file, [line.rstrip("\n") for line in lines], first, tree)


def _is_of(tree: ast.stmt, function: Callable[..., Any]) -> bool:
    """Whether a function was made by this statement, as far as the names of both tell."""
    if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    code, given = function.__code__, tree.args
    named = [node.arg for node in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return code.co_name == tree.name and list(code.co_varnames[: len(named)]) == named


def _changed(function: Callable[..., Any]) -> BuildError:
    message = f"the source of {function.__name__!r} has changed since it was imported, and a kernel is compiled from it"
    return BuildError(message, fix="import the module again, or start a new process")


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
