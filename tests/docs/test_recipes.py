"""The recipes of CONTRIBUTING.md: the files that they name exist, and two of them are applied in a scratch copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2]
NAMED = sorted(set(re.findall(r"`(packages/[^`]+)`", RECIPES)))


@pytest.mark.parametrize("path", NAMED)
def test_a_file_that_a_recipe_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources of all packages, and the filetests of the foundation."""
    for source in (*ROOT.glob("packages/*/src"), ROOT / "packages/vyre-foundation/tests/filetests"):
        shutil.copytree(source, tmp_path / source.relative_to(ROOT), ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    sources = os.pathsep.join(map(str, copy.glob("packages/*/src")))
    environment = {**os.environ, "PYTHONPATH": sources, "VYRE_CACHE": "off"}
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
    assert "test_every_pass_has_files" in run(copy, *command).stdout
    (foundation / "tests/filetests/nothing").mkdir()
    (foundation / "tests/filetests/nothing/kept.vyre").write_text(
        "// Every program is kept.\n// pass: nothing\nprogram p workgroup(1, 1, 1) {\n  write out: u32[1] @0;\n\n"
        "  out[0] = 1;\n}\n// unchanged\n"
    )
    done = run(copy, *command)
    assert done.returncode == 0, done.stdout


def test_a_command_is_added_as_its_recipe_says(copy: Path) -> None:
    package = copy / "packages/vyre/src/vyre/cli"
    (package / "greet.py").write_text(
        'import click\n\n\n@click.command()\ndef greet() -> None:\n    """Greet."""\n    click.echo("hello")\n'
    )
    row = '    "greet": Command("vyre.cli.greet:greet", "Greet."),\n'
    edit(package / "__init__.py", '    "natives": Command(', f'{row}    "natives": Command(')
    done = run(copy, "-c", "from vyre.cli import main; main(['greet'])")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
