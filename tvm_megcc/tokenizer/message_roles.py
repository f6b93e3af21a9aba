"""Texts around the messages of a conversation, as a model wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Roles:
    """Prefixes and suffixes of messages.

    Attributes
    ----------
    begin : str
        In front of a conversation without a system's message.
    before_system, after_system : str, optional
        Around the system's message, which comes first; None where the model takes none.
    trims : bool
        Whether messages lose the white space around them.
    """

    begin: str
    before_system: str | None
    after_system: str | None
    before_user: str
    after_user: str
    before_assistant: str
    after_assistant: str
    trims: bool = False

    def texts(self) -> tuple[str, ...]:
        """All texts, in the order of ``megcc_role_text_t``."""
        return (
            self.begin, self.before_system or "", self.after_system or "", self.before_user,
            self.after_user, self.before_assistant, self.after_assistant,
        )  # fmt: skip

    def text(self, messages: Messages) -> str:
        """A conversation up to where the assistant speaks next."""
        around = {
            "system": (self.before_system, self.after_system),
            "user": (self.before_user, self.after_user),
            "assistant": (self.before_assistant, self.after_assistant),
        }
        found = "" if messages and messages[0]["role"] == "system" else self.begin
        for message in messages:
            before, after = around[message["role"]]
            content = message["content"].strip() if self.trims else message["content"]
            found += f"{before}{content}{after}"
        return found + self.before_assistant
