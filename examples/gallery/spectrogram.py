"""The spectrogram of a rising tone, or of a WAV file: time goes to the right, frequency goes up.

python examples/gallery/spectrogram.py --file song.wav
"""

import wave
from pathlib import Path

import click
import numpy as np

import vyre as vy

SHADES = " .:-=+*#%@"


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


@click.command(help=__doc__)
@click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A WAV file.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(file: Path | None, backend: str | None) -> None:
    signal = read(file) if file else chirp(0.5, 8000, 200, 3500)
    window = max(64, len(signal) // 40 & -2)
    magnitudes = spectrogram(signal[: len(signal) // window * window], window, backend)
    bands = np.array([band.max(0) for band in np.array_split(magnitudes.T, 24)])
    decibels = 20 * np.log10(np.maximum(bands / bands.max(), 1e-3))
    for row in ((decibels + 60) / 60 * 9.99).astype(int)[::-1]:
        click.echo("".join(SHADES[shade] for shade in row))


if __name__ == "__main__":
    main()
