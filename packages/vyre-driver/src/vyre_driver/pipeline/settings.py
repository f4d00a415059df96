"""What the environment says about compilation.

`VYRE_CACHE`, `VYRE_CACHE_DIR` and `VYRE_CACHE_SIZE` say where code is cached between processes; `VYRE_COMPILE_GUARD`
and `VYRE_COMPILE_TIMEOUT` how far a compiler is trusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path

from vyre_driver.backend.config import MAX_TIMEOUT, is_timeout
from vyre_driver.errors import InvalidSetting

MODE, FOLDER, SIZE = "VYRE_CACHE", "VYRE_CACHE_DIR", "VYRE_CACHE_SIZE"
DEFAULT_SIZE = 256 * 2**20
GUARD, TIMEOUT = "VYRE_COMPILE_GUARD", "VYRE_COMPILE_TIMEOUT"
DEFAULT_TIMEOUT = 120.0
"""Seconds."""
ModeT = TypeVar("ModeT", bound=Enum)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"(\d{1,18})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


class CacheMode(Enum):
    """What a process does with the store."""

    OFF = "off"
    READ = "ro"
    READ_WRITE = "rw"

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> CacheMode:
        """What `VYRE_CACHE` says; `InvalidSetting` for a value that means nothing. An empty one is as none."""
        return _one_of(cls, MODE, setting(MODE, environment) or cls.READ_WRITE.value)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """`folder` need not exist. `size` bounds the entries, in bytes; beyond it the coldest go."""

    mode: CacheMode
    folder: Path
    size: int = DEFAULT_SIZE

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> CacheSettings:
        """What the variables say; `InvalidSetting` for a value that means nothing. An empty one is as none.

        `FileNotFoundError` where no variable names a folder and this user has none.
        """
        return cls(
            mode=CacheMode.of(environment),
            folder=_folder(environment.get(FOLDER, "") if setting(FOLDER, environment) else ""),
            size=_size(setting(SIZE, environment) or str(DEFAULT_SIZE)),
        )


class GuardMode(Enum):
    """Which code is compiled in a process of its own."""

    OFF = "off"
    AUTO = "auto"
    """Code whose last compilation ended the process that did it."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """`timeout` is what a compilation in a process of its own may take, in seconds."""

    mode: GuardMode = GuardMode.AUTO
    timeout: float = DEFAULT_TIMEOUT

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> GuardSettings:
        """What the variables say; `InvalidSetting` for a value that means nothing. An empty one is as none."""
        return cls(
            mode=_one_of(GuardMode, GUARD, setting(GUARD, environment) or GuardMode.AUTO.value),
            timeout=_seconds(setting(TIMEOUT, environment) or str(DEFAULT_TIMEOUT)),
        )

    def takes(self, *, was_fatal: bool) -> bool:
        """Whether code that has ended a process before, or has not, is compiled in one of its own."""
        return self.mode is GuardMode.ALWAYS or (self.mode is GuardMode.AUTO and was_fatal)


def setting(variable: str, environment: Mapping[str, str] = os.environ) -> str:
    """The value of a variable without spaces around it; nothing where it is not set, or has only spaces."""
    return environment.get(variable, "").strip()


def flag(variable: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable is 1, not 0; `InvalidSetting` for another value. An empty one is as none."""
    text = setting(variable, environment) or "0"
    if text not in ("0", "1"):
        raise InvalidSetting(variable, needed="0 or 1", got=text)
    return text == "1"


def _one_of(modes: type[ModeT], variable: str, text: str) -> ModeT:
    try:
        return modes(text.casefold())
    except ValueError:
        raise InvalidSetting(variable, needed=f"one of {', '.join(mode.value for mode in modes)}", got=text) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not is_timeout(seconds) or seconds == 0:
        raise InvalidSetting(TIMEOUT, needed=f"seconds, more than 0 and up to {MAX_TIMEOUT}", got=text)
    return seconds


def _size(text: str) -> int:
    try:
        return read_size(text)
    except ValueError:
        raise InvalidSetting(SIZE, needed="bytes, such as 64M", got=text) from None


def read_size(text: str) -> int:
    """``64M`` as bytes; `ValueError` for what is no size."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no size")
    return int(found[1]) * _UNITS[found[2].casefold()]


def _folder(text: str) -> Path:
    """The folder that a variable names, or the user's; absolute where the current folder still exists."""
    if not text:
        return _user_folder()
    folder = folder_of(FOLDER, text)
    with suppress(OSError):
        return folder.absolute()
    return folder


def folder_of(variable: str, text: str) -> Path:
    """The folder that a variable names, where ``~`` is the user's; `InvalidSetting` for a user who has none."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise InvalidSetting(variable, needed="a folder, or ~ of a user who has one", got=text) from None


def _user_folder() -> Path:
    with suppress(RuntimeError):  # later versions say so where there is no home, earlier ones give a relative path
        folder = user_cache_path("vyre", appauthor=False)
        if folder.is_absolute():
            return folder
    raise FileNotFoundError("this user has no home folder. Fix: set VYRE_CACHE_DIR to a folder")
