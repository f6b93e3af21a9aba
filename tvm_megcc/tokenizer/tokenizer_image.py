"""A `Tokenizer` -> its image: 32-bit little-endian words, which C reads where they lie.

The layout is in ``runtime/generate/megcc_tokenizer.c``: the words of the header, then an offset and
a count for each of `SECTIONS`, then the sections.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from tvm_megcc.errors import InputError
from tvm_megcc.tokenizer import unicode_tables
from tvm_megcc.tokenizer.message_roles import Roles
from tvm_megcc.tokenizer.tokenizer_json import (
    Added,
    Step,
    Tokenizer,
    byte_alphabet,
    normalised,
)

MAGIC, VERSION = 0x5447454D, 1
NONE = 0xFFFFFFFF
PATTERNS = ("none", "gpt2", "llama3", "qwen")
STEPS = ("prepend", "replace", "nfc")

#: Bits of the header's flags.
BYTE_LEVEL, IGNORE_MERGES, FUSE_UNKNOWN, BYTE_FALLBACK, PREFIX_SPACE, STRIPS_SPACE, DIGITS, \
    SINGLE_DIGITS, TRIMS, SYSTEM = (1 << k for k in range(10))  # fmt: skip
#: Bits of what an id is.
KNOWN, SPECIAL, IS_BYTE = 1, 2, 4
#: Bits of an added token.
LSTRIP, RSTRIP, ADDED_SPECIAL = 1, 2, 4

#: Sections in the image's order, with the bytes of an entry.
SECTIONS = {
    "text": 4, "bytes": 1, "kinds": 1, "sorted": 4, "units": 4, "left": 4, "merges": 12,
    "raw": 16, "normalised": 16, "raw_first": 4, "normalised_first": 4, "steps": 20,
    "replaced": 20, "before": 4, "after": 4, "classes": 4, "decomposed": 8, "points": 4,
    "orders": 4, "pairs": 12, "stops": 4, "roles": 8,
}  # fmt: skip
_HEADER_WORDS = 10
#: A model may have more logits than its tokenizer has ids, but not by more than one in so many.
_PADDING = 16


class _Strings:
    """Bytes that entries name by offset and length; behind the tokens' own."""

    def __init__(self, data: bytearray) -> None:
        self.data = data

    def add(self, text: str | bytes) -> tuple[int, int]:
        raw = text.encode() if isinstance(text, str) else text
        at = len(self.data)
        self.data += raw
        return at, len(raw)


def _words(values: Iterable[int]) -> bytes:
    row = list(values)
    return struct.pack(f"<{len(row)}I", *row)


