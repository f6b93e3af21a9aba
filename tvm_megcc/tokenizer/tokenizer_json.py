"""``tokenizer.json`` as `Tokenizer`: the parts of a byte-pair encoder, checked one by one.

| part | taken |
|---|---|
| model | BPE without dropout, prefixes and suffixes of words |
| normalizer | NFC, Prepend, Replace of a text, a Sequence of them |
| pre_tokenizer | ByteLevel; Split by the expressions of `PATTERNS`; Digits; a Sequence of them |
| post_processor | TemplateProcessing with tokens around the text; ByteLevel |
| decoder | ByteLevel; Replace of a text, ByteFallback, Fuse, Strip of one space |
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tvm_megcc.errors import InputError, UnsupportedError

FILE = "tokenizer.json"

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

#: Expression of a Split -> name of the matcher in C.
PATTERNS: Mapping[str, str] = {
    GPT2: "gpt2",
    _LLAMA3: "llama3",
    _LLAMA3.replace("{1,3}", ""): "qwen",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the normalizer: ``nfc``, ``prepend`` of `to`, ``replace`` of `text` by `to`."""

    kind: str
    text: str = ""
    to: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """A token that is looked for in the text before the encoder sees it."""

    id: int
    content: str
    special: bool
    normalized: bool
    lstrip: bool
    rstrip: bool


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A byte-pair encoder.

    Attributes
    ----------
    source : str
        The file, for messages.
    vocabulary : mapping of str to int
        Tokens of the model, as the file writes them.
    merges : sequence of (left, right, result)
        Ids, the first pair to merge in front.
    byte_level : bool
        Whether the tokens are bytes in the alphabet of GPT-2; else they are text.
    pattern : str
        A value of `PATTERNS`, or ``none``.
    digits : str
        ``none``, ``runs`` or ``single``: how numbers are split off first.
    before, after : sequence of int
        Special tokens around a text.
    replaced : (str, str)
        Text of decoded tokens that becomes another; empty where nothing does.
    """

    source: str
    vocabulary: Mapping[str, int]
    merges: Sequence[tuple[int, int, int]]
    unknown: int | None
    fuse_unknown: bool
    byte_fallback: bool
    ignore_merges: bool
    added: Sequence[Added]
    steps: Sequence[Step]
    byte_level: bool
    prefix_space: bool
    pattern: str
    digits: str
    before: Sequence[int]
    after: Sequence[int]
    replaced: tuple[str, str]
    strips_space: bool

    @property
    def count(self) -> int:
        """Number of ids: the largest one, plus 1."""
        ids = [*self.vocabulary.values(), *(token.id for token in self.added)]
        return max(ids, default=-1) + 1


def normalised(text: str, steps: Sequence[Step]) -> str:
    """`text` after the normalizer's steps."""
    for step in steps:
        if step.kind == "nfc":
            text = unicodedata.normalize("NFC", text)
        elif step.kind == "prepend":
            text = step.to + text if text else text
        else:
            text = text.replace(step.text, step.to)
    return text


def byte_alphabet() -> dict[str, int]:
    """The characters that GPT-2 writes bytes with.

    >>> byte_alphabet()["Ġ"]
    32
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + k): b for k, b in enumerate(others)}


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a folder or file; raises as `compile_tokenizer` does."""
    file = path / FILE if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"'{file}': {error.strerror}; name the folder of a checkpoint with {FILE}"
        ) from error
    except ValueError as error:
        raise InputError(f"'{file}' is no JSON ({error}); give the {FILE} of a model") from error
    if not isinstance(found, dict) or not isinstance(found.get("model"), dict):
        raise InputError(f"'{file}' has no part 'model'; give the {FILE} of a model")
    try:
        return _Reader(str(file), found).tokenizer()
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(
            f"'{file}' is not as the package tokenizers writes it ({error!r}); save it again"
        ) from error


