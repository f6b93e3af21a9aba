"""Advisory locks of open files, where the system has them.

Example
-------
>>> with open("records.json", "a") as file:                        # doctest: +SKIP
...     file_lock.hold(file.fileno(), wait=True)
"""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def hold(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file or directory until its descriptor is closed.

    Parameters
    ----------
    descriptor : int
        Of the open file.
    wait : bool
        Whether to wait while somebody else has the lock.

    Returns
    -------
    bool
        Whether the lock is held: False where somebody else has it and `wait` is False, and where
        the system has no such locks.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # taken, or a file system without locks
        return False
    return True
