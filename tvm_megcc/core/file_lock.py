"""Advisory locks of open files, where the system has them."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def hold(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file or directory until its descriptor is closed.

    Returns
    -------
    bool
        Whether the lock is held: False where another process has it and `wait` is False, and where
        the system has no such locks.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # taken, or a file system without locks
        return False
    return True
