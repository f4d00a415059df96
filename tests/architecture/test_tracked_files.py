"""No tracked file knows where it was written or which mirror it was installed from."""

import re
from pathlib import Path

# Put together from parts, because this file is tracked too.
HOSTS = ["pypi" + ".org", "python" + "hosted.org", "conda" + ".anaconda.org", "crates" + ".io", "npmjs" + ".com"]
HOST = re.compile("|".join(re.escape(host) for host in HOSTS))
MACHINE_PATH = re.compile(r"(?<![\w./:~-])/(?:work|root|home|Users)(?:/|\b)|\b[A-Za-z]:\\+Users\b")


def lines(files: list[Path], pattern: re.Pattern[str]) -> list[str]:
    found = []
    for file in files:
        content = file.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{file}:{number}: {line.strip()}")
    return found


def test_no_file_names_a_package_registry_host(tracked: list[Path]) -> None:
    assert not lines(tracked, HOST)


def test_no_file_holds_a_machine_path(tracked: list[Path]) -> None:
    assert not lines([file for file in tracked if file != Path(__file__)], MACHINE_PATH)


def test_the_patterns_find_what_they_look_for(tmp_path: Path) -> None:
    sample = tmp_path / "sample.txt"
    sample.write_text(
        f"see {HOSTS[0]}\ncd /work/x\n'/root'\nC:\\Users\\me\n./work/x\nframework/root\nat https://x.y/home\n"
    )
    assert len(lines([sample], HOST)) == 1
    assert [line.split(":")[1] for line in lines([sample], MACHINE_PATH)] == ["2", "3", "4"]


# Words that the project does not use, beside those that it does. `docs/glossary.md` has its terms.
PLAIN = {r"\b[Cc]an" + " not\\b": "cannot", r"\b[Ww]ho" + "ever\\b": "the actor, or the passive"}


def test_every_file_uses_the_plain_words(tracked: list[Path]) -> None:
    texts = [file for file in tracked if file.suffix in {".md", ".py", ".toml"} and "evidence" not in file.parts]
    texts = [file for file in texts if file.name != "test_terms.py"]  # which lists what identifiers may not have
    for word, instead in PLAIN.items():
        assert not lines(texts, re.compile(word)), f"use {instead!r}"
