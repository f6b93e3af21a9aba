"""The tokenizer in C gives the ids and texts of the package `tokenizers`."""

from __future__ import annotations

import json
import random
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.test_runtime import SANITIZE
from tests.tokenizer.c_tokenizer import (
    AROUND,
    PLAIN,
    ROOT,
    SOURCES,
    CTokenizer,
    compiled,
    library,
)
from tests.tokenizer.strings import ODD, SCRIPTS, sentences
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.host import toolchain
from tvm_megcc.tokenizer import compile_tokenizer
from tvm_megcc.tokenizer.tokenizer_json import GPT2, PATTERNS

hf = pytest.importorskip("tokenizers", reason="no tokenizers; it is in the extra 'test'")

pytestmark = [pytest.mark.together, pytest.mark.slow]

EXPRESSIONS = {name: expression for expression, name in PATTERNS.items()}
SPECIAL = ["<|start|>", "<|end|>"]
STRINGS = sentences(10_000, 1)


def added(tokenizer: Any) -> None:
    """Added tokens of each kind."""
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_special_tokens([hf.AddedToken("<pad>", lstrip=True, rstrip=True, special=True)])
    tokenizer.add_tokens(["<extra>", hf.AddedToken("<extra>x", normalized=False)])


def byte_level(pattern: str, *, digits: bool = False) -> Any:
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = hf.Tokenizer(models.BPE(ignore_merges=pattern == "llama3"))
    steps = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    if pattern == "gpt2":
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True))
    else:
        split = hf.Regex(EXPRESSIONS[pattern])
        steps.append(pre_tokenizers.Split(split, behavior="isolated", invert=False))
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    if pattern == "qwen":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=SPECIAL,
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences(1500, 2), trainer)
    added(tokenizer)
    if pattern == "llama3":
        template = processors.TemplateProcessing(
            single="<|start|> $A",
            special_tokens=[("<|start|>", tokenizer.token_to_id("<|start|>"))],
        )
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), template])
    return tokenizer


def sentencepiece() -> Any:
    from tokenizers import decoders, models, normalizers, processors, trainers

    tokenizer = hf.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )  # fmt: skip
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        limit_alphabet=300,
        special_tokens=["<unk>", *bytes_, *SPECIAL],
        show_progress=False,
    )
    tokenizer.train_from_iterator((s.replace(" ", "▁") for s in sentences(1500, 3)), trainer)
    # What SentencePiece writes: its bytes are no special tokens.
    found = json.loads(tokenizer.to_str())
    found["added_tokens"] = [t for t in found["added_tokens"] if not t["content"].startswith("<0x")]
    tokenizer = hf.Tokenizer.from_str(json.dumps(found))
    added(tokenizer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|start|> $A <|end|>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in SPECIAL],
    )
    return tokenizer


TRAINED: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: byte_level("gpt2"),
    "llama3": lambda: byte_level("llama3"),
    "sentencepiece": sentencepiece,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizer")


@pytest.fixture(scope="module")
def pairs(folder: Path) -> Callable[[str], tuple[Any, CTokenizer]]:
    """A tokenizer of the package `tokenizers`, and ours of its file."""
    known: dict[str, tuple[Any, CTokenizer]] = {}

    def pair(name: str) -> tuple[Any, CTokenizer]:
        if name not in known:
            other = TRAINED[name]()
            ours = CTokenizer(library(folder), compiled(json.loads(other.to_str()), folder))
            assert ours.status == 0
            known[name] = other, ours
        return known[name]

    return pair


def check(other: Any, ours: CTokenizer, strings: list[str]) -> None:
    wanted = [row.ids for row in other.encode_batch(strings)]
    wrong = [
        (text, ids, found)
        for text, ids in zip(strings, wanted, strict=True)
        if (found := ours.encode(text)) != ids
    ]
    assert not wrong, f"{len(wrong)} of {len(strings)}: {wrong[0]}"
    wanted = wanted[::5]
    texts = other.decode_batch(wanted, skip_special_tokens=False)
    wrong = [
        (ids, text, found)
        for ids, text in zip(wanted, texts, strict=True)
        if (found := ours.decode(ids, special=True)) != text
    ]
    assert not wrong, f"{len(wrong)} texts: {wrong[0]}"


def test_strings_are_of_20_scripts() -> None:
    assert len(SCRIPTS) >= 20 and len(set(STRINGS)) == 10_000
    letters = {unicodedata.name(c, "NONE").split()[0] for text in STRINGS for c in text}
    assert len(letters) > 20


