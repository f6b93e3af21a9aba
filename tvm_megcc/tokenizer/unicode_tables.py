"""Tables of Unicode for the tokenizer in C, from Python's `unicodedata`.

Each function returns rows sorted by their first number, a code point.
"""

from __future__ import annotations

import unicodedata
from functools import cache

POINTS = range(0x110000)
HANGUL = range(0xAC00, 0xD7A4)
SURROGATES = range(0xD800, 0xE000)

#: Classes of characters, by which a Split pattern tells them apart.
OTHER, LETTER, NUMBER, SPACE = range(4)

#: The property White_Space, which ``\s`` stands for; `unicodedata` does not have it.
_SPACES = frozenset(
    [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
     0x205F, 0x3000]
)  # fmt: skip


@cache
def classes() -> tuple[tuple[int, int], ...]:
    """First code point of each run of characters of one class, with the class."""
    found: list[tuple[int, int]] = []
    for point in POINTS:
        letter = unicodedata.category(chr(point))[0]
        one = SPACE if point in _SPACES else {"L": LETTER, "N": NUMBER}.get(letter, OTHER)
        if not found or found[-1][1] != one:
            found.append((point, one))
    return tuple(found)


@cache
def decompositions() -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Characters with what they are in NFD; Hangul, which is arithmetic, left out."""
    found = []
    for point in POINTS:
        if point not in HANGUL and point not in SURROGATES:
            apart = unicodedata.normalize("NFD", chr(point))
            if apart != chr(point):
                found.append((point, tuple(map(ord, apart))))
    return tuple(found)


@cache
def combining_classes() -> tuple[tuple[int, int], ...]:
    """Characters that combine with the one before, with their class."""
    rows = ((point, unicodedata.combining(chr(point))) for point in POINTS)
    return tuple(row for row in rows if row[1])


@cache
def compositions() -> tuple[tuple[int, int, int], ...]:
    """Pairs of characters with the one that NFC makes of them; Hangul left out."""
    found = []
    for point in POINTS:
        apart = unicodedata.decomposition(chr(point)).split()
        if len(apart) == 2 and apart[0][0] != "<":
            if unicodedata.normalize("NFC", chr(point)) == chr(point):
                found.append((int(apart[0], 16), int(apart[1], 16), point))
    return tuple(sorted(found))
