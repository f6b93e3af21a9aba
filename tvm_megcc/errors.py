"""Every error a user can see, as one small tree.

A message is one sentence (or one per offending node) with the node, the fact and the remedy.
The command line prints it and exits with status 1; the C runtime has its own status codes.
"""

from __future__ import annotations


class MegccError(Exception):
    """Base of all errors that tvm_megcc raises on purpose.

    A message is one line, whatever a model's names and TVM's own messages have in them.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(str(message).split("\n")))


class InputError(MegccError):
    """A file, an array or an option that came from the user cannot be used."""


class UnsupportedError(MegccError):
    """The model is well-formed, but needs something that does not exist yet."""


class ToolError(MegccError):
    """A program that is needed (C compiler, qemu, ...) is missing or failed.

    Attributes
    ----------
    words : str
        All that the program said, of which the message has one line; ``--verbose`` shows it.
    """

    def __init__(self, message: str = "", words: str = "") -> None:
        super().__init__(message)
        self.words = words
        if words:
            self.add_note(words)


class DifferenceError(MegccError):
    """Results differ from the reference's by more than the user accepts."""