@pytest.mark.parametrize("name", list(TRAINED))
def test_equals_tokenizers(name: str, pairs: Callable[[str], tuple[Any, CTokenizer]]) -> None:
    other, ours = pairs(name)
    check(other, ours, [*STRINGS, *ODD])


@pytest.mark.parametrize("name", ["qwen", "smollm"])
def test_other_steps(name: str, folder: Path) -> None:
    """NFC, single digits: what Qwen 2 and SmolLM 2 have."""
    other = byte_level("qwen") if name == "qwen" else byte_level("gpt2", digits=True)
    ours = CTokenizer(library(folder), compiled(json.loads(other.to_str()), folder))
    check(other, ours, [*STRINGS[:2000], *ODD, *_compositions()])


def test_gemma(pairs: Callable[[str], tuple[Any, CTokenizer]], folder: Path) -> None:
    """Nothing in front of a text, and a Split at spaces that are gone by then."""
    found = json.loads(pairs("sentencepiece")[0].to_str())
    found["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    found["pre_tokenizer"] = {
        "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
        "invert": False,
    }  # fmt: skip
    found["decoder"]["decoders"].pop()
    ours = CTokenizer(library(folder), compiled(found, folder))
    check(hf.Tokenizer.from_str(json.dumps(found)), ours, [*STRINGS[:2000], *ODD])
    found["normalizer"] = None
    with pytest.raises(UnsupportedError, match="pre_tokenizer: Split at ' '"):
        compiled(found, folder)


def _compositions() -> list[str]:
    """Every kind of character that NFC changes, and marks in all orders behind one."""
    draw = random.Random(3)
    changed = [
        chr(c)
        for c in range(0x110000)
        if not 0xD800 <= c < 0xE000 and unicodedata.normalize("NFC", chr(c)) != chr(c)
    ]
    marks = "\u0301\u0308\u0323\u0327\u0345\u05b0\u0f71\u093c\u1161\u11a8"
    rows = ["".join(draw.choices(changed, k=5)) for _ in range(300)]
    rows += ["".join(draw.choices("aoUβשग\u1100가각" + marks, k=9)) for _ in range(300)]
    return rows


def test_ids_that_are_no_text(pairs: Callable[[str], tuple[Any, CTokenizer]]) -> None:
    """Random ids of bytes: what is no UTF-8 becomes U+FFFD, also where a token ends within."""
    other, ours = pairs("gpt2")
    draw = random.Random(4)
    for _ in range(500):
        ids = draw.choices(range(len(SPECIAL), 400), k=12)
        assert ours.decode(ids) == other.decode(ids), ids
    assert ours.decode([0, 300, 1]) == other.decode([0, 300, 1], skip_special_tokens=True)
    for wrong in (-1, 10**6, other.get_vocab_size()):
        with pytest.raises(ValueError, match="2"):  # MEGCC_ERR_INDEX
            ours.decode([wrong])


def test_text_that_a_user_typed(pairs: Callable[[str], tuple[Any, CTokenizer]]) -> None:
    """No special token comes out of a text unless it is asked for."""
    other, ours = pairs("llama3")
    other.encode_special_tokens = True
    try:
        for text in ("a <|end|> b", "<|start|>", "<pad>  x <extra>"):
            wanted = other.encode(text, add_special_tokens=False).ids
            assert ours.encode(text, PLAIN) == wanted
            assert not {0, 1} & set(wanted)
    finally:
        other.encode_special_tokens = False
    assert ours.encode("", AROUND) == [0] and ours.encode("", 0) == []


