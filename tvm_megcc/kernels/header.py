"""The header comment of a kernel file, as `KernelFile`; its grammar is in docs/adding-a-kernel.md.

Example
-------
>>> parse(KERNEL_DIR / "softmax" / "softmax_f32.c").op              # doctest: +SKIP
'softmax'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tvm_megcc.core.machine import ARCHITECTURES, FEATURES
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.kernels import constants, types
from tvm_megcc.kernels.contract import Contract, contract
from tvm_megcc.kernels.expression import Expression
from tvm_megcc.kernels.kernel_file import KernelFile, Packing

_KEYS = {
    "kernel", "op", "dtype", "arch", "isa", "when", "rank", "params", "pack", "workspace", "work",
    "inplace", "overlap", "tolerance", "cost", "instructions", "weights", "exact",
    "optimize", "tune",
}  # fmt: skip


def parse(path: Path, settings: tuple[tuple[str, int], ...] = ()) -> KernelFile:
    """Read the header comment of a kernel file.

    Parameters
    ----------
    path : path
    settings : tuple of (macro, value)
        Of what the header lets be tuned.

    Raises
    ------
    ValueError
        When the header misses a key, has an unknown one, or does not fit the file's name.
    """
    keys = _keys(path)
    if "like" in keys:
        # Two instances of one driver: what the other header says holds here, too.
        keys = {**_keys(path.with_name(f"{keys.pop('like')}.c")), **keys}
    missing = {"kernel", "op", "dtype", "arch", "rank", "work", "cost"} - keys.keys()
    unknown = {key for key in keys.keys() - _KEYS if not key.startswith("let ")}
    if missing or unknown:
        raise ValueError(f"{path.name}: missing keys {sorted(missing)}, unknown {sorted(unknown)}")
    archs = tuple(a.strip() for a in keys["arch"].split(","))
    if keys["kernel"] != path.stem or not set(archs) <= set(ARCHITECTURES):
        raise ValueError(f"{path.name}: `kernel` must be {path.stem}, `arch` of {ARCHITECTURES}")
    if keys["op"] != path.parent.name:
        raise ValueError(f"{path.name}: a kernel of {keys['op']} stands in {path.parent.name}/")
    given = {*_macros(keys), *contract(keys["op"]).variables}
    numbers = constants.of_text(path.read_text(encoding="utf-8"), given, dict(settings))
    made = replace(_made(path.stem, archs, keys, numbers), settings=settings)
    _check_names(made)
    return made


def _keys(path: Path) -> dict[str, str]:
    """The lines of a header comment, each with those that go on with it; ``let x`` is a key too."""
    if not path.is_file():
        raise ValueError(f"{path.name}: there is no such kernel to be like")
    keys: dict[str, str] = {}
    last = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"// (\w+):\s*(.*?)\s*|// (let \w+) = (.*?)\s*", line)
        more = re.fullmatch(r"//   +(.*?)\s*", line)
        if match:
            last = match[1] or match[3]
            keys[last] = match[2] if match[1] else match[4]
        elif more and last:
            keys[last] += " " + more[1]
        else:
            break
    return keys


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
    stem: str, archs: tuple[str, ...], keys: Mapping[str, str], numbers: Mapping[str, int]
) -> KernelFile:
    operator = contract(keys["op"])
    lets = _lets(keys, operator, numbers)

    def formula(key: str, default: str = "") -> Expression:
        return Expression(keys.get(key) or default, numbers, lets)

    isa = keys.get("isa", "none")
    return KernelFile(
        stem=stem,
        op=operator.op,
        types=types.parse(keys["dtype"], operator),
        archs=archs,
        isa=isa,
        features=_features(f"{stem}.c", isa, archs),
        when=formula("when", "1"),
        rank=formula("rank"),
        lets=lets,
        params=tuple((m, Expression(text, numbers, lets)) for m, text in _params(keys)),
        pack=tuple(_packings(keys.get("pack", ""), operator, numbers)),
        workspace_bytes=formula("workspace", "0"),
        work_extent=formula("work"),
        unit_cost=formula("cost"),
        overlap_bytes=formula("overlap", "-1"),
        largest_error=formula("tolerance", "0"),
        call_instructions=formula("instructions") if "instructions" in keys else None,
        weight_bytes=formula("weights", "0"),
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
    """``let tiles = ceil(oh, 4)``: formulas that those after them may name, in their order.

    A header that is `like` another one may say some of its lets anew: those stay in their place.
    """
    found: dict[str, Expression] = {}
    for key, text in keys.items():
        name = key.removeprefix("let ")
        if name == key:
            continue
        if name in operator.names or name in numbers:
            what = f"a fact of {operator.op}" if name in operator.names else "a macro of the file"
            raise ValueError(f"{keys['kernel']}.c: {key}: {name!r} is {what} already")
        found[name] = Expression(text, numbers, found)
    return found


def _exact(keys: Mapping[str, str]) -> bool:
    word = keys.get("exact", "yes")
    if word not in ("yes", "no"):
        raise ValueError(f"{keys['kernel']}.c: exact: {word!r} is neither yes nor no")
    return word == "yes"


def _optimize(keys: Mapping[str, str]) -> tuple[str, ...]:
    words = tuple(keys["optimize"].split()) if "optimize" in keys else OPTIMIZE
    for word in words:
        if word not in OPTIMIZE:
            names = ", ".join(OPTIMIZE)
            raise ValueError(f"{keys['kernel']}.c: optimize: {word!r} is none of {names}")
    return words


def _tune(
    keys: Mapping[str, str], numbers: Mapping[str, int]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """``BLOCK=32,64 UNROLL=1,2``: macros that have one value in the file, and further ones.

    A value that is the file's own is left out: of files that are alike each has its own.
    """
    found = []
    for word in keys.get("tune", "").split():
        match = re.fullmatch(r"(\w+)=(\d+(?:,\d+)*)", word)
        if match is None or match[1] not in numbers:
            raise ValueError(
                f"{keys['kernel']}.c: tune: {word!r} is no macro of the file with values, as in"
                " BLOCK=32,64"
            )
        values = (int(value) for value in match[2].split(","))
        found.append((match[1], tuple(v for v in values if v != numbers[match[1]])))
    return tuple(found)


def _check_names(kernel: KernelFile) -> None:
    """Refuse a formula that names neither a fact of the operator nor a constant of the file."""
    formulas = {
        "when": kernel.when, "rank": kernel.rank, "workspace": kernel.workspace_bytes,
        "work": kernel.work_extent, "cost": kernel.unit_cost, "overlap": kernel.overlap_bytes,
        "tolerance": kernel.largest_error, "weights": kernel.weight_bytes, **dict(kernel.params),
        **{f"let {name}": formula for name, formula in kernel.lets.items()},
    }  # fmt: skip
    if kernel.call_instructions is not None:
        formulas["instructions"] = kernel.call_instructions
    for key, formula in formulas.items():
        for name in sorted(formula.names - kernel.contract.names):
            raise ValueError(
                f"{kernel.stem}.c: {key}: {name!r} is neither a fact of {kernel.op} nor one number"
                " in the file's macros nor a let above"
            )


def _params(keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """``ACT=act KH=kh``: an expression with spaces stands in parentheses."""
    return re.findall(r"(\w+)=(\((?:[^()]|\([^()]*\))*\)|\S+)", keys.get("params", ""))


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
