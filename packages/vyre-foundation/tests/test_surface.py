"""What `import vyre_foundation` gives and costs."""

import subprocess
import sys

import pytest

import vyre_foundation
import vyre_foundation.ir

HEAVY = """
    ml_dtypes hypothesis asyncio unittest multiprocessing sqlite3
""".split()


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_public_names_are_listed_in_order_and_exist() -> None:
    for package in (vyre_foundation, vyre_foundation.ir):
        names = package.__all__
        assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), _natural(name)))
        assert all(hasattr(package, name) for name in names)
        assert not [name for name in names if name.startswith("_")]


def _natural(name: str) -> tuple[str, int, str]:
    """As the linter orders them: i8 before i16."""
    stem = name.rstrip("0123456789")
    return (stem, int(name[len(stem) :] or 0), name)


def test_an_import_loads_numpy_and_blake3_and_nothing_heavy() -> None:
    before = set(python("import sys, numpy, blake3; print(*sys.modules)").split())
    after = set(python("import vyre_foundation, sys; print(*sys.modules)").split())
    others = {name.partition(".")[0] for name in after - before}
    assert not after & set(HEAVY) - before
    assert others - set(sys.stdlib_module_names) - {"_virtualenv"} == {"lazy_loader", "vyre_foundation"}


def test_bfloat16_is_loaded_when_it_is_asked_for() -> None:
    code = (
        "import vyre_foundation as v, sys; print('ml_dtypes' in sys.modules, v.bf16.numpy, 'ml_dtypes' in sys.modules)"
    )
    assert python(code).split() == ["False", "bfloat16", "True"]


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="'vyre_foundation' has no attribute 'prase'"):
        vyre_foundation.prase  # noqa: B018
    assert {"parse", "u32", "__version__"} <= set(dir(vyre_foundation))


def test_version() -> None:
    assert vyre_foundation.__version__.count(".") == 2