def test_bad_text(pairs: Callable[[str], tuple[Any, CTokenizer]]) -> None:
    _, ours = pairs("sentencepiece")
    for raw in (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"):
        with pytest.raises(ValueError, match=r"\(21, "):  # MEGCC_ERR_DATA
            ours.encode(raw)
    ids = ours.encode("many words of it")
    with pytest.raises(ValueError) as error:  # MEGCC_ERR_SIZE, and how many there are
        ours.encode("many words of it", room=3)
    status, count, written = error.value.args
    assert (status, count, written[:4]) == (14, len(ids), [*ids[:3], 0])


def test_a_long_text_takes_no_square_time(
    pairs: Callable[[str], tuple[Any, CTokenizer]],
) -> None:
    other, ours = pairs("sentencepiece")
    text = "ab" * 20_000 + "".join(STRINGS[:500])
    assert ours.encode(text) == other.encode(text).ids


BASE: dict[str, Any] = {
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    "post_processor": None,
    "decoder": {"type": "ByteLevel"},
    "added_tokens": [],
}
_SPLIT = {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False}
_TOKEN = {
    "id": 3, "content": "<x>", "special": True, "normalized": False, "lstrip": False,
    "rstrip": False, "single_word": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"normalizer": {"type": "NFKC"}}, "normalizer: NFKC"),
        (
            {"normalizer": {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "y"}},
            r"normalizer: Replace by \{'Regex': 'x\+'\}",
        ),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer: Whitespace"),
        (
            {"pre_tokenizer": _SPLIT},
            r"Split by 'a\+' \(Isolated\) is not supported; those of G",
        ),
        ({"post_processor": {"type": "BertProcessing"}}, "post_processor: BertProcessing"),
        ({"decoder": {"type": "WordPiece"}}, "decoder: WordPiece"),
        ({"decoder": None}, "decoder: none"),
        ({"added_tokens": [_TOKEN]}, "added_tokens: single_word of '<x>'"),
        ({"truncation": {"max_length": 5}}, "truncation"),
        ({"model": {"type": "Unigram", "vocab": []}}, "model: Unigram"),
        ({"model": BASE["model"] | {"dropout": 0.1}}, "model: dropout"),
        (
            {"model": BASE["model"] | {"continuing_subword_prefix": "##"}},
            "continuing_subword_prefix '##'",
        ),
        ({"model": BASE["model"] | {"byte_fallback": True}}, "model: byte_fallback"),
    ],
)
def test_refused_by_name(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=said):
        compiled(BASE | change, tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": BASE["model"] | {"merges": ["a c"]}}, "the merge 'a c' is not of tokens"),
        ({"model": BASE["model"] | {"unk_token": "u"}}, "unk_token 'u' is not in the vocabulary"),
        ({"model": BASE["model"] | {"vocab": {"a": 0, "b": 0}}}, "two tokens have one id"),
        ({"model": None}, "no part 'model'"),
        ({"pre_tokenizer": {"kind": "ByteLevel"}}, "KeyError"),
    ],
)
def test_wrong_files(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        compiled(BASE | change, tmp_path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        compile_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="is no JSON"):
        compile_tokenizer(tmp_path)


def test_a_tokenizer_of_another_model(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    model = {"type": "BPE", "vocab": {chr(256 + k): k for k in range(320)}, "merges": []}
    file.write_text(json.dumps(BASE | {"model": model}))
    for logits in (320, 336, 0):  # a few more than there are tokens: padding
        assert compile_tokenizer(file, vocabulary=logits)
    for logits in (319, 400):
        with pytest.raises(InputError, match=f"has 320 tokens, the model {logits} logits"):
            compile_tokenizer(file, vocabulary=logits)


def test_an_image_is_the_same_each_time(tmp_path: Path) -> None:
    assert GPT2 in PATTERNS
    assert compiled(BASE, tmp_path) == compiled(BASE, tmp_path)


def test_forged_images(folder: Path, tmp_path: Path) -> None:
    """Images with changed words are refused, or used without a step outside."""
    other = hf.Tokenizer(hf.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    found = json.loads(other.to_str()) | {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"}, {"type": "Prepend", "prepend": "a"},
                {"type": "Replace", "pattern": {"String": "b"}, "content": "ab"},
            ],
        },
        "pre_tokenizer": BASE["pre_tokenizer"],
        "decoder": BASE["decoder"],
        "added_tokens": [_TOKEN | {"single_word": False, "lstrip": True}],
    }  # fmt: skip
    image = tmp_path / "image"
    image.write_bytes(compiled(found, tmp_path))
    sources = [ROOT / f"runtime/generate/{name}.c" for name in SOURCES]
    program = tmp_path / "forged"
    where = [f"-I{ROOT / 'runtime'}/{part}" for part in ("include", "generate")]
    command = [toolchain.find_compiler(host_arch()), "-std=c99", *SANITIZE, *where]
    subprocess.run(
        [*command, str(Path(__file__).with_name("forged.c")), *map(str, sources), "-o", program],
        check=True,
    )
    done = subprocess.run([program, image], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    opened, refused = map(int, done.stdout.split())
    assert opened > 500 and refused > 500
