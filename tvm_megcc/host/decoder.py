"""A compiled language model and its tokenizer: whether they belong together.

Enters: programs and the folder of a checkpoint. Leaves: what their package carries for text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tvm_megcc.core.program import Bundle, Program, bundle_of
from tvm_megcc.errors import InputError, ToolError, UnsupportedError
from tvm_megcc.tokenizer import chat_templates, checkpoint
from tvm_megcc.tokenizer.tokenizer_image import image
from tvm_megcc.tokenizer.tokenizer_json import read_tokenizer

#: File of a package with the template of conversations.
TEMPLATE = "chat_template.json"


@dataclass(frozen=True, slots=True)
class Texts:
    """What a package carries to generate text.

    Attributes
    ----------
    tokenizer : bytes
        The image for ``megcc_tokenizer_open``.
    template : str, optional
        The contents of `TEMPLATE`.
    remark : str
        Why the C program holds no conversations; empty where it does, or there is no template.
    """

    tokenizer: bytes
    template: str | None = None
    remark: str = ""


def vocabulary(program: Program | Bundle) -> int:
    """Number of logits of a decoder; InputError, which names the port, if this is none."""
    bundle = bundle_of(program)
    inputs = [port.name for port in bundle.inputs]
    first = bundle.variants[0].program
    outputs = {port.name: first.tensors[port.tensor].shape for port in first.outputs}
    pasts = [name for name in inputs if name.startswith("past_key_values.")]
    missing = [name for name in ("input_ids", "attention_mask") if name not in inputs]
    missing += [] if pasts else ["past_key_values.0.key"]
    for name in ("logits", *(f"present.{past.split('.', 1)[1]}" for past in pasts)):
        missing += [] if name in outputs else [name]
    if missing:
        raise InputError(
            f"--generate: the model has no {missing[0]!r}; export it with a cache, as"
            " onnxruntime-genai's builder and optimum do"
        )
    taken = {"input_ids", "attention_mask", "position_ids", *pasts}
    for name in inputs:
        if name not in taken:
            raise InputError(f"--generate: nothing is known of the model's input {name!r}")
    last = outputs["logits"][-1]
    if not isinstance(last, int):
        raise InputError("--generate: the number of logits is not fixed; export it again")
    return last


def texts(folder: Path, programs: Mapping[str, Program | Bundle]) -> Texts:
    """Tokenizer, stop tokens and conversations of the checkpoint in `folder`, for these programs.

    Raises InputError if they are not of one model, UnsupportedError for a tokenizer that C cannot
    be.
    """
    tokenizer = read_tokenizer(folder)
    template = checkpoint.chat_template(folder)
    roles, remark = None, ""
    if template is not None:
        try:
            roles = chat_templates.roles_of(template)
        except (InputError, ToolError, UnsupportedError) as error:
            remark = str(error)
    size = vocabulary(next(iter(programs.values())))
    stops = checkpoint.stops(folder, tokenizer)
    found = image(tokenizer, vocabulary=size, stops=stops, roles=roles)
    if template is None:
        return Texts(found)
    carried = {"chat_template": template.text, **dict(template.tokens)}
    return Texts(found, json.dumps(carried, ensure_ascii=False, indent=1) + "\n", remark)


def read_template(folder: Path) -> checkpoint.ChatTemplate:
    """The template that a package carries; InputError if it carries none."""
    path = folder / TEMPLATE
    if not path.is_file():
        raise InputError(
            f"'{folder}' has no chat template; compile it with the folder of a model that was"
            " trained for conversations, or use tvmc generate"
        )
    found = json.loads(path.read_text(encoding="utf-8"))
    text = found.pop("chat_template")
    return checkpoint.ChatTemplate(str(path), text, found)
