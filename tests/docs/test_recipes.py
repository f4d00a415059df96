"""The recipes of CONTRIBUTING.md: the files that they name exist, and recipes are applied in a scratch copy."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2]
NAMED = sorted(set(re.findall(r"`((?:packages|examples|docs)/[^`]+)`", RECIPES)))


@pytest.mark.parametrize("path", NAMED)
def test_a_file_that_a_recipe_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources of all packages, with the bytecode that is there, and the filetests of the foundation."""
    for source in (*ROOT.glob("packages/*/src"), ROOT / "packages/vyre-foundation/tests/filetests"):
        unfinished = shutil.ignore_patterns("*.pyc.*")  # by other processes
        shutil.copytree(source, tmp_path / source.relative_to(ROOT), ignore=unfinished)
    return tmp_path


def run(copy: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    sources = os.pathsep.join(map(str, copy.glob("packages/*/src")))
    environment = {**os.environ, "PYTHONPATH": sources, "VYRE_CACHE": "off", **variables}
    return subprocess.run(
        [sys.executable, *command], env=environment, cwd=copy, capture_output=True, text=True, timeout=300
    )


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), "utf-8")


def test_a_pass_is_added_as_its_recipe_says(copy: Path) -> None:
    foundation = copy / "packages/vyre-foundation"
    package = foundation / "src/vyre_foundation/optimize"
    (package / "nothing.py").write_text(
        '"""Nothing."""\n\nfrom vyre_foundation.passes import Pass\n\n'
        'NOTHING = Pass("nothing", "Change nothing", lambda program, facts: program)\n'
    )
    edit(
        package / "__init__.py",
        "import HOIST\n",
        "import HOIST\nfrom vyre_foundation.optimize.nothing import NOTHING\n",
    )
    edit(package / "__init__.py", "    REGIONS,\n", "    REGIONS,\n    NOTHING,\n")
    shutil.copy(ROOT / "packages/vyre-foundation/tests/test_filetests.py", foundation / "tests")
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "packages/vyre-foundation/tests/test_filetests.py")
    assert "test_every_pass_has_files" in run(copy, *command, "-k", "test_every_pass_has_files").stdout
    (foundation / "tests/filetests/nothing").mkdir()
    (foundation / "tests/filetests/nothing/kept.vyre").write_text(
        "// Every program is kept.\n// pass: nothing\nprogram p workgroup(1, 1, 1) {\n  write out: u32[1] @0;\n\n"
        "  out[0] = 1;\n}\n// unchanged\n"
    )
    done = run(copy, *command, "-k", "test_every_pass_has_files or nothing/kept")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_command_is_added_as_its_recipe_says(copy: Path) -> None:
    package = copy / "packages/vyre/src/vyre/cli"
    (package / "greet.py").write_text(
        'import click\n\n\n@click.command()\ndef greet() -> None:\n    """Greet."""\n    click.echo("hello")\n'
    )
    row = '    "greet": Command("vyre.cli.greet:greet", "Greet."),\n'
    edit(package / "__init__.py", '    "natives": Command(', f'{row}    "natives": Command(')
    done = run(copy, "-c", "from vyre.cli import main; main(['greet'])")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def conforms(copy: Path, backend: str, cases: str) -> None:
    """`vyre-conform` proves `backend` by some `cases`, of which there is at least one."""
    start = "from vyre_conform.cli import main; main()"
    done = run(copy, "-c", start, "run", "--backend", backend, "--cases", cases, "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr


def imports_of(copy: Path, code: str) -> str:
    """What a program prints that has `vyre` and NumPy."""
    done = run(copy, "-c", f"import numpy as np\nimport vyre as vy\n{code}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_algorithm_is_added_as_its_recipe_says(copy: Path) -> None:
    package = copy / "packages/vyre-algorithms/src/vyre_algorithms"
    (package / "ends.py").write_text(
        '"""Ends."""\n\nimport numpy as np\n\nfrom vyre_algorithms.move import gather\n\n\n'
        "def ends(x, /, *, backend=None):\n    return gather(x, np.array([0, -1]), backend=backend)\n"
    )
    edit(package / "__init__.pyi", "from .exact import", "from .ends import ends as ends\nfrom .exact import")
    edit(copy / "packages/vyre/src/vyre/__init__.py", '    "exact_dot",\n', '    "ends",\n    "exact_dot",\n')
    assert imports_of(copy, "print(vy.ends(np.arange(5), backend='reference'))") == "[0 4]\n"
    cases = copy / "packages/vyre-conform/src/vyre_conform/cases"
    edit(cases / "algorithms.py", '    "dot":  ', '    "ends": lambda b: va.ends(words(9), backend=b),\n    "dot":  ')
    # Of the others three are enough.
    few = 'CALLS = {name: CALLS[name] for name in ("sum", "ends", "dot", "xor")}'
    edit(cases / "algorithms.py", "}\n# fmt: on\n\n\n", f"}}\n{few}\n\n\n")
    tests = copy / "packages/vyre-conform/tests/cases"
    tests.mkdir(parents=True)
    shutil.copy(ROOT / "packages/vyre-conform/tests/cases/test_algorithms.py", tests)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "packages/vyre-conform/tests/cases/test_algorithms.py")
    before = json.loads((cases / "algorithms.json").read_text("utf-8"))
    refused = run(copy, *command, "-k", "test_the_file")
    accepting = "VYRE_ACCEPT=1 pytest packages/vyre-conform/tests/cases/test_algorithms.py"
    assert accepting in refused.stdout
    done = run(copy, *command, "-k", "test_the_file", VYRE_ACCEPT="1")
    assert done.returncode == 0, done.stdout
    after = json.loads((cases / "algorithms.json").read_text("utf-8"))
    assert {name for name, digests in after.items() if before.get(name) != digests} == {"ends"}
    assert before.keys() - after.keys() == before.keys() - {"sum", "dot", "xor"}
    conforms(copy, "vyre_conform.controls.mutants:engine-generous", "algorithms:ends:*")


def test_an_operation_of_scans_is_added_as_its_recipe_says(copy: Path) -> None:
    package = copy / "packages/vyre-algorithms/src/vyre_algorithms"
    edit(package / "monoids.py", '"and", "or", "xor")\n"""The', '"and", "or", "xor", "xnor")\n"""The')
    edit(package / "monoids.py", 'case "and" | "or" | "xor":', 'case "and" | "or" | "xor" | "xnor":')
    edit(
        package / "monoids.py",
        '    if operation in ("and", "or", "xor"):\n',
        '    if operation == "xnor":\n'
        "        return _simple(operation, dtype, dtype, all_ones(dtype), lambda a, b: ~(a ^ b))\n"
        '    if operation in ("and", "or", "xor"):\n',
    )
    edit(package / "reductions.py", 'elif operation == "and":', 'elif operation in ("and", "xnor"):')
    x = "np.arange(7, dtype=np.uint8)"
    code = f"print(vy.scan({x}, 'xnor'), vy.reduce({x}, 'xnor'), vy.reduce({x}[:0], 'xnor'))"
    scanned = np.bitwise_xor.accumulate(np.arange(7, dtype=np.uint8)) ^ np.where(np.arange(7) % 2, 255, 0).astype("u1")
    assert imports_of(copy, code) == f"{scanned} {scanned[-1]} 255\n"


def test_a_conformance_case_is_added_as_its_recipe_says(copy: Path) -> None:
    cases = copy / "packages/vyre-conform/src/vyre_conform/cases"
    (cases / "tally.py").write_text(
        "from vyre_conform.address import address\nfrom vyre_conform.case import Exactly, Launch, fixed\n"
        "from vyre_foundation import program, u32\n\n\n"
        'def specs():\n    yield fixed(address("tally", "ids"), _ids)\n\n\n'
        'def _ids():\n    with program("tally", 1) as p:\n        out = p.write("out", u32, 2)\n'
        "        out[p.global_id(0)] = p.global_id(0) + 1\n"
        "    expected = (1).to_bytes(4, 'little') + (2).to_bytes(4, 'little')\n"
        "    return Launch(program=p.build(), inputs={}), Exactly((expected,))\n"
    )
    edit(cases / "__init__.py", "    subgroups,\n    temptations,", "    subgroups,\n    tally,\n    temptations,")
    edit(cases / "__init__.py", '    "traps":      ', '    "tally":      tally.specs,\n    "traps":      ')
    conforms(copy, "vyre_conform.controls.mutants:engine-generous", "tally:ids")


def test_a_planted_fault_is_added_as_its_recipe_says(copy: Path) -> None:
    controls = copy / "packages/vyre-conform/src/vyre_conform/controls/rewrites.py"
    function = """
def _bits_of_either(node: Expr) -> Expr:
    match node:
        case Apply(found, (x, y)) if found.id == "xor":
            return op("or", x, y)
    return node


_optimizer, _emitter ="""
    edit(controls, "\n_optimizer, _emitter =", function)
    row = (
        '    _optimizer("bits-of-either", "x ^ y is x | y", optimizes(in_expressions(_bits_of_either)), "ops:xor:*"),\n'
    )
    edit(controls, "\nFAULTS = (\n", f"\nFAULTS = (\n{row}")
    done = run(copy, "-c", "from vyre_conform.cli import main; main()", "controls", "bits-of-either")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 planted faults killed" in done.stdout


def test_a_pass_of_one_backend_is_added_as_its_recipe_says(copy: Path) -> None:
    package = copy / "packages/vyre-driver-cpu/src/vyre_driver_cpu"
    (package / "nothing.py").write_text("def nothing(program):\n    return program\n")
    stage = '        Pass("nothing", "Change nothing", lambda p, c: codegen.nothing(p)),\n'
    edit(package / "dialect.py", "    return (\n", f"    return (\n{stage}")
    line = "import jam_lookups\n"
    edit(package / "codegen" / "stages.py", line, f"{line}from vyre_driver_cpu.nothing import nothing\n")
    line = "    jam_lookups as jam_lookups,\n"
    edit(package / "codegen" / "__init__.pyi", line, f"{line}    nothing as nothing,\n")
    conforms(copy, "cpu", "ops:add:dtype=i32,*")


def test_an_operation_is_added_as_its_recipe_says(copy: Path) -> None:
    row = """
AVERAGE = Op(
    "average", 100, 2, INTEGERS, Result.SAME, lambda dtype, x, y: (x + y) >> 1, "(x + y) / 2, rounded down",
    Laws(commutative=True, idempotent=True),
    witnesses=(*at(u32, (2, 5, 3), (2**32 - 1, 2**32 - 1, 2**32 - 1)), *at(i32, (-3, 0, -2), (-1, 1, 0))),
)

ROWS = ("""
    edit(copy / "packages/vyre-foundation/src/vyre_foundation/ops/arithmetic.py", "\nROWS = (", row)
    edit(copy / "packages/vyre-foundation/src/vyre_foundation/ops/arithmetic.py", "*(SQRT,", "*(AVERAGE, SQRT,")
    form = "(x & y) + ((x ^ y) >> 1),\n"
    arrays = copy / "packages/vyre-reference/src/vyre_reference/vector/integers.py"
    edit(arrays, '    "abs_diff": ', f'    "average": lambda t, x, y: {form}    "abs_diff": ')
    rules = copy / "packages/vyre-driver/src/vyre_driver/legalization/forms/integers.py"
    edit(rules, '    "abs_diff": ', f'    "average": lambda x, y: {form}    "abs_diff": ')
    conforms(copy, "vyre_conform.controls.mutants:engine-generous", "ops:average:*,values=*")


@pytest.mark.slow
def test_a_rewrite_rule_is_added_as_its_recipe_says(copy: Path) -> None:
    rules = copy / "packages/vyre-foundation/src/vyre_foundation/optimize/rules/integers.py"
    line = "    rule(INTEGER, x * c + x,          x * (c + 1)),\n"
    edit(rules, line, f"{line}    rule(INTEGER, (x * c) * d + x,    x * (c * d + 1)),\n")
    tests = "packages/vyre-foundation/tests/optimize/rules"
    shutil.copytree(ROOT / tests, copy / tests)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", tests, "-k", "test_rules_are_true and integers")
    done = run(copy, *command)
    assert done.returncode == 0, done.stdout


def test_a_function_of_the_dialect_is_added_as_its_recipe_says(copy: Path) -> None:
    package = copy / "packages/vyre-math/src/vyre_math"
    described = (package / "described.py").read_text("utf-8")
    line = next(line for line in described.splitlines() if line.startswith('    "exp": '))
    edit(package / "described.py", line, f'    "half": _D("x / 2", "every x", "±0 at ±0, ±inf at ±inf", 0.5),\n{line}')
    body = "(lambda x: x * 0.5, lambda x: x * 0.5)"
    edit(package / "dialect.py", '    "exp":   (', f'    "half":  {body},\n    "exp":   (')
    conforms(copy, "reference", "calls:math.half:*")


def test_a_backend_is_added_as_its_recipe_says(copy: Path) -> None:
    """The least example under another name, with the metadata that its installation would write."""
    source = copy / "packages/vyre-driver-tally/src"
    shutil.copytree(ROOT / "examples/vyre-driver-abacus/src/vyre_driver_abacus", source / "vyre_driver_tally")
    for file in source.rglob("*.py"):
        file.write_text(file.read_text("utf-8").replace("abacus", "tally"), "utf-8")
    metadata = source / "vyre_driver_tally-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vyre-driver-tally\nVersion: 1.0.0\n")
    (metadata / "entry_points.txt").write_text("[vyre.backends]\ntally = vyre_driver_tally:registration\n")
    conforms(copy, "tally", "ops:add:dtype=i32,*")
