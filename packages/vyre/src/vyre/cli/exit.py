"""The documented exit codes of commands."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells a shell.

    | code | means |
    |---|---|
    | 0 | done, and everything agreed |
    | 1 | what was checked failed: an invalid program, backends that disagree |
    | 2 | the command line is wrong, or a file that it names, or standard output, cannot be read or written |
    | 3 | a backend, a device or an optional package that is needed is not available |
    | 4 | a dispatch failed: it trapped, timed out, the device refused it, or the backend raised something else |
    | 130 | the command was interrupted from the keyboard |
    | 141 | the reader of standard output has gone |
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    DISPATCH = 4
    INTERRUPTED = 130