def _growth(steps: Sequence[Step]) -> tuple[int, int]:
    """Most bytes of a normalised text: so many for each byte of the text, and so many more."""
    times, more = 1, 0
    for step in steps:
        if step.kind == "prepend":
            more += len(step.to.encode())
            continue
        # No text is more than 3 times as long in NFC (Unicode Standard Annex 15, section 12).
        factor = 3
        if step.kind == "replace":
            factor = max(1, -(-len(step.to.encode()) // len(step.text.encode())))
        times, more = times * factor, more * factor
    return times, more


def _token_bytes(tokenizer: Tokenizer) -> tuple[dict[int, bytes], set[int]]:
    """Bytes of each id, and the ids that the encoder may find by them."""
    alphabet = byte_alphabet()
    found: dict[int, bytes] = {}
    findable = set()
    # An added token that is looked for in normalised text is decoded to what was found.
    added = [
        (normalised(token.content, tokenizer.steps if token.normalized else ()), token.id)
        for token in tokenizer.added
    ]
    for text, number in [*tokenizer.vocabulary.items(), *added]:
        plain = not tokenizer.byte_level
        mapped = tokenizer.byte_level and all(c in alphabet for c in text)
        found[number] = bytes(alphabet[c] for c in text) if mapped else text.encode()
        if (plain or mapped) and tokenizer.vocabulary.get(text) == number:
            findable.add(number)
    return found, findable


def _units(tokenizer: Tokenizer) -> list[int]:
    """For each byte, the id of the token that stands for it."""
    names = {b: c for c, b in byte_alphabet().items()}
    texts = [names[b] if tokenizer.byte_level else f"<0x{b:02X}>" for b in range(256)]
    wanted = tokenizer.byte_level or tokenizer.byte_fallback
    return [tokenizer.vocabulary.get(text, NONE) if wanted else NONE for text in texts]


def _added(
    tokens: Sequence[Added], steps: Sequence[Step], strings: _Strings
) -> tuple[bytes, bytes]:
    """Entries of added tokens, sorted by their text, and where those with each first byte begin."""
    patterns: dict[bytes, Added] = {}
    for token in tokens:
        text = normalised(token.content, steps if token.normalized else ()).encode()
        if text:
            patterns.setdefault(text, token)
    rows, first = [], [0] * 257
    for text in sorted(patterns):
        token = patterns[text]
        flags = LSTRIP * token.lstrip | RSTRIP * token.rstrip | ADDED_SPECIAL * token.special
        rows.append(_words([*strings.add(text), token.id, flags]))
        first[text[0] + 1] += 1
    for byte in range(256):
        first[byte + 1] += first[byte]
    return b"".join(rows), _words(first)


def image(
    tokenizer: Tokenizer,
    *,
    vocabulary: int = 0,
    stops: Sequence[int] = (),
    roles: Roles | None = None,
) -> bytes:
    """The image of `tokenizer` for a model of `vocabulary` logits, 0 where none is known.

    `stops` are the tokens that end a text, `roles` the texts around messages. Raises InputError if
    the model has another tokenizer.
    """
    count = tokenizer.count
    if vocabulary and not count <= vocabulary <= count + count // _PADDING:
        raise InputError(
            f"'{tokenizer.source}' has {count} tokens, the model {vocabulary} logits;"
            " give the tokenizer of this model"
        )
    found, findable = _token_bytes(tokenizer)
    offsets = [0]
    data = bytearray()
    for number in range(count):
        data += found.get(number, b"")
        offsets.append(len(data))
    strings = _Strings(data)
    kinds = bytearray(count)
    for number in found:
        kinds[number] = KNOWN
    for token in tokenizer.added:
        kinds[token.id] |= SPECIAL * token.special
    units = _units(tokenizer)
    if tokenizer.byte_fallback:
        for number in units:
            kinds[number] |= IS_BYTE

    ranks = {(a, b): (rank, to) for rank, (a, b, to) in enumerate(tokenizer.merges)}
    pairs = sorted(ranks)
    left = [0] * (count + 1)
    for a, _ in pairs:
        left[a + 1] += 1
    for k in range(count):
        left[k + 1] += left[k]

    by_text = sorted(findable, key=lambda number: found[number])
    steps = tokenizer.steps
    order = sorted(tokenizer.added, key=lambda token: not token.special)
    raw, raw_first = _added([t for t in order if not t.normalized], (), strings)
    late, late_first = _added([t for t in order if t.normalized], steps, strings)
    rows = b"".join(
        _words([STEPS.index(s.kind), *strings.add(s.text), *strings.add(s.to)]) for s in steps
    )
    old, new = tokenizer.replaced
    replaced = _words([1, *strings.add(old), *strings.add(new)]) if old else b""
    texts = _words(n for text in roles.texts() for n in strings.add(text)) if roles else b""
    needs_nfc = any(step.kind == "nfc" for step in steps)
    apart = unicode_tables.decompositions() if needs_nfc else ()
    starts: list[int] = []
    points: list[int] = []
    for point, parts in apart:
        starts += [point, len(points) | len(parts) << 24]
        points += parts
    orders = unicode_tables.combining_classes() if needs_nfc else ()
    composed = unicode_tables.compositions() if needs_nfc else ()
    sections = {
        "text": _words(offsets),
        "bytes": bytes(data),
        "kinds": bytes(kinds),
        "sorted": _words(by_text),
        "units": _words(units),
        "left": _words(left),
        "merges": _words(n for a, b in pairs for n in (b, *ranks[a, b])),
        "raw": raw,
        "normalised": late,
        "raw_first": raw_first,
        "normalised_first": late_first,
        "steps": rows,
        "replaced": replaced,
        "before": _words(tokenizer.before),
        "after": _words(tokenizer.after),
        "classes": _words(first | one << 24 for first, one in unicode_tables.classes()),
        "decomposed": _words(starts),
        "points": _words(points),
        "orders": _words(point | order << 24 for point, order in orders),
        "pairs": _words(n for row in composed for n in row),
        "stops": _words(stops),
        "roles": texts,
    }
    flags = (
        BYTE_LEVEL * tokenizer.byte_level
        | IGNORE_MERGES * tokenizer.ignore_merges
        | FUSE_UNKNOWN * tokenizer.fuse_unknown
        | BYTE_FALLBACK * tokenizer.byte_fallback
        | PREFIX_SPACE * tokenizer.prefix_space
        | STRIPS_SPACE * tokenizer.strips_space
        | DIGITS * (tokenizer.digits != "none")
        | SINGLE_DIGITS * (tokenizer.digits == "single")
        | TRIMS * (roles is not None and roles.trims)
        | SYSTEM * (roles is not None and roles.before_system is not None)
    )
    unknown = NONE if tokenizer.unknown is None else tokenizer.unknown
    times, more = _growth(steps)
    at = 4 * (_HEADER_WORDS + 2 * len(SECTIONS))
    table: list[int] = []
    body = bytearray()
    for name, size in SECTIONS.items():
        part = sections[name]
        table += [at + len(body), len(part) // size]
        body += part + bytes(-len(part) % 4)
    head = [MAGIC, VERSION, at + len(body), flags, PATTERNS.index(tokenizer.pattern), count,
            unknown, vocabulary, times, more]  # fmt: skip
    return _words([*head, *table]) + bytes(body)