class _Reader:
    def __init__(self, file: str, found: dict[str, Any]) -> None:
        self.file, self.found = file, found

    def refuse(self, part: str, what: str, remedy: str = "use a tokenizer without it") -> NoReturn:
        raise UnsupportedError(f"'{self.file}': {part}: {what} is not supported; {remedy}")

    def tokenizer(self) -> Tokenizer:
        for part in ("truncation", "padding"):
            if self.found.get(part) is not None:
                self.refuse(part, f"{part} of the encoded text", "set it to null")
        model = self.found["model"]
        vocabulary = self.vocabulary(model)
        steps = self.steps(self.found.get("normalizer"))
        byte_level, prefix_space, pattern, digits = self.splits(steps)
        added = [self.added(row) for row in self.found.get("added_tokens") or ()]
        ids = vocabulary | {token.content: token.id for token in added}
        unknown = model.get("unk_token") or None
        if unknown is not None and unknown not in vocabulary:
            raise InputError(
                f"'{self.file}': unk_token {unknown!r} is not in the vocabulary; save it again"
            )
        fallback = bool(model.get("byte_fallback"))
        missing = [f"<0x{b:02X}>" for b in range(256) if f"<0x{b:02X}>" not in vocabulary]
        if fallback and byte_level:
            self.refuse("model", "byte_fallback of bytes that ByteLevel has written")
        if fallback and missing:
            self.refuse("model", f"byte_fallback without the token {missing[0]}")
        before, after = self.affixes(ids)
        replaced, strips, falls = self.decoder(byte_level)
        if falls != fallback and not byte_level:
            self.refuse("decoder", "ByteFallback in only one of model and decoder")
        return Tokenizer(
            source=self.file,
            vocabulary=vocabulary,
            merges=self.merges(model, vocabulary),
            unknown=None if unknown is None else vocabulary[unknown],
            fuse_unknown=bool(model.get("fuse_unk")),
            byte_fallback=fallback,
            ignore_merges=bool(model.get("ignore_merges")),
            added=added,
            steps=steps,
            byte_level=byte_level,
            prefix_space=prefix_space,
            pattern=pattern,
            digits=digits,
            before=before,
            after=after,
            replaced=replaced,
            strips_space=strips,
        )

    def vocabulary(self, model: dict[str, Any]) -> dict[str, int]:
        if model.get("type", "BPE") != "BPE" or "merges" not in model:
            self.refuse("model", str(model.get("type", "a model without merges")), "BPE is")
        if model.get("dropout"):
            self.refuse("model", "dropout")
        for name in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(name):
                self.refuse("model", f"{name} {model[name]!r}")
        found: dict[str, int] = {str(text): int(k) for text, k in model["vocab"].items()}
        if len(set(found.values())) != len(found) or min(found.values(), default=0) < 0:
            raise InputError(f"'{self.file}': two tokens have one id; save the tokenizer again")
        if max(found.values(), default=0) >= 2 * len(found) + (1 << 20):
            raise InputError(f"'{self.file}': ids are far apart; save the tokenizer again")
        return found

    def merges(self, model: dict[str, Any], ids: dict[str, int]) -> list[tuple[int, int, int]]:
        pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        for pair in pairs:
            if len(pair) != 2 or any(text not in ids for text in (*pair, "".join(pair))):
                raise InputError(
                    f"'{self.file}': the merge {' '.join(pair)!r} is not of tokens; save it again"
                )
        return [(ids[a], ids[b], ids[a + b]) for a, b in pairs]

    def steps(self, part: dict[str, Any] | None) -> list[Step]:
        if part is None:
            return []
        kind = part["type"]
        if kind == "Sequence":
            return [step for one in part["normalizers"] for step in self.steps(one)]
        if kind == "NFC":
            return [Step("nfc")]
        if kind == "Prepend":
            return [Step("prepend", "", part["prepend"])]
        if kind == "Replace" and part["pattern"].get("String"):
            return [Step("replace", part["pattern"]["String"], part["content"])]
        self.refuse("normalizer", f"{kind} by {part['pattern']}" if kind == "Replace" else kind)

    def splits(self, steps: Sequence[Step]) -> tuple[bool, bool, str, str]:
        """Whether the tokens are bytes, whether a space comes in front, pattern, digits."""
        part = self.found.get("pre_tokenizer")
        parts = [] if part is None else self.flat(part, "pretokenizers")
        byte_level, space, pattern, digits = False, False, "none", "none"
        for k, one in enumerate(parts):
            kind = one["type"]
            if kind == "Digits" and k == 0:
                digits = "single" if one["individual_digits"] else "runs"
            elif kind == "Split" and pattern == "none" and not byte_level:
                pattern = self.split(one, steps)
            elif kind == "ByteLevel" and k == len(parts) - 1:
                byte_level, space = True, bool(one["add_prefix_space"])
                if one.get("use_regex", True):
                    if pattern != "none":
                        self.refuse("pre_tokenizer", "ByteLevel with use_regex behind Split")
                    pattern = "gpt2"
            else:
                self.refuse("pre_tokenizer", kind if k == 0 else f"{kind} at place {k + 1}")
        if space and (len(parts) > 1):
            self.refuse("pre_tokenizer", "add_prefix_space behind another step")
        if not byte_level and (pattern != "none" or digits != "none"):
            self.refuse("pre_tokenizer", f"{parts[-1]['type']} without ByteLevel")
        return byte_level, space, pattern, digits

    def split(self, part: dict[str, Any], steps: Sequence[Step]) -> str:
        pattern, behavior = part["pattern"], part["behavior"]
        # Gemma's: no space is left for it, so it does nothing.
        if "String" in pattern:
            text, gone = pattern["String"], [s for s in steps if s.kind == "replace"]
            if text and not part.get("invert") and any(
                s.text == text and text not in "".join(t.to for t in steps) for s in gone
            ):  # fmt: skip
                return "none"
            self.refuse("pre_tokenizer", f"Split at {text!r}")
        # Every character is in a match, so what is between matches does not matter.
        whole = {("Isolated", False), ("Removed", True)}
        name = PATTERNS.get(pattern.get("Regex", ""))
        if name is None or (behavior, bool(part.get("invert"))) not in whole:
            self.refuse(
                "pre_tokenizer",
                f"Split by {pattern.get('Regex')!r} ({behavior})",
                "those of GPT-2, Llama 3 and Qwen 2 are",
            )
        return name

    def added(self, row: dict[str, Any]) -> Added:
        if row["single_word"]:
            self.refuse("added_tokens", f"single_word of {row['content']!r}")
        if not row["content"]:
            self.refuse("added_tokens", "a token without text")
        return Added(
            int(row["id"]), row["content"], bool(row["special"]), bool(row["normalized"]),
            bool(row["lstrip"]), bool(row["rstrip"]),
        )  # fmt: skip

    def affixes(self, ids: Mapping[str, int]) -> tuple[list[int], list[int]]:
        part = self.found.get("post_processor")
        before: list[int] = []
        after: list[int] = []
        around = before, after
        for one in [] if part is None else self.flat(part, "processors"):
            if one["type"] == "ByteLevel":
                continue  # it changes offsets only
            if one["type"] != "TemplateProcessing" or before or after:
                self.refuse("post_processor", one["type"])
            side = 0
            for piece in one["single"]:
                if "Sequence" in piece:
                    side += 1
                    continue
                special = one["special_tokens"][piece["SpecialToken"]["id"]]
                around[side > 0].extend(int(k) for k in special["ids"])
            if side != 1:
                self.refuse("post_processor", f"a template with the text {side} times")
        return around

    def decoder(self, byte_level: bool) -> tuple[tuple[str, str], bool, bool]:
        """Text that is replaced, whether a first space goes, whether bytes are tokens."""
        part = self.found.get("decoder")
        parts = [] if part is None else self.flat(part, "decoders")
        kinds = [one["type"] for one in parts]
        if byte_level:
            if kinds != ["ByteLevel"]:
                self.refuse("decoder", f"{' and '.join(kinds) or 'none'} for ByteLevel's tokens")
            return ("", ""), False, False
        replaced, strips, last = ("", ""), False, -1
        order = ("Replace", "ByteFallback", "Fuse", "Strip")
        for one in parts:
            kind = one["type"]
            if kind not in order or order.index(kind) <= last:
                self.refuse("decoder", f"{kind} among {', '.join(kinds)}")
            last = order.index(kind)
            if kind == "Replace":
                if not one["pattern"].get("String"):
                    self.refuse("decoder", f"Replace by {one['pattern']}")
                replaced = (one["pattern"]["String"], one["content"])
            if kind == "Strip":
                if (one["content"], one["start"], one["stop"]) != (" ", 1, 0):
                    self.refuse("decoder", f"Strip of {one['start']} and {one['stop']}")
                strips = True
        if "Fuse" not in kinds:
            self.refuse("decoder", f"{' and '.join(kinds) or 'none'} without Fuse")
        return replaced, strips, "ByteFallback" in kinds

    def flat(self, part: dict[str, Any], inside: str) -> list[dict[str, Any]]:
        if part["type"] != "Sequence":
            return [part]
        return [deep for one in part[inside] for deep in self.flat(one, inside)]
