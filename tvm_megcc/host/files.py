"""Write outputs whole or not at all.

Enters: ``{relative path: text or bytes}``, or one file's bytes, and where they go. Everything is
written beside its destination first and moved there in one step; whatever was there before stays
until that step, and stays for good when anything fails before it.

Example
-------
>>> write_directory({"src/a.c": "int a;"}, Path("pkg"), is_ours=lambda path: False) # doctest: +SKIP
"""

from __future__ import annotations

import ctypes
import errno
import glob
import io
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tvm_megcc.core import file_lock
from tvm_megcc.core.contents import Bytes, Content, pieces_of, size_of
from tvm_megcc.errors import InputError

Files = Mapping[str, Content]

_ABANDONED_SECONDS = 60


def check_directory(out: Path, is_ours: Callable[[Path], bool]) -> None:
    """Raise InputError if `out` is a file, or a directory neither empty nor `is_ours`."""
    _check_parent(out)
    if out.is_dir():
        if any(out.iterdir()) and not is_ours(out):
            raise InputError(
                f"'{out}' is a directory with other contents than a package of tvm_megcc;"
                " choose another output, or remove it first"
            )
    elif os.path.lexists(out):
        raise InputError(f"'{out}' is a file where a package directory is to go; remove it first")


def check_file(out: Path) -> None:
    """Refuse to put a file where a directory is, or into a directory that does not exist."""
    _check_parent(out)
    if out.is_dir():
        raise InputError(f"'{out}' is a directory where a file is to go; choose another output")


def check_folder(out: Path, option: str) -> None:
    """Refuse a folder for `option` that can neither be made nor written to."""
    there = out.absolute()
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{option}: '{there}' is a file, and a folder is to be there; rename it")
    if not os.access(there, os.W_OK):
        raise InputError(f"{option}: '{there}' cannot be written to; choose another folder")


def _check_parent(out: Path) -> None:
    parent = out.absolute().parent
    if not parent.is_dir():
        raise InputError(f"'{parent}': no such directory; create it first")
    if not os.access(parent, os.W_OK):
        raise InputError(f"'{parent}' cannot be written to; choose another output")


def write_directory(files: Files, out: Path, *, is_ours: Callable[[Path], bool]) -> None:
    """Make `out` a directory of exactly `files`, replacing a directory that `is_ours`."""
    out = Path(os.path.realpath(out))
    check_directory(out, is_ours)
    with _reporting(out), sibling_directory(out) as fresh:
        write_tree(files, fresh)
        fresh.chmod(0o777 & ~_umask())
        if out.exists():
            _exchange(fresh, out)  # `fresh` is the old output now, and is removed
        else:
            fresh.rename(out)


def create(path: Path) -> BinaryIO:
    """A new file, to be written from its beginning to its end."""
    return path.open("wb")


def write_file(data: bytes, out: Path) -> None:
    """Make `out` a file of exactly `data`."""
    check_file(out)
    with replacing(out) as fresh, create(fresh) as file:
        file.write(data)


