"""The spectrogram of a rising tone, or of a WAV file: time goes to the right, frequency goes up.

python examples/gallery/spectrogram.py --file song.wav
python examples/gallery/spectrogram.py --output spectrogram.png
"""

import wave
from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy

SHADES = " .:-=+*#%@"
GLOW = np.array([[0, 0, 0], [110, 15, 70], [235, 95, 35], [255, 240, 170]])
"""The colours of 0, ⅓, ⅔ and 1."""


def chirp(seconds: float, rate: int, low: float, high: float) -> np.ndarray:
    """A tone whose frequency rises evenly from `low` to `high`, in hertz."""
    t = np.arange(int(seconds * rate)) / rate
    return np.sin(2 * np.pi * (low * t + (high - low) * t**2 / (2 * seconds)))


def read(file: Path) -> np.ndarray:
    """The first channel of a WAV file of 16-bit samples, from -1 to 1."""
    with wave.open(str(file)) as sound:
        if sound.getsampwidth() != 2:
            bits = 8 * sound.getsampwidth()
            raise click.BadParameter(f"{file} has samples of {bits} bits. Fix: convert it to 16 bits")
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")
        return samples[:: sound.getnchannels()] / 32768


def spectrogram(signal: np.ndarray, window: int = 128, backend: str | None = None) -> np.ndarray:
    """The magnitudes of half-overlapping windows under a Hann taper: a row for each window."""
    frames = np.lib.stride_tricks.sliding_window_view(signal, window)[:: window // 2]
    magnitudes: np.ndarray = np.abs(vy.rfft(frames * np.hanning(window), backend=backend))
    return magnitudes


def levels(magnitudes: np.ndarray) -> np.ndarray:
    """Decibels, from 0 for −60 dB to 1 for the greatest magnitude: a row for each frequency, the highest first."""
    found: np.ndarray = np.log10(np.maximum(magnitudes / magnitudes.max(), 1e-3)) / 3 + 1
    return found.T[::-1]


def coloured(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as bytes of red, green and blue between the colours of `GLOW`."""
    place = np.clip(values, 0, 1) * (len(GLOW) - 1)
    channels = [np.interp(place, np.arange(len(GLOW)), channel) for channel in GLOW.T]
    return np.stack(channels, -1).round().astype(np.uint8)


@click.command(help=__doc__)
@click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A WAV file.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: spectrogram.png.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(file: Path | None, output: Path | None, backend: str | None) -> None:
    if output:
        signal = read(file) if file else chirp(5, 8000, 200, 3500) + chirp(5, 8000, 3000, 100) / 4
        Image.fromarray(coloured(levels(spectrogram(signal, 512, backend)))).resize((640, 320)).save(output)
        return
    signal = read(file) if file else chirp(0.5, 8000, 200, 3500)
    window = max(64, len(signal) // 40 & -2)
    magnitudes = spectrogram(signal[: len(signal) // window * window], window, backend)
    bands = np.array([band.max(0) for band in np.array_split(magnitudes.T, 24)])
    for row in (levels(bands.T) * 9.99).astype(int):
        click.echo("".join(SHADES[shade] for shade in row))


if __name__ == "__main__":
    main()
