"""The kernels of a C file: the keys and rows of its header comment, and the C text of each.

Enters: the text of a file ``codegen_c/kernels/<operator>/<file>.c``. Leaves: what its header says
of all its kernels, a `Row` for each ``kernel:`` line, and the text that a kernel's instances are
compiled from: the file's, with the row's macros and includes behind the header comment.

Grammar: docs/adding-a-kernel.md.

Example
-------
>>> text = '''// op: pick
... // kernel: pick_f32 rank=10 NR=8
... // kernel: pick_x86 rank=20 arch=x86 NR=16 include=wide.h
... // work: n
... //
... // Text.
... int lanes = NR;'''
>>> common, rows = header(text)
>>> common
{'op': 'pick', 'work': 'n'}
>>> rows[1]
Row(stem='pick_x86', keys={'rank': '20', 'arch': 'x86'}, macros={'NR': '16'}, includes=('wide.h',))
>>> print(text_of(text, "pick_f32"))
// op: pick
// kernel: pick_f32 rank=10 NR=8
// work: n
//
// Text.
#ifndef NR
#define NR 8
#endif
int lanes = NR;
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_LINE = re.compile(r"// (?:(\w+):|(let \w+) =)\s*(.*?)\s*")
_MORE = re.compile(r"//   +(.*?)\s*")
_SAID = re.compile(r'(\w+)=("[^"]*"|\S+)\s*')


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of a file.

    Attributes
    ----------
    stem : str
    keys : mapping
        Header keys (in lower case) that hold for this kernel, in place of the file's.
    macros : mapping
        C macros (in upper case) that the file's code is compiled with for this kernel.
    includes : tuple of str
        Headers that stand before the file's code for this kernel, behind its macros.
    """

    stem: str
    keys: Mapping[str, str]
    macros: Mapping[str, str]
    includes: tuple[str, ...]


def header(text: str) -> tuple[dict[str, str], tuple[Row, ...]]:
    """The keys of a file's header comment but for ``kernel``, and its rows, both in their order.

    A ``let`` line is the key ``let <name>``.

    Raises
    ------
    ValueError
        For a row that is not a name and ``key=value`` words.
    """
    common: dict[str, str] = {}
    rows = []
    for key, value, _ in _entries(text):
        if key == "kernel":
            rows.append(_row(value))
        else:
            common[key] = value
    return common, tuple(rows)


def text_of(text: str, stem: str) -> str:
    """The C text of one kernel of a file: without the rows of the others, with its own macros."""
    (row,) = (row for row in header(text)[1] if row.stem == stem)
    lines = text.splitlines(keepends=True)
    others = {
        number
        for key, value, numbers in _entries(text)
        if key == "kernel" and _row(value).stem != stem
        for number in numbers
    }
    comment = next((k for k, line in enumerate(lines) if not line.startswith("//")), len(lines))
    defines = [
        f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in row.macros.items()
    ]
    includes = [f'#include "{path}"\n' for path in row.includes]
    kept = [line for number, line in enumerate(lines[:comment]) if number not in others]
    return "".join([*kept, *defines, *includes, *lines[comment:]])


def _entries(text: str) -> Iterator[tuple[str, str, range]]:
    """(key, value, numbers of its lines) of each entry of a header comment."""
    key, value, first, number = "", "", 0, 0
    for number, line in enumerate(text.splitlines()):
        start, more = _LINE.fullmatch(line), _MORE.fullmatch(line)
        if more and key:
            value += f" {more[1]}"
            continue
        if key:
            yield key, value, range(first, number)
        if not start:
            return
        key, value, first = start[1] or start[2], start[3], number
    if key:
        yield key, value, range(first, number + 1)


def _row(value: str) -> Row:
    stem, _, said = value.partition(" ")
    words = dict(_SAID.findall(said))
    if rest := _SAID.sub("", said).strip():
        raise ValueError(f'kernel: {stem}: {rest!r} is no key=value or key="several words"')
    words = {name: word.strip('"') for name, word in words.items()}
    includes = words.pop("include", "")
    return Row(
        stem,
        {name: word for name, word in words.items() if not name.isupper()},
        {name: word for name, word in words.items() if name.isupper()},
        tuple(includes.split()),
    )