def write_tar(files: Files, out: Path, prefix: str = "") -> None:
    """Make `out` a tar archive of `files`, whose names get a `prefix`.

    It is sorted, owned by root and without times, so equal files give equal bytes.
    """
    check_file(out)
    with (
        replacing(out) as fresh,
        create(fresh) as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path, content in sorted(files.items()):
            info = tarfile.TarInfo(prefix + path)
            info.size, info.mode = size_of(content), 0o644
            archive.addfile(info, _Reader(content))


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A path beside `out` for the body to write; it becomes `out` when the body succeeds."""
    out = Path(os.path.realpath(out))
    if out.exists() and not out.is_file():  # a device, a pipe: nothing may take its place
        with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder, _reporting(out):
            fresh = Path(folder, "whole")
            yield fresh
            with fresh.open("rb") as data, out.open("wb") as device:
                shutil.copyfileobj(data, device)
        return
    with _reporting(out), sibling_directory(out) as directory:
        fresh = directory / out.name
        yield fresh
        os.replace(fresh, out)


def write_tree(files: Files, root: Path) -> None:
    """Write `files` below the existing directory `root`."""
    for path, content in sorted(files.items()):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with create(target) as file:
            for piece in pieces_of(content):
                file.write(piece)


def read_tree(root: Path) -> dict[str, bytes]:
    """All files below `root`, by their path relative to it."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


class _Reader(io.RawIOBase):
    """A file's content for reading from its beginning to its end."""

    def __init__(self, content: Content) -> None:
        self._pieces = pieces_of(content)
        self._left: Bytes = b""

    def read(self, size: int = -1) -> bytes:
        found: list[Bytes] = []
        while size:
            if not self._left:
                self._left = next(self._pieces, b"")
                if not self._left:
                    break
            piece = self._left if size < 0 else self._left[:size]
            self._left = self._left[len(piece) :]
            found.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(found)


def untar(archive: Path, root: Path) -> None:
    """Unpack a tar of ours below `root`.

    Raises InputError if the file is no tar archive, is cut short, or holds anything but plain files
    inside it.
    """
    try:
        with tarfile.open(archive) as tar_file:
            for member in tar_file:
                target = (root / member.name).resolve()
                if not target.is_relative_to(root.resolve()):
                    raise InputError(f"'{archive}': '{member.name}' leads out of the archive")
                if member.isdir():
                    continue
                data = tar_file.extractfile(member) if member.isfile() else None
                if data is None:
                    raise InputError(f"'{archive}': '{member.name}' is not a plain file")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data.read())
    except (tarfile.TarError, EOFError) as error:
        raise InputError(
            f"'{archive}' is no package directory and not a tar of one, or is cut short"
        ) from error


@contextmanager
def sibling_directory(out: Path) -> Iterator[Path]:
    """A new directory on the same file system as `out`, removed afterwards if it is still there.

    It is locked while it is in use, so that what a killed process left is known, and removed.
    """
    for left in out.parent.glob(f".{glob.escape(out.name)}.*.part"):
        _remove_abandoned(left)
    path = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    lock = _lock(path)
    try:
        yield path
    finally:
        if lock is not None:
            os.close(lock)
        shutil.rmtree(path, ignore_errors=True)


def _remove_abandoned(left: Path) -> None:
    lock = _lock(left)
    if lock is None:
        return
    # Between making and locking it a directory is as free as one that was left.
    if time.time() - os.fstat(lock).st_mtime > _ABANDONED_SECONDS:
        shutil.rmtree(left, ignore_errors=True)
    os.close(lock)


def _lock(directory: Path) -> int | None:
    """A descriptor that holds a directory's lock; None where it is taken, or there are no locks."""
    try:
        opened = os.open(directory, os.O_RDONLY)
    except OSError:  # it has just gone; or Windows, which opens no directories
        return None
    if file_lock.hold(opened, wait=False):
        return opened
    os.close(opened)
    return None


@contextmanager
def _reporting(out: Path) -> Iterator[None]:
    """Turn an OSError about the output into an InputError: a full disk, a missing permission."""
    try:
        yield
    except OSError as error:
        remedy = "choose another place"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = _room_for(out)
        raise InputError(f"'{out}' cannot be written ({error.strerror}); {remedy}") from error


def _room_for(out: Path) -> str:
    """Advice for a full disk: that of the output, or of temporary files."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < shutil.disk_usage(out.parent).free:
        return f"make room in {folder}, or set TMPDIR"
    return "make room or choose another place"


def _exchange(a: Path, b: Path) -> None:
    """Swap two directories: in one step where Linux can, else by two renames."""
    flags, here = 2, -100  # RENAME_EXCHANGE, AT_FDCWD
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # TypeError: Windows has no library of all symbols
        pass
    else:
        if renameat2(here, os.fsencode(a), here, os.fsencode(b), flags) == 0:
            return
    aside = a.with_name(a.name + ".old")
    b.rename(aside)
    try:
        a.rename(b)
    except OSError:
        aside.rename(b)
        raise
    aside.rename(a)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
