"""The programs of the gallery: what they compute, against other means, and what their commands print."""

from __future__ import annotations

import hashlib
import math
import re
import subprocess
import sys
import wave
from collections import Counter
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image, ImageSequence

import vyre as vy
from vyre_foundation.testing.goldens import accepting, is_accepted

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples/gallery"
PICTURES = ROOT / "docs/_static/gallery"
PROGRAMS = sorted(file.stem for file in GALLERY.glob("*.py"))


def load(name: str) -> SimpleNamespace:
    return SimpleNamespace(**run_path(str(GALLERY / f"{name}.py")))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_on_the_page_with_its_command(name: str) -> None:
    page = (ROOT / "docs/gallery.md").read_text("utf-8")
    text = (GALLERY / f"{name}.py").read_text("utf-8")
    assert f"`{name}.py`" in page
    assert f"python examples/gallery/{name}.py" in text.split('"""')[1]
    assert len(text.splitlines()) <= 120


def test_no_program_hides_a_module_of_python_from_the_others() -> None:
    """Python looks in the folder of a program first."""
    assert not sys.stdlib_module_names & set(PROGRAMS)


def test_life() -> None:
    program = load("life")
    glider = np.zeros((8, 8), np.uint8)
    glider[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    assert np.array_equal(program.evolve(glider, 32, "cpu"), glider)  # once around the torus
    assert np.array_equal(program.evolve(glider, 4, "reference"), np.roll(glider, (1, 1), (0, 1)))
    assert program.picture(glider[:3, :3]).splitlines() == [" ▀▄", "▀▀▀"]


def test_heat() -> None:
    program = load("heat")
    plate = program.warm_plate(20)
    found = program.cooled(plate, 0.2, 50, "cpu")
    np.testing.assert_allclose(found, plate * program.decay(20, 0.2, 50), rtol=1e-12)
    assert found.tobytes() == program.cooled(plate, 0.2, 50, "reference").tobytes()


def test_wave() -> None:
    program = load("pond")
    start = program.pond(20)
    now, before = program.waves(start, 0.25, 40, "cpu")
    assert math.isclose(program.energy(now, before, 0.25), program.energy(start, start, 0.25), rel_tol=1e-12)
    assert abs(now - start).max() > 0.1
    assert now.tobytes() == program.waves(start, 0.25, 40, "reference")[0].tobytes()


def test_nbody() -> None:
    program = load("nbody")
    start = program.cluster(24)
    end = program.simulate(start, 0.01, 20, "cpu")
    assert math.isclose(program.energy(end), program.energy(start), rel_tol=1e-4)
    np.testing.assert_allclose((end[4] * end[2:4]).sum(1), (start[4] * start[2:4]).sum(1), atol=1e-12)
    assert end.tobytes() == program.simulate(start, 0.01, 20, "reference").tobytes()


def test_reproducible_sums() -> None:
    program = load("reproducible_sums")
    found = program.sums(program.values(4096), ("cpu", "reference"))
    assert found["vyre, cpu"] == found["vyre, reference"]
    wanted = found["math.fsum, rounded to f32"]
    assert found["vyre, correctly rounded, cpu"] == found["vyre, correctly rounded, reference"] == wanted
    assert found["a loop in f32"] != found["a loop backwards"]


def test_monte_carlo() -> None:
    program = load("monte_carlo")
    inside, pi = program.estimate(20_000, backend="cpu")
    assert program.estimate(20_000, backend="reference") == (inside, pi)
    assert abs(pi - math.pi) < 4 * 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / 20_000)
    squares = vy.philox(1, 40_000, backend="reference").astype(object) ** 2
    assert inside == sum(x // 2 + y // 2 < 2**63 for x, y in squares.reshape(-1, 2))


def test_ray_marcher() -> None:
    program = load("ray_marcher")
    light = program.picture(16, 24, "cpu")
    assert light.tobytes() == program.picture(16, 24, "reference").tobytes()
    assert light[0].max() == 0  # the sky
    assert light[7, 5] > 0.2  # the large sphere
    assert 0 < light[-1].min() <= light.max() <= 1


def test_folders(tmp_path: Path) -> None:
    contents = {"a": b"", "b": b"twice" * 20, "inner/c": b"twice" * 20, "inner/d": b"x" * 100, "e": bytes(70_000)}
    (tmp_path / "inner").mkdir()
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    found = load("hash_folder").digests(tmp_path, "cpu")
    assert found == {tmp_path / name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    assert load("duplicates").duplicates(tmp_path, "cpu") == [[tmp_path / "b", tmp_path / "inner/c"]]


def test_count_words() -> None:
    text = (ROOT / "docs/kernels.md").read_bytes() + "Ünïcode ünïcode — twice".encode()
    wanted = Counter(re.findall(rb"[A-Za-z\x80-\xff]+", text)).items()
    counts: Counter[str] = Counter()
    for word, count in wanted:
        counts[word.decode("utf-8", "replace").lower() if word.isascii() else ""] += count
    found = load("count_words").words(text, 30, "cpu")
    del counts[""]
    assert [count for _, count in found] == [count for _, count in counts.most_common(30)]
    assert dict(found).items() <= counts.items()


def test_search_words(tmp_path: Path) -> None:
    words = ["error", "disk_full", "err", "e9", "timeout", "zebra", "errors"]
    text = "all is well\nan error, here\nterror\nerrors9\n9e9 e9\n(timeout)disk_full\n\nerr_or err"
    (tmp_path / "words").write_text("\n".join(words) + "\n")
    (tmp_path / "log").write_text(text)
    command = ["grep", "-n", "-F", "-w", "-f", tmp_path / "words", tmp_path / "log"]
    grep = subprocess.run(command, capture_output=True, text=True, check=True)
    found = list(load("search_words").lines(text.encode(), words, "cpu"))
    assert [f"{number}:{line}" for number, line in found] == grep.stdout.splitlines()


def test_pagerank() -> None:
    program = load("pagerank")
    pairs = np.array([(0, 1), (0, 2), (1, 2), (2, 0), (3, 2), (4, 2)])
    rank, _ = program.ranks(6, pairs, "cpu")
    table = np.zeros((6, 6))
    table[pairs[:, 1], pairs[:, 0]] = 1
    table[:, 5] = 1  # without links
    table = 0.85 * table / table.sum(0) + 0.15 / 6
    values, vectors = np.linalg.eig(table)
    vector = np.real(vectors[:, np.argmax(np.real(values))])
    np.testing.assert_allclose(rank, vector / vector.sum(), atol=1e-11)
    assert rank.tobytes() == program.ranks(6, pairs, "reference")[0].tobytes()


def test_spectrogram(tmp_path: Path) -> None:
    program = load("spectrogram")
    signal = program.chirp(0.1, 8000, 200, 3500)
    frames = np.stack([signal[k : k + 64] for k in range(0, signal.size - 63, 32)])
    expected = np.abs(np.fft.rfft(frames * np.hanning(64)))
    np.testing.assert_allclose(program.spectrogram(signal, 64, "cpu"), expected, rtol=1e-9, atol=1e-9)
    with wave.open(str(tmp_path / "tone.wav"), "wb") as sound:
        sound.setparams((2, 2, 8000, 0, "NONE", ""))
        sound.writeframes(np.array([[16384, 1], [-32768, 2]], "<i2").tobytes())
    assert program.read(tmp_path / "tone.wav").tolist() == [0.5, -1.0]


def test_colours(tmp_path: Path) -> None:
    """Each colour is the mean of the pixels that are nearest to it."""
    program = load("colours")
    picture = program.sunset(20, 30)
    found, counts, redrawn = program.palette(picture, 3, "cpu")
    pixels = picture.reshape(-1, 3).astype(float)
    nearest = ((pixels[:, None] - found.astype(float)) ** 2).sum(2).argmin(1)
    assert counts.tolist() == sorted(np.bincount(nearest, minlength=3).tolist(), reverse=True)
    for n, colour in enumerate(found):
        assert abs(pixels[nearest == n].mean(0) - colour).max() <= 1
    assert np.array_equal(redrawn.reshape(-1, 3), found[nearest])
    (tmp_path / "picture.ppm").write_bytes(b"P6\n30 20\n255\n" + picture.tobytes())
    assert np.array_equal(program.read(tmp_path / "picture.ppm"), picture)


def test_image_filters(tmp_path: Path) -> None:
    program = load("image_filters")
    grey = program.disc(21, 34)
    (tmp_path / "disc.pgm").write_bytes(b"P5 34 21 255\n" + grey.tobytes())
    wide = np.pad(program.read(tmp_path / "disc.pgm").astype(int), 2, "edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (5, 5))
    weights = np.outer(program.WEIGHTS, program.WEIGHTS)
    assert np.array_equal(program.blur.on("cpu")(grey), (windows * weights).sum((2, 3)) + 128 >> 8)
    sobel = np.outer([1, 2, 1], [-1, 0, 1])
    across, down = ((windows[:, :, 1:4, 1:4] * mask).sum((2, 3)) for mask in (sobel, sobel.T))
    length = np.sqrt((across**2 + down**2).astype(np.float32))
    assert np.array_equal(program.edges.on("cpu")(grey), np.minimum(length, 255).astype(np.uint8))
    assert np.array_equal(program.posterise.on("cpu")(grey), grey // 64 * 85)


def test_torch_op() -> None:
    torch = pytest.importorskip("torch", reason="`tox -e pytorch` has it")
    program = load("torch_op")
    x = torch.linspace(-2, 2, 9, dtype=torch.float32, requires_grad=True)
    program.Squash.apply(x).sum().backward()
    assert torch.equal(x.grad, 1 / (1 + x.detach().abs()) ** 2)
    losses = program.train(60)
    assert losses[-1] < losses[0] / 5


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["life", "--generations", "1"], "▀"),
        (["heat", "--steps", "5", "--size", "12"], "of 1 is left"),
        (["pond", "--steps", "2", "--size", "20"], "energy at the start"),
        (["nbody", "--steps", "1", "--bodies", "8"], "energy at the start"),
        (["reproducible_sums", "--size", "800", "--backend", "cpu"], "vyre, cpu"),
        (["monte_carlo", "--points", "1000"], "standard deviations off"),
        (["ray_marcher"], "@"),
        (["hash_folder", "examples/gallery"], "  examples/gallery/life.py"),
        (["duplicates", "examples/gallery"], "0 groups"),
        (["count_words", "README.md"], "  the"),
        (["pagerank", "docs"], "rounds"),
        (["spectrogram"], "@"),
        (["colours", "--colours", "2"], "%"),
        (["image_filters"], "@"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_a_command(command: list[str], shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    name, *arguments = command
    result = CliRunner().invoke(load(name).main, arguments)
    assert result.exit_code == 0, result.output
    assert shown in result.output


@pytest.mark.parametrize(
    "name", ["heat", "pond", "life", "nbody", "spectrogram", "colours", "image_filters", "ray_marcher"]
)
def test_a_picture_of_the_page_is_what_its_command_draws(name: str, tmp_path: Path) -> None:
    """Pixel for pixel, but for a last bit of NumPy's sines and logarithms, which differ from CPU to CPU."""
    program = load(name)
    command, file = re.search(rf"{name}\.py (.*--output )(\S+)", program.__doc__ or "").groups()
    result = CliRunner().invoke(program.main, [*command.split(), str(tmp_path / file)])
    assert result.exit_code == 0, result.output
    committed = PICTURES / file
    if is_accepted():
        committed.write_bytes((tmp_path / file).read_bytes())
    assert f"_static/gallery/{file}" in (ROOT / "docs/gallery.md").read_text("utf-8")
    with Image.open(committed) as wanted, Image.open(tmp_path / file) as found:
        assert getattr(found, "n_frames", 1) == getattr(wanted, "n_frames", 1)
        for expected, frame in zip(ImageSequence.Iterator(wanted), ImageSequence.Iterator(found), strict=True):
            assert np.abs(np.asarray(expected).astype(int) - np.asarray(frame)).max() <= 1, accepting(__file__)


def test_a_program_runs_as_a_file() -> None:
    command = [sys.executable, GALLERY / "heat.py", "--steps", "1", "--size", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
