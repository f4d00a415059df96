"""Syntax of later versions of Python: the trees that their parsers make, made here by hand."""

import ast

import numpy as np
import pytest

import vyre as vy
from vyre.kernels.annotations import signature_of
from vyre.kernels.compile import CompiledKernel, Options, compile_kernel
from vyre.kernels.source import source_of


class Later(ast.NodeTransformer):
    """Writes ``*x`` for ``star(x)`` and ``**x`` for ``x: star`` in comprehensions, and another node for ``other``."""

    def __init__(self, other: ast.AST | None = None) -> None:
        self.other = other

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "star":
            return ast.copy_location(ast.Starred(node.args[0], ast.Load()), node)
        return self.generic_visit(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "star":
            node.value = None
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(self.other, node) if node.id == "other" else node

    def visit_Pass(self, node: ast.Pass) -> ast.AST:
        return ast.copy_location(self.other, node)


def compiled(function, other: ast.AST | None = None) -> CompiledKernel:
    source = source_of(function)
    Later(other).visit(source.tree)
    return compile_kernel(source, signature_of(source), Options(None, None, None))


ROWS, TABLES = ((1, 2), (3, 4)), ({"a": 10, "b": 20}, {"b": 30})


def unpacking(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    weights = [star(row) for row in ROWS]
    table = {rows: star for rows in TABLES}  # noqa: C420
    total = vy.u32(sum(star(row) for row in ROWS))
    for weight in weights:
        total = total * 2 + weight
    return x[vy.index()] + total + table["a"] + table["b"] + len({star(row) for row in (*ROWS, *ROWS)})


def test_comprehensions_unpack() -> None:
    """PEP 798, Python 3.15: ``[*row for row in rows]`` and ``{**table for table in tables}``."""
    weights = [x for row in ROWS for x in row]
    total = sum(weights)
    for weight in weights:
        total = total * 2 + weight
    out = vy.run(compiled(unpacking).program, x=np.arange(3, dtype=np.uint32))["out"]
    assert out.tolist() == [k + total + 10 + 30 + 4 for k in range(3)]


def expression(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    name = other
    return x[name]


def statement(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    pass
    return x[0]


@pytest.mark.parametrize(
    ("function", "base", "name", "message"),
    [
        (expression, ast.expr, "TemplateStr", "got a template string, which a kernel cannot have"),
        (expression, ast.expr, "Unheard", "got Unheard, which a kernel cannot have"),
        (statement, ast.stmt, "TypeAlias", "got `type`, which a kernel cannot have"),
        (statement, ast.stmt, "Unheard", "got Unheard, which a kernel cannot have"),
    ],
)
def test_other_nodes_are_refused_at_their_line(function, base, name: str, message: str) -> None:
    node = type(name, (base,), {"_attributes": base._attributes})()
    with pytest.raises(vy.KernelError) as error:
        compiled(function, node)
    assert error.value.message == message
    assert error.value.where.startswith(f"{__file__}:{function.__code__.co_firstlineno + 1}:")
    assert error.value.fix == "write it without"
