"""Install vyre as the README and the page about installation say, into an empty environment, and use it there.

python tests/wheels/install.py install-wheels WORK_FOLDER    # from a folder of wheels
python tests/wheels/install.py install-index WORK_FOLDER     # from an index that serves all of our wheels
python tests/wheels/install.py install-clone WORK_FOLDER     # from this clone
"""

import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alone import ROOT, build, closure, empty_environment, one, run

README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = {
    "wheels": "pip install vyre --find-links WHEELS",
    "index": "pip install vyre --index-url URL",
    "clone": "pip install ./packages/*",
}
RIGHT = """
assert (vy.run(program, a=x, b=y)["out"] == x ^ y).all()
assert (xor(x, y) == x ^ y).all()
assert vy.backend_for().id() != "reference"
"""


def main(way: str, work: Path) -> int:
    shutil.rmtree(work, ignore_errors=True)
    command = COMMANDS[way]
    pages = README + (ROOT / "docs/install.md").read_text("utf-8")
    assert command in pages, f"neither the README nor docs/install.md says {command}"
    wheels = work / "wheels"
    family = {"wheels": closure("vyre"), "index": members(), "clone": []}[way]
    for member in family:
        build(member, wheels)

    python = empty_environment(work / "fresh")
    _, verb, *arguments = shlex.split(command.replace("WHEELS", str(wheels)))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", verb, "--quiet"]
    if way == "index":
        with serve(wheels) as url:
            located = [argument.replace("URL", url) for argument in arguments]
            run(pip, *located)
            run(pip, *located, "vyre[all]", *members())
    else:
        run(pip, *(folder for word in arguments for folder in expanded(word)))
    for member in family:
        require_ours(member, one(wheels, member, "whl"), work / "fresh")
    use(python, work / "program.py")
    if way == "index":
        check_types = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--python-executable", python]
        run(check_types, work / "program.py")
    return 0


def members() -> list[str]:
    """Every distribution of the workspace."""
    return sorted(file.parent.name for file in ROOT.glob("packages/*/pyproject.toml"))


@contextmanager
def serve(wheels: Path) -> Iterator[str]:
    """Serve a folder as an index, which sends pip to its own index for the distributions of others."""
    configured = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    fallback = subprocess.run(configured, capture_output=True, text=True, check=False).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port), str(wheels)]
    server = subprocess.Popen([*command, *(["--fallback-url", fallback] if fallback else [])])
    try:
        wait_until_open(port)
        yield f"http://127.0.0.1:{port}/simple/"
    finally:
        server.terminate()
        server.wait()


def wait_until_open(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"no index answers on port {port} after 30 s")


def use(python: Path, script: Path) -> None:
    """Run the README's programs and the commands that a newcomer runs first."""
    program = "".join(re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL))
    script.write_text(program + RIGHT, "utf-8")
    run([python, "-I", script])
    run([python, "-I", "-m", "vyre.cli", "doctor"])
    run([python, "-I", "-m", "vyre.cli", "backends"])


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
