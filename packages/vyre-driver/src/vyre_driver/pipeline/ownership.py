"""Which users may write a path: machine code out of the store is executed, so only this user and root may.

A file is as safe as the weakest directory on its way: a user who may write one of them can put another directory in
its place. So every component is checked, with every symbolic link, as OpenSSH does for its keys.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import sys
from pathlib import Path

MAX_LINKS = 40
"""As many as Linux follows."""
ROOT = 0


class Insecure(PermissionError):
    """Another user may write a path, or a component of it. `fix` is what makes the store usable."""

    def __init__(self, reason: str, fix: str = "set VYRE_CACHE_DIR to a folder that only this user may write") -> None:
        super().__init__(reason)
        self.fix = fix


def require_secure_folder(folder: Path) -> None:
    """Raise `Insecure` if another user may write in `folder`, or may put another folder in its place.

    `FileNotFoundError` if it does not exist. Systems without user ids (Windows) are not checked: there the folders of
    a user are closed to others.
    """
    if sys.platform == "win32":
        return
    path = folder.absolute()
    at, ahead, links = Path(path.anchor), [*reversed(path.parts[1:])], 0
    owners = {ROOT, os.geteuid(), at.stat().st_uid}  # in a user namespace root may have no number
    while ahead:
        name = ahead.pop()
        if name == "..":
            at = at.parent  # which holds no link: they have been followed
            continue
        status = (at / name).lstat()
        if not stat.S_ISLNK(status.st_mode):
            at /= name
            _require(at, status, owners, sticky=True)
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if status.st_uid not in owners:
            raise Insecure(f"the symbolic link {at / name} belongs to user {status.st_uid}")
        target = (at / name).readlink()
        at = Path(target.anchor) if target.is_absolute() else at
        ahead.extend(reversed(target.parts[1:] if target.is_absolute() else target.parts))
    require_secure(at, at.lstat())


def require_secure(path: Path, status: os.stat_result) -> None:
    """Raise `Insecure` unless `path` belongs to this user or root and no other user may write it."""
    if sys.platform != "win32":
        _require(path, status, {ROOT, os.geteuid()}, sticky=False)


def _require(path: Path, status: os.stat_result, owners: set[int], *, sticky: bool) -> None:
    """`sticky`: others may write a directory in which they can rename nothing of other users, such as /tmp."""
    if sys.platform == "win32":
        return
    if status.st_uid not in owners:
        raise Insecure(f"{path} belongs to user {status.st_uid}")
    if sticky and status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)):
        reason = f"other users may write {path} (mode {stat.S_IMODE(status.st_mode):o})"
        if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
            raise Insecure(reason)
        raise Insecure(reason, f"`chmod go-w {shlex.quote(str(path))}`, or set VYRE_CACHE_DIR to another folder")


def _is_private(group: int) -> bool:
    """Whether this user, or root, is the only member of a group, as where every user has one of the same name."""
    if sys.platform == "win32":
        return False
    import grp  # few paths are writable for a group
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name in (user, "root") and {*found.gr_mem} <= {user, "root"}
