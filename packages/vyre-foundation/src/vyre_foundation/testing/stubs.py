"""Stubs for modules whose functions are made from a table: what type checkers and editors read of them."""

from __future__ import annotations

from difflib import unified_diff
from inspect import cleandoc, signature
from pathlib import Path
from types import FunctionType, ModuleType

_HEAD = "# Made from the table; `VYRE_ACCEPT=1 pytest` of this package writes it anew.\n"


def stub_of(module: ModuleType, head: str) -> str:
    """Give the text of the stub: `head`, then each function of ``__all__`` with its signature and summary."""
    functions = (getattr(module, name) for name in module.__all__)
    names = "".join(f'    "{name}",\n' for name in module.__all__)
    return f"{_HEAD}\n{head}\n\n__all__ = [\n{names}]\n\n" + "\n".join(map(_function, functions))


def _function(function: FunctionType) -> str:
    parameters = ", ".join(f"{name}: {p.annotation}" for name, p in signature(function).parameters.items())
    summary = cleandoc(function.__doc__ or "").partition("\n")[0]
    return f'def {function.__name__}({parameters}) -> {signature(function).return_annotation}:\n    """{summary}"""\n'


def check_stub(module: ModuleType, head: str, *, accept: bool = False) -> None:
    """Compare the stub beside `module` with its functions; with `accept`, write it anew.

    Args:
        module: Has ``__all__``, names of functions with string annotations.
        head: The first lines of the stub after the comment: its imports.
        accept: Whether to write the stub where it differs.

    Raises:
        AssertionError: The stub differs; the message is the difference.
    """
    assert module.__file__ is not None
    file = Path(module.__file__).with_suffix(".pyi")
    now, stored = stub_of(module, head), file.read_text("utf-8") if file.exists() else ""
    if accept and now != stored:
        file.write_text(now, "utf-8")
    elif now != stored:
        lines = unified_diff(stored.splitlines(), now.splitlines(), lineterm="")
        raise AssertionError(f"{file.name} differs; VYRE_ACCEPT=1 accepts it:\n" + "\n".join(lines))
