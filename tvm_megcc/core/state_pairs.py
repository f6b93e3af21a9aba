"""State pairs: an input and an output that share memory, as a user names them.

Example
-------
>>> matched(["past.*=present.*"], ["x", "past.0.key"], ["y", "present.0.key"])
{'present.0.key': 'past.0.key'}
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm_megcc.errors import InputError

#: What the option is called in messages.
OPTION = "--state"


def matched(
    patterns: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]
) -> dict[str, str]:
    """Names of the paired ports: output -> input.

    Parameters
    ----------
    patterns : sequence of str
        ``IN=OUT``; a ``*`` stands for the same text in both names.
    inputs, outputs : sequence of str
        Names of a model's ports.

    Raises
    ------
    InputError
        A pattern is not of this form or fits no port, or a port is in two pairs.
    """
    found: dict[str, str] = {}
    for pattern in patterns:
        rows = dict(_pairs(pattern, inputs, outputs))
        for output, name in rows.items():
            if found.get(output, name) != name or name in found.values():
                raise InputError(
                    f"{OPTION} {pattern!r}: '{name}' or '{output}' is in another pair already; give"
                    " each port once"
                )
        found |= rows
    return found


def _pairs(pattern: str, inputs: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    for at in (k for k, c in enumerate(pattern) if c == "="):  # a name may hold the sign
        left, right = pattern[:at], pattern[at + 1 :]
        if not left or not right or (left.count("*"), right.count("*")) not in ((0, 0), (1, 1)):
            continue
        rows = [(right.replace("*", t), i) for i in inputs if (t := _text(left, i)) is not None]
        if rows and all(output in outputs for output, _ in rows):
            return rows
        if rows:
            missing = next(output for output, _ in rows if output not in outputs)
            listed = ", ".join(f"'{name}'" for name in outputs)
            raise InputError(f"{OPTION} {pattern!r}: '{missing}' is no output; they are {listed}")
    listed = ", ".join(f"'{name}'" for name in inputs)
    raise InputError(
        f"{OPTION} {pattern!r} fits no input; write IN=OUT, with a * on both sides for several"
        f" pairs; inputs are {listed}"
    )


def _text(pattern: str, name: str) -> str | None:
    """What the pattern's ``*`` stands for in a name, empty if it has none; None if it differs."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    fits = name.startswith(before) and name.endswith(after)
    if not fits or len(name) < len(before) + len(after):
        return None
    return name[len(before) : len(name) - len(after)]
