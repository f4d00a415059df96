"""The driver layer's public names and its contract, with what the sources say of them. Nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HEAD = ("name", "of", "is")
PACKAGES = Path(__file__).parents[2] / "packages"


def surface_rows() -> Iterator[tuple[str, str, str]]:
    """Every name: where it is at home, and the first sentence about it."""
    for name, module in sorted(_homes(), key=lambda item: (item[1], item[0].lower())):
        yield f"`{name}`", f"`{module}`", sentence(said(f"vyre_driver.{module}", name))


def _homes() -> Iterator[tuple[str, str]]:
    """The public names and their modules, as the stub has them."""
    stub = PACKAGES / "vyre-driver" / "src" / "vyre_driver" / "__init__.pyi"
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.name, str(node.module)) for alias in node.names)


def said(module: str, name: str) -> str:
    """The docstring of a class or function, or the string behind an assignment; found where it is defined."""
    body = _parsed(module).body
    for place, node in enumerate(body):
        match node:
            case ast.ClassDef(name=found) | ast.FunctionDef(name=found) if found == name:
                return ast.get_docstring(node) or ""
            case ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found)) if found == name:
                return _string_after(body[place + 1 :]) or _other_name(node.value)
            case ast.ImportFrom(module=str(source)) if any(name == (a.asname or a.name) for a in node.names):
                return said(f"{module}.{source}" if node.level else source, name)
    raise LookupError(f"{name} is not defined in {module}")


def sentence(text: str) -> str:
    """The first one, on one line."""
    line = " ".join(text.split())
    first, point, _ = line.partition(". ")
    return first + "." if point else line


def _string_after(rest: list[ast.stmt]) -> str:
    for node in rest:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return str(node.value.value)
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            break
    return ""


def _other_name(value: ast.expr | None) -> str:
    return f"Another name of `{value.id}`." if isinstance(value, ast.Name) else ""


@cache
def _parsed(module: str) -> ast.Module:
    top, _, rest = module.partition(".")
    source = PACKAGES / top.replace("_", "-") / "src" / top / rest.replace(".", "/")
    files = source.with_suffix(".py"), source / "__init__.pyi", source / "__init__.py"  # the stub of a lazy package
    return ast.parse(next(file for file in files if file.exists()).read_text("utf-8"))


CONTRACT_HEAD = ("method", "does", "by default")


def contract_rows(cls: str, module: str) -> Iterator[tuple[str, str, str]]:
    """Every public method of the contract in its order, with what the default implementation does."""
    (found,) = (node for node in _parsed(module).body if isinstance(node, ast.ClassDef) and node.name == cls)
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"`{node.name}`", sentence(ast.get_docstring(node) or ""), _default(node)


def _default(method: ast.FunctionDef) -> str:
    if any(isinstance(d, ast.Name) and d.id == "abstractmethod" for d in method.decorator_list):
        return "**required**"
    match method.body[1:]:
        case []:
            return "nothing"
        case [ast.Raise()]:
            return "`UnsupportedFeature`"
        case [ast.Return(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=str(other))))]:
            return f"as `{other}`"
        case [ast.Return(value=ast.Call(func=ast.Name() as other, args=[]))]:
            return f"`{ast.unparse(other)}()`"
        case [ast.Expr(value=ast.Call(func=ast.Name(id=str(refusal))))] if refusal.startswith("default_"):
            return "`UnsupportedFeature`"
        case [ast.Return(value=ast.Constant() | ast.Tuple() | ast.Dict() as value)]:
            return f"`{ast.unparse(value)}`"
        case _:
            return "made of the others"
