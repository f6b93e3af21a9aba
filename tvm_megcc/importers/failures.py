"""Turn errors of other projects' importers into one sentence of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tvm

from ..errors import InputError, MegccError, UnsupportedError

#: A message of somebody else is cut here.
_MOST = 300

#: How TVM's importers say that they have no converter for something.
_MISSING = (
    NotImplementedError,
    tvm.error.OpNotImplemented,
    tvm.error.OpAttributeUnImplemented,
    tvm.error.OpAttributeInvalid,
)

#: So begins the message of an assertion of its importer of PyTorch programs that says the same.
_ASSERTED = "Unsupported function types"


@contextmanager
def importing(path: Path, whose: str, remedy: str) -> Iterator[None]:
    """Raise any error of another project's importer as one sentence of ours.

    Raises
    ------
    UnsupportedError
        The importer says that it has no converter.
    InputError
        Anything else, which a file that is damaged leads to.
    """
    try:
        yield
    except MegccError:
        raise
    except Exception as error:
        if isinstance(error, _MISSING) or str(error).startswith(_ASSERTED):
            raise UnsupportedError(f"'{path}': {whose}: {summary(error)}; {remedy}") from error
        raise InputError(f"'{path}': {whose} cannot read it ({_told(error)}); {remedy}") from error


def _told(error: Exception) -> str:
    text = summary(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def summary(error: Exception) -> str:
    """The beginning of a message, as a part of a sentence."""
    # TVM puts a trace of its own sources behind the message.
    text = re.split(r"\n\s*(?:Stack trace|File \")", str(error))[0]
    text = " ".join(text.split()).rstrip(".;: ")
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."
