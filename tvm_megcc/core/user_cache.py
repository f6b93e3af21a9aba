"""The user's cache: what is built once on this machine and loaded or run again.

Nothing in it is needed: where there is none, or where others could have written into it, whoever
asks builds anew.
"""

from __future__ import annotations

import os
from pathlib import Path


def folder(*names: str) -> Path | None:
    """The folder `names` in our part of the user's cache, made where it is missing.

    None where there can be none, or where another user can write: files that are loaded or run from
    there would be theirs.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tvm_megcc")
        path = base.joinpath(*names)
        for each in (base, path):  # `mode` is not that of the parents made on the way
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        safe = all(_is_ours(each) for each in {base, path})
    except (OSError, RuntimeError):  # no home
        return None
    return path if safe and os.access(path, os.W_OK) else None


def _is_ours(path: Path) -> bool:
    if not hasattr(os, "getuid"):  # a profile's folders on Windows are the user's alone
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
