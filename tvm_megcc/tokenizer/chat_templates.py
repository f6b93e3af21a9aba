"""Conversations as text: a checkpoint's Jinja template, rendered, and `Roles` where it is no more.

A template that puts texts around messages, and does nothing else, becomes `Roles`, which C can put
together. That is not read off the template, but off conversations that it rendered.
"""

from __future__ import annotations

import json
from typing import Any

from tvm_megcc.errors import InputError, ToolError, UnsupportedError
from tvm_megcc.tokenizer.checkpoint import ChatTemplate
from tvm_megcc.tokenizer.message_roles import Messages, Roles


class _Refused(Exception):
    """A template called ``raise_exception``."""


def rendered(
    template: ChatTemplate, messages: Messages, *, answers: bool = True, dated: bool = True
) -> str:
    """The text of a conversation, with `answers` up to where the assistant speaks next.

    `dated`: the template may ask for today's date. Raises ToolError without the package jinja2, and
    InputError if the template does not take the messages.
    """
    try:
        return _rendered(template, messages, answers, dated)
    except _Refused as error:
        raise InputError(f"'{template.source}': {error}; change the messages") from error


def _rendered(template: ChatTemplate, messages: Messages, answers: bool, dated: bool) -> str:
    try:
        import jinja2.ext
        import jinja2.sandbox
    except ImportError as error:
        raise ToolError(
            "chat templates need the package jinja2; pip install 'tvm-megcc[chat]'"
        ) from error
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    if dated:
        environment.globals["strftime_now"] = _now
    try:
        found = environment.from_string(template.text).render(
            messages=[dict(message) for message in messages],
            add_generation_prompt=answers,
            **template.tokens,
        )
    except (jinja2.TemplateError, TypeError, ValueError, KeyError) as error:
        raise InputError(
            f"'{template.source}' cannot be rendered ({error}); mend the template"
        ) from error
    return found


def _refuse(message: str) -> None:
    raise _Refused(message)


def _now(form: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(form)


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


#: What messages are made of where a template is tried out; no template has them in itself.
_SYSTEM, _FIRST, _ANSWER, _SECOND = (f"\u2603{k}\u2603" for k in range(4))

#: Contents that a template might change.
_CONTENTS = (
    "hello", " spaces around ", "lines\nof text\n\n", "\n", "a {{ b }} <c> & 'd' \"e\" \\n",
    "é 中 😀",
)  # fmt: skip


def roles_of(template: ChatTemplate) -> Roles:
    """The texts around messages of a template that does no more than put them there.

    Raises UnsupportedError, with what it does, for any other.
    """

    def text(*messages: dict[str, str], answers: bool = True) -> str:
        return _rendered(template, messages, answers, dated=False)

    def refuse(what: str) -> UnsupportedError:
        return UnsupportedError(
            f"'{template.source}': {what}, so the C package holds no conversations;"
            " use tvmc chat, which renders the template"
        )

    first, answer, second = (
        _message("user", _FIRST), _message("assistant", _ANSWER), _message("user", _SECOND),
    )  # fmt: skip
    try:
        short = text(first)
        told = text(first, answers=False)
        whole = text(first, answer, second)
        answered = text(first, answer, answers=False)
    except _Refused as error:
        raise refuse(f"a conversation of user and assistant is refused ({error})") from error
    if not short.startswith(told):
        raise refuse("add_generation_prompt changes more than the end")
    for found, parts in ((whole, (_FIRST, _ANSWER, _SECOND)), (answered, (_FIRST, _ANSWER))):
        if any(found.count(part) != 1 for part in parts):
            raise refuse("a message is left out or comes twice")
    start, _, rest = told.partition(_FIRST)
    after_user, before_assistant = rest, short[len(told) :]
    after_assistant = answered.partition(_ANSWER)[2]
    between = whole.partition(_ANSWER)[2].partition(_SECOND)[0]
    if not between.startswith(after_assistant):
        raise refuse("an answer looks different once it is followed by a message")
    before_user = between[len(after_assistant) :]
    if not start.endswith(before_user):
        raise refuse("the first message of the user looks different")
    before_system, after_system = _around_system(text, before_user)
    for trims in (False, True):
        roles = Roles(
            start[: len(start) - len(before_user)], before_system, after_system, before_user,
            after_user, before_assistant, after_assistant, trims,
        )  # fmt: skip
        wrong = _first_difference(template, roles)
        if wrong is None:
            return roles
    raise refuse(f"a conversation of {wrong} is more than texts around messages")


def _around_system(text: Any, before_user: str) -> tuple[str | None, str | None]:
    """Texts around a system's message; None where the template does not show it as such."""
    try:
        found = text(_message("system", _SYSTEM), _message("user", _FIRST))
    except _Refused:
        return None, None
    if found.count(_SYSTEM) != 1:
        return None, None
    before, _, rest = found.partition(_SYSTEM)
    between = rest.partition(_FIRST)[0]
    if not between.endswith(before_user):
        return None, None
    return before, between[: len(between) - len(before_user)]


def _first_difference(template: ChatTemplate, roles: Roles) -> str | None:
    """A conversation of which the template makes something else than `roles`, or None."""
    orders = [["user"], ["user", "assistant", "user"]]
    orders.append(["user", "assistant", "user", "assistant", "user"])
    if roles.before_system is not None:
        orders += [["system", *order] for order in orders]
    for order in orders:
        for shift in range(len(_CONTENTS)):
            messages = [
                _message(role, _CONTENTS[(shift + k) % len(_CONTENTS)])
                for k, role in enumerate(order)
            ]
            if _rendered(template, messages, True, dated=False) != roles.text(messages):
                return ", ".join(order)
    return None
