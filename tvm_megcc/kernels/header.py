"""The header comment of a kernel file, a `KernelFile` for each row.

Its grammar is in docs/adding-a-kernel.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tvm_megcc.codegen_c.kernel_rows import Row, header, text_of
from tvm_megcc.core.machine import ARCHITECTURES, FEATURES
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.kernels import constants, types
from tvm_megcc.kernels.contract import Contract, contract
from tvm_megcc.kernels.expression import Expression
from tvm_megcc.kernels.kernel_file import KernelFile, Packing

#: Keys whose value is a formula over a call's facts -> the formula where a header has no such key.
#: An empty one: the key is required, or the kernel has no such number (``instructions``).
FORMULAS = {
    "when": "1", "rank": "", "work": "", "cost": "", "instructions": "", "workspace": "0",
    "overlap": "-1", "tolerance": "0", "weights": "0",
}  # fmt: skip
_KEYS = {
    "kernel", "op", "dtype", "arch", "isa", "params", "pack", "inplace", "exact", "optimize",
    "tune", "without", *FORMULAS,
}  # fmt: skip


def parse_all(path: Path) -> tuple[KernelFile, ...]:
    """The kernels of a file, one for each row; errors as `parse`."""
    _, rows = _read(path)
    return tuple(parse(path, row.stem) for row in rows)


def parse(path: Path, stem: str = "", settings: tuple[tuple[str, int], ...] = ()) -> KernelFile:
    """Read a kernel's facts from the header comment of its file.

    Parameters
    ----------
    path : path
    stem : str
        Which kernel; may be left out where the file has one.
    settings : tuple of (macro, value)
        Of what the header lets be tuned.

    Raises
    ------
    ValueError
        When the header misses a key, has an unknown one, or does not fit the file's name.
    """
    common, rows = _read(path)
    row = next(row for row in rows if stem in ("", row.stem))
    if "like" in common:
        # The other file's keys hold here, too.
        other = path.with_name(f"{common.pop('like')}.c")
        if not other.is_file():
            raise ValueError(f"{path.name}: there is no {other.name} to be like")
        common = {**_read(other)[0], **common}
    own = {f"let {key}" if f"let {key}" in common else key: row.keys[key] for key in row.keys}
    keys = {"kernel": row.stem, **common, **own}
    required = ("op", "dtype", "arch", "rank", "work", "cost")
    missing = [key for key in required if not keys.get(key)]
    unknown = {key for key in keys.keys() - _KEYS if not key.startswith("let ")}
    if missing or unknown:
        raise ValueError(f"{path.name}: missing keys {sorted(missing)}, unknown {sorted(unknown)}")
    archs = tuple(a.strip() for a in keys["arch"].split(","))
    if not set(archs) <= set(ARCHITECTURES):
        raise ValueError(f"{path.name}: `arch` must be of {ARCHITECTURES}")
    if keys["op"] != path.parent.name:
        raise ValueError(f"{path.name}: a kernel of {keys['op']} stands in {path.parent.name}/")
    given = {*_macros(keys), *contract(keys["op"]).variables}
    text = text_of(path.read_text(encoding="utf-8"), row.stem)
    numbers = constants.of_text(text, given, dict(settings))
    return replace(_made(path, archs, keys, numbers), settings=settings)


def _read(path: Path) -> tuple[dict[str, str], tuple[Row, ...]]:
    """The keys and rows of a file's header comment."""
    try:
        common, rows = header(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    stems = [row.stem for row in rows]
    if not stems or (len(stems) == 1 and stems[0] != path.stem):
        raise ValueError(f"{path.name}: `kernel` must be {path.stem}, or there are several")
    if twice := {stem for stem in stems if stems.count(stem) > 1}:
        raise ValueError(f"{path.name}: kernel {min(twice)} has two rows")
    return common, rows


def _features(name: str, isa: str, archs: Iterable[str]) -> tuple[str, ...]:
    """The features that a kernel's ``isa`` names, which all its architectures have."""
    features = tuple(w for w in re.split(r"[\s,+]+", isa) if w not in ("none", "simd"))
    for arch in archs:
        if foreign := [f for f in features if f not in FEATURES[arch]]:
            raise ValueError(
                f"{name}: `isa` names {', '.join(foreign)}, which {arch} has not; write none,"
                f" simd or features of tvm_megcc/core/machine.py:"
                f" {', '.join(FEATURES[arch]) or 'none'}"
            )
    return features


def _made(
    path: Path, archs: tuple[str, ...], keys: Mapping[str, str], numbers: Mapping[str, int]
) -> KernelFile:
    operator = contract(keys["op"])
    lets = _lets(keys, operator, numbers)
    texts = {key: keys.get(key) or usual for key, usual in FORMULAS.items()}
    formulas = {key: Expression(text, numbers, lets) for key, text in texts.items() if text}
    params = {macro: Expression(text, numbers, lets) for macro, text in _params(keys)}
    named = {f"let {name}": formula for name, formula in lets.items()}
    _check_names(keys["kernel"], operator, {**formulas, **params, **named})
    isa = keys.get("isa", "none")
    return KernelFile(
        path=path,
        stem=keys["kernel"],
        op=operator.op,
        types=types.parse(keys["dtype"], operator),
        archs=archs,
        isa=isa,
        features=_features(keys["kernel"], isa, archs),
        formulas=formulas,
        params=tuple(params.items()),
        pack=tuple(_packings(keys.get("pack", ""), operator, numbers)),
        exact=_exact(keys),
        optimize=_optimize(keys),
        tune=_tune(keys, numbers),
        inplace=tuple(
            operator.operand(name.strip()).name
            for name in keys.get("inplace", "").split(",")
            if name.strip()
        ),
    )


def _lets(
    keys: Mapping[str, str], operator: Contract, numbers: Mapping[str, int]
) -> dict[str, Expression]:
    """Formulas of the lines ``let tiles = ceil(oh, 4)`` by name; each may use those before it.

    `numbers` are the constants that the file defines. A header `like` another one may replace a
    formula, which keeps its place in the order. ValueError for a name that is taken.
    """
    found: dict[str, Expression] = {}
    for key, text in keys.items():
        name = key.removeprefix("let ")
        if name == key:
            continue
        if name in operator.names or name in numbers:
            what = f"a fact of {operator.op}" if name in operator.names else "a macro of the file"
            raise ValueError(f"{keys['kernel']}: {key}: {name!r} is {what} already")
        found[name] = Expression(text, numbers, found)
    return found


def _exact(keys: Mapping[str, str]) -> bool:
    word = keys.get("exact", "yes")
    if word not in ("yes", "no"):
        raise ValueError(f"{keys['kernel']}: exact: {word!r} is neither yes nor no")
    return word == "yes"


def _optimize(keys: Mapping[str, str]) -> tuple[str, ...]:
    words = tuple(keys["optimize"].split()) if "optimize" in keys else OPTIMIZE
    for word in words:
        if word not in OPTIMIZE:
            names = ", ".join(OPTIMIZE)
            raise ValueError(f"{keys['kernel']}: optimize: {word!r} is none of {names}")
    return words


def _tune(
    keys: Mapping[str, str], numbers: Mapping[str, int]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """``BLOCK=32,64 TILES=/2,*2``: macros that have one value in the file, and further ones.

    ``/2`` and ``*2`` are half and twice the kernel's own value, which itself is left out: rows
    of a file may have different ones.
    """
    found = []
    for word in keys.get("tune", "").split():
        match = re.fullmatch(r"(\w+)=([*/]?\d+(?:,[*/]?\d+)*)", word)
        if match is None or match[1] not in numbers:
            raise ValueError(
                f"{keys['kernel']}: tune: {word!r} is no macro of the file with values, as in"
                " BLOCK=32,64"
            )
        own = numbers[match[1]]
        values = (_tuned(value, own) for value in match[2].split(","))
        found.append((match[1], tuple(v for v in values if v != own)))
    return tuple(found)


def _tuned(value: str, own: int) -> int:
    sign, number = value.rstrip("0123456789"), int(value.lstrip("*/"))
    return own * number if sign == "*" else own // number if sign else number


def _check_names(stem: str, operator: Contract, formulas: Mapping[str, Expression]) -> None:
    """Refuse a formula that names neither a fact of the operator nor a constant of the file."""
    for key, formula in formulas.items():
        for name in sorted(formula.names - operator.names):
            raise ValueError(
                f"{stem}: {key}: {name!r} is neither a fact of {operator.op} nor one number"
                " in the file's macros nor a let above"
            )


def _params(keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """``ACT=act KH=kh``: an expression with spaces stands in parentheses.

    ``without`` names those that a row has not of its file's.
    """
    text, left_out = keys.get("params", ""), keys.get("without", "").split()
    rows = re.findall(r"(\w+)=(\((?:[^()]|\([^()]*\))*\)|\S+)", text)
    if strange := set(left_out) - {macro for macro, _ in rows}:
        raise ValueError(f"{keys['kernel']}: without: {min(strange)} is none of its `params`")
    return [row for row in rows if row[0] not in left_out]


def _macros(keys: Mapping[str, str]) -> set[str]:
    """The macros that an instance gives: what the file has for them is a default."""
    return {"MEGCC_SYMBOL", *(macro for macro, _ in _params(keys))}


def _packings(
    text: str, operator: Contract, numbers: Mapping[str, int]
) -> Iterator[tuple[str, Packing]]:
    """``w=gemm_panels(nr=NR)``: operand, packer and its options."""
    for operand, name, options in re.findall(r"(\w+)=(\w+)(?:\(([^)]*)\))?", text):
        pairs = [option.split("=") for option in options.split(",") if option.strip()]
        values = [(k.strip(), Expression(v.strip(), numbers)) for k, v in pairs]
        for option, value in values:
            if value.names:
                raise ValueError(f"{operator.op}: pack: {option}={value.text} is no one number")
        chosen = tuple((option, value.number({})) for option, value in values)
        yield operator.operand(operand).name, Packing(name, chosen)
