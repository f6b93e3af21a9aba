"""``manifest.json`` as text.

Enters: what the manifest says, whose sizes may be `dims.Dim`s. Leaves: JSON; what it says of a size
stands on one line, and long sizes that stand in several places are written once, in
``shared_sizes`` (docs/package-format.md).

Example
-------
>>> print(manifest_text({"b": [1], "a": dims.symbol("n") * 2}), end="")
{
 "a": [[2, ["n"]]],
 "b": [
  1
 ]
}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial

from tvm_megcc.dims import Dim, Shared


def manifest_text(facts: Mapping[str, object]) -> str:
    """A manifest as the text of its file."""
    shared = Shared(_sizes(facts))
    table = [_OneLine(json.dumps(size)) for size in shared.table]
    more = {"shared_sizes": table} if table else {}
    return _text({**facts, **more}, shared, "\n") + "\n"


class _OneLine(str):
    """JSON that is written as it stands."""


def _sizes(value: object) -> Iterator[Dim]:
    """The symbolic sizes in their order in the file."""
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from _sizes(value[key])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _sizes(part)


def _text(value: object, shared: Shared, line: str) -> str:
    if isinstance(value, Dim):
        return json.dumps(shared.json(value))
    if isinstance(value, _OneLine):
        return value
    inner = partial(_text, shared=shared, line=f"{line} ")
    if isinstance(value, Mapping):
        parts = [f"{json.dumps(key)}: {inner(value[key])}" for key in sorted(value)]
        return _bracketed("{", parts, "}", line)
    if isinstance(value, list | tuple):
        return _bracketed("[", [inner(part) for part in value], "]", line)
    return json.dumps(value)


def _bracketed(left: str, parts: list[str], right: str, line: str) -> str:
    return left + ",".join(f"{line} {part}" for part in parts) + (line if parts else "") + right
