"""A tiny language model with a checkpoint's files, and what ONNX Runtime makes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tvm_megcc.tokenizer.tokenizer_json import byte_alphabet

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n'"
    " }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
SPECIAL = ("<|im_start|>", "<|im_end|>")


def tokenizer(count: int = 270) -> dict[str, Any]:
    """A tokenizer.json with a token for each byte, two merges, and special tokens."""
    names = {byte: char for char, byte in byte_alphabet().items()}
    texts = [*(names[b] for b in range(256)), "th", "the"]
    texts += [f"unused{k}" for k in range(count - len(texts) - len(SPECIAL))]
    flags = {"normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
    return {
        "added_tokens": [
            {"id": len(texts) + k, "content": text, "special": True, **flags}
            for k, text in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel"},
        "model": {
            "type": "BPE",
            "vocab": {text: k for k, text in enumerate(texts)},
            "merges": [["t", "h"], ["th", "e"]],
        },
    }


def checkpoint(
    folder: Path, template: str | None = CHATML, *, count: int = 270, **config: Any
) -> Path:
    """A folder with the files that `tvmc compile --generate` reads."""
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(count)))
    found = {"eos_token": SPECIAL[1], **({"chat_template": template} if template else {})}
    (folder / "tokenizer_config.json").write_text(json.dumps({**found, **config}))
    return folder


class Reference:
    """ONNX Runtime, which computes the whole sequence for each token."""

    def __init__(self, model: onnx.ModelProto) -> None:
        import onnxruntime

        self.session = onnxruntime.InferenceSession(model.SerializeToString())

    def logits(self, tokens: Sequence[int]) -> np.ndarray:
        """Behind the last token."""
        count = len(tokens)
        inputs = {
            "input_ids": np.array([tokens], "i8"),
            "attention_mask": np.ones((1, count), "i8"),
            "position_ids": np.arange(count, dtype="i8")[None],
        }
        for port in self.session.get_inputs():
            if port.name.startswith("past_key_values."):
                inputs[port.name] = np.zeros((1, port.shape[1], 0, port.shape[3]), "f4")
        return self.session.run(["logits"], inputs)[0][0, -1]

    def greedy(self, prompt: Sequence[int], count: int, known: int) -> list[int]:
        """The most likely tokens below `known`, one after the other."""
        found = list(prompt)
        for _ in range(count):
            found.append(int(self.logits(found)[:known].argmax()))
        return found[len(prompt) :]
