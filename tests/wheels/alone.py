"""Build one layer the way a release is built, install it alone, and see that it stands.

    python tests/wheels/alone.py vyre-driver WORK_FOLDER

Each needed layer becomes an sdist, and the sdist becomes the wheel. The wheel goes into an empty environment. Of the
family it finds there only what its own metadata asks for, always from the wheels built here and never from an index.
Then every submodule is imported and every entry point loaded (`walk.py`).
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build/wheels"
"""What was built, by distribution and digest of its sources: environments of one run build each distribution once."""
NAME = re.compile(r"[A-Za-z0-9._-]+")


def main(name: str, work: Path) -> int:
    shutil.rmtree(work, ignore_errors=True)
    wheels = work / "wheels"
    family = closure(name)
    for member in family:
        build(member, wheels)
    check_contents(name, wheels)

    python = empty_environment(work / "alone")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    pins = work / "family.txt"
    pins.write_text("".join(f"{member} @ {one(wheels, member, 'whl').as_uri()}\n" for member in family), "utf-8")
    run(pip, "install", "--quiet", "--no-compile", "--find-links", wheels, "--constraint", pins, name)
    run(pip, "check")
    run([python, "-I", "-W", "error", ROOT / "tests/wheels/walk.py"], name, *family)
    return 0


def closure(name: str) -> list[str]:
    """The layer and every layer below it that its metadata asks for, lowest first."""
    project = tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [match.group() for text in project["dependencies"] if (match := NAME.match(text))]
    below = [member for sibling in needed if (ROOT / "packages" / sibling).is_dir() for member in closure(sibling)]
    return list(dict.fromkeys([*below, name]))


def build(name: str, wheels: Path) -> None:
    """Put the sdist and the wheel into `wheels`, from `BUILT` where the same sources were built before."""
    built = BUILT / name / digest(name)
    if not built.is_dir():
        work = built.with_name(f"{built.name}.{os.getpid()}")
        run([sys.executable, "-m", "build", "--no-isolation"], "--outdir", work, ROOT / "packages" / name)
        try:
            work.rename(built)
        except OSError:  # another environment was first
            shutil.rmtree(work)
    shutil.copytree(built, wheels, dirs_exist_ok=True)


def digest(name: str) -> str:
    """What the archives of a distribution depend on: its files, and what builds them."""
    folder = ROOT / "packages" / name
    found = hashlib.sha256(metadata.version("hatchling").encode())
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts):
        found.update(f"{file.relative_to(folder)}\0{file.stat().st_mode}\0{file.stat().st_size}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def check_contents(name: str, wheels: Path) -> None:
    """The archives hold the sources, the licences and nothing that wandered in."""
    package = name.replace("-", "_")
    with tarfile.open(one(wheels, name, "tar.gz")) as sdist:
        top = {Path(member).parts[1] for member in sdist.getnames() if len(Path(member).parts) > 1}
    expected = {"LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "README.md", "pyproject.toml", "src"}
    top -= {".gitignore"}  # hatchling adds it whatever its settings say
    assert top == expected, f"sdist of {name}: got {sorted(top)}, expected {sorted(expected)}"
    with zipfile.ZipFile(one(wheels, name, "whl")) as wheel:
        files = wheel.namelist()
    strays = [file for file in files if not file.startswith((f"{package}/", f"{package}-"))]
    assert not strays, f"wheel of {name} holds {strays}"
    assert f"{package}/py.typed" in files, f"wheel of {name} has no py.typed"
    assert sum("/licenses/LICENSE-" in file for file in files) == 2, f"wheel of {name} lacks its licences"


def empty_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=False)
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def one(folder: Path, name: str, suffix: str) -> Path:
    (file,) = folder.glob(f"{name.replace('-', '_')}-[0-9]*.{suffix}")
    return file


def run(command: list[object], *arguments: object) -> None:
    """Run quietly; on failure show everything."""
    line = [str(part) for part in [*command, *arguments]]
    result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8")
    if result.returncode:
        sys.exit(f"{result.stdout}\nfailed ({result.returncode}): {' '.join(line)}")
    print(result.stdout.strip().splitlines()[-1] if result.stdout.strip() else f"ok: {' '.join(line[-2:])}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].removeprefix("wheel-"), Path(sys.argv[2]).resolve()))
