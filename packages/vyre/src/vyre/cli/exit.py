"""The documented exit codes of commands."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells a shell.

    | code | means |
    |---|---|
    | 0 | done, and everything agreed |
    | 1 | what was checked failed: an invalid program, backends that disagree |
    | 2 | the command line, or a file that it names, is wrong |
    | 3 | a backend or device that was asked for is not available |
    | 4 | a dispatch failed: it trapped, timed out, the device refused it, or the backend raised something else |
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    DISPATCH = 4
