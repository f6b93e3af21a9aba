"""What a checkpoint's folder says about its text, beside ``tokenizer.json``.

| file | what is read of it |
|---|---|
| ``generation_config.json``, ``config.json`` | ``eos_token_id``: the tokens that end an answer |
| ``tokenizer_config.json`` | ``chat_template``, ``bos_token``, ``eos_token`` |
| ``chat_template.jinja`` | the template, where it is a file of its own |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm_megcc.errors import InputError
from tvm_megcc.tokenizer.tokenizer_json import Tokenizer


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A Jinja template of conversations, with the special tokens that it may name."""

    source: str
    text: str
    tokens: Mapping[str, str]


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"'{path}' cannot be read ({error}); save the checkpoint again") from error
    if not isinstance(found, dict):
        raise InputError(f"'{path}' is no JSON object; save the checkpoint again")
    return found


def folder_of(path: Path) -> Path:
    """The folder of a checkpoint, of which `path` is the folder or its ``tokenizer.json``."""
    return path if path.is_dir() else path.parent


def stops(path: Path, tokenizer: Tokenizer) -> list[int]:
    """Ids of the tokens that end what the model says; none where no file says any."""
    folder = folder_of(path)
    for name in ("generation_config.json", "config.json"):
        found = _json(folder / name).get("eos_token_id")
        given = found if isinstance(found, list) else [found]
        ids = [one for one in given if isinstance(one, int) and 0 <= one < tokenizer.count]
        if len(ids) == len(given):
            return ids
        if found is not None:
            raise InputError(
                f"'{folder / name}': eos_token_id {found!r} is no token of '{tokenizer.source}';"
                " give the files of one model"
            )
    eos = _special(_json(folder / "tokenizer_config.json").get("eos_token"))
    known = {token.content: token.id for token in tokenizer.added} | dict(tokenizer.vocabulary)
    return [known[eos]] if eos in known else []


def chat_template(path: Path) -> ChatTemplate | None:
    """The template of a checkpoint's conversations, None where it has none."""
    folder = folder_of(path)
    config = _json(folder / "tokenizer_config.json")
    text, source = config.get("chat_template"), folder / "tokenizer_config.json"
    if isinstance(text, list):  # several, by name
        text = next((one["template"] for one in text if one.get("name") == "default"), None)
    file = folder / "chat_template.jinja"
    if file.is_file():
        text, source = file.read_text(encoding="utf-8"), file
    if not isinstance(text, str):
        return None
    names = ("bos_token", "eos_token", "unk_token", "pad_token")
    tokens = {name: _special(config[name]) for name in names if config.get(name) is not None}
    return ChatTemplate(str(source), text, tokens)


def _special(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")
