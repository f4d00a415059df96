"""Install vyre as the README says, into an empty environment, and run the README's programs there.

python tests/wheels/install.py install-wheels WORK_FOLDER    # from a folder of wheels
python tests/wheels/install.py install-clone WORK_FOLDER     # from this clone
"""

import re
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

from alone import ROOT, build, closure, empty_environment, one, run

README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = {
    "wheels": "pip install vyre --find-links WHEELS",
    "clone": "pip install ./packages/*",
}
DATA = "import numpy as np\n\nx = np.arange(1000, dtype=np.uint32)\ny = x * 3\n"
RIGHT = '\nassert (vy.run(program, a=x, b=y)["out"] == x ^ y).all()\nassert vy.backend_for().id() != "reference"\n'


def main(way: str, work: Path) -> int:
    shutil.rmtree(work, ignore_errors=True)
    command = COMMANDS[way]
    assert command in README, f"the README does not say {command}"
    program = "".join(re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL))
    wheels = work / "wheels"
    family = closure("vyre") if way == "wheels" else []
    for member in family:
        build(member, wheels)

    python = empty_environment(work / "fresh")
    _, verb, *arguments = shlex.split(command.replace("WHEELS", str(wheels)))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", verb, "--quiet"]
    run(pip, *(folder for word in arguments for folder in expanded(word)))
    for member in family:
        require_ours(member, one(wheels, member, "whl"), work / "fresh")
    script = work / "program.py"
    script.write_text(DATA + program + RIGHT, "utf-8")
    run([python, "-I", script])
    run([python, "-I", "-m", "vyre.cli", "backends"])
    return 0


def expanded(word: str) -> list[str]:
    """What a shell makes of a star."""
    return [str(path) for path in sorted(ROOT.glob(word))] if "*" in word else [word]


def require_ours(name: str, wheel: Path, environment: Path) -> None:
    """An index may have a distribution of the same name and version: the files that were installed are the wheel's."""
    folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    (record,) = environment.glob(f"**/{folder}/RECORD")
    with zipfile.ZipFile(wheel) as archive:
        ours = {line for line in archive.read(f"{folder}/RECORD").decode().splitlines() if "/RECORD," not in line}
    assert ours <= set(record.read_text("utf-8").splitlines()), f"{name} was not installed from {wheel}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].removeprefix("install-"), Path(sys.argv[2]).resolve()))
