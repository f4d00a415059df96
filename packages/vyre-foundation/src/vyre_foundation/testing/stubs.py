"""Stubs for modules whose functions are made from a table: what type checkers and editors read of them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc, signature
from pathlib import Path
from types import FunctionType, ModuleType

from vyre_foundation.testing.goldens import check_golden

_HEAD = "# Made from the table; `VYRE_ACCEPT=1 pytest` of this package writes it anew.\n"


def stub_of(module: ModuleType, head: str, keeps_type: Callable[[str], bool]) -> str:
    """Give the text of the stub: `head`, then each function of ``__all__`` with its signature and summary."""
    names = "".join(f'    "{name}",\n' for name in module.__all__)
    return f"{_HEAD}\n{head}\n\n__all__ = [\n{names}]\n\n" + "\n".join(
        _function(getattr(module, name), keeps_type(name)) for name in module.__all__
    )


def _function(function: FunctionType, keeps_type: bool) -> str:
    """A function, and where the result has the type of the operands an overload that says so."""
    name, names = function.__name__, list(signature(function).parameters)
    parameters = ", ".join(f"{p.name}: {p.annotation}" for p in signature(function).parameters.values())
    summary = cleandoc(function.__doc__ or "").partition("\n")[0]
    result = signature(function).return_annotation
    plain = f'def {name}({parameters}) -> {result}:\n    """{summary}"""\n'
    if not keeps_type:
        return plain
    first, *others = names
    same = ", ".join([f"{first}: _V", *(f"{other}: _V | Number" for other in others)])
    return f"@overload\ndef {name}({same}) -> _V: ...\n@overload\n{plain}"


def check_stub(
    module: ModuleType, head: str, test: str, *, keeps_type: Callable[[str], bool] = lambda _: False
) -> None:
    """Compare the stub beside `module` with its functions, or write it where findings are accepted.

    Args:
        module: Has ``__all__``, names of functions with string annotations.
        head: The first lines of the stub after the comment: its imports.
        test: The file of the test.
        keeps_type: Whether the result of a function, by name, has the type of its operands.

    Raises:
        AssertionError: The stub differs; the message is the difference.
    """
    assert module.__file__ is not None
    check_golden(Path(module.__file__).with_suffix(".pyi"), stub_of(module, head, keeps_type), test)
