"""The TVM target ``tvm_megcc``, and which machine a target, a CPU or a user's word means.

Enters: a ``tvm.target.Target``, a name, a dict or None; names of machines and of CPUs. Leaves:
names of machines of `tvm_megcc.core.machine` (``portable``, ``arm64``, ``arm64+dotprod``, ...).

Example
-------
>>> architecture("aarch64")
'arm64'
>>> architecture({"tag": "tvm_megcc", "mcpu": "cortex-a76"})
'arm64+dotprod+fp16'
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tvm_megcc.core import machine as machines
from tvm_megcc.core.board_table import board
from tvm_megcc.core.cpu_names import BOARDS, cpu_of, may_be_cpu
from tvm_megcc.core.machine import ROWS, TABLE, Architecture, machine
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError

TAG = "tvm_megcc"
# `arm_cpu` among the keys: TVM's own schedules and legalisations then know an Arm CPU follows.
_CONFIG = {"kind": "c", "keys": ["cpu", "arm_cpu"], "device": TAG}


def register() -> None:
    """Teach TVM ``Target("tvm_megcc")`` and ``Target({"tag": "tvm_megcc", "mcpu": ...})``."""
    from tvm.target import list_tags, register_tag

    if TAG not in list_tags():
        register_tag(TAG, _CONFIG)


def is_ours(target: Any) -> bool:
    """Whether a ``tvm.target.Target`` was made from our tag."""
    return bool(str(target.kind.name) == "c" and target.attrs.get("device") == TAG)


def llvm_target(arch: str) -> Any:
    """The ``tvm.target.Target`` of LLVM for a machine; None for portable C."""
    from tvm.target import Target

    found = machine(arch)
    if not found.arch.triple:
        return None
    names = [*found.arch.llvm, *(name for f in found.features for name in f.llvm)]
    config: dict[str, Any] = {"kind": "llvm", "mtriple": found.arch.triple}
    if names:
        config["mattr"] = [f"+{name}" for name in names]
    if found.arch.triple.endswith("hf"):  # TVM says soft, whatever the triple, unless it is told
        config["mfloat-abi"] = "hard"
    return Target(config)


def resolve(archs: Iterable[str], mcpus: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of machines from a user in their order, each once, in our spelling; "host" replaced.

    Each of `mcpus` is a CPU and stands for a machine. `archs`, if there are any, are then
    architectures (without features) in which a CPU of two architectures is looked up; "host" is
    this machine besides. Raises InputError for a name that is no machine or CPU, or when there is
    none.
    """
    given, cpus = tuple(archs), tuple(mcpus)
    names = [host_arch() if a == "host" else _machine_not_cpu(a) for a in given]
    if cpus:
        others = [name for a, name in zip(given, names, strict=True) if a != "host"]
        plain = [ROWS[name] for name in others if name in ROWS]
        if len(plain) < len(others):
            raise InputError("an mcpu says the features: give them by name, or an mcpu, not both")
        names = [host_arch()] if "host" in given else []
        names += [of_cpu(cpu, plain or TABLE).name for cpu in cpus]
    if not names:
        raise InputError("no architecture is given; name at least one, for example host")
    return tuple(dict.fromkeys(names))


def resolve_for(name: str | None, archs: Iterable[str]) -> tuple[str, ...]:
    """`resolve(archs)` for a board, if there is one: ``host`` alone then means its machine.

    Raises InputError for a board that is not known, or whose CPU does not run code of `archs`.
    """
    given = tuple(archs)
    if name is None:
        return resolve(given)
    found = board(name)
    own = of_cpu(found.cpu)
    if given == ("host",):
        return (own.name,)
    names = resolve(given)
    for arch in names:
        if not own.includes(machine(arch)):
            raise InputError(
                f"board {found.name}: its {found.cpu} does not run code for {arch}; leave the"
                f" architecture out, which is then {own.name}"
            )
    return names


def of_cpu(cpu: str, rows: Iterable[Architecture] = TABLE) -> machines.Machine:
    """The machine for a CPU, by LLVM's table: ``cortex-a76`` is ``arm64+dotprod+fp16``.

    `cpu` is a word of ``-mcpu``, in any case, or a board or chip of `tvm_megcc.core.cpu_names`. The
    first of `rows` that has the CPU is taken. A CPU without the features that all our CPUs of these
    architectures have (a Cortex-R, without NEON) is ``portable``. Raises InputError for a CPU that
    LLVM has for none of them.
    """
    from tvm.target import Target, codegen

    word, cpu, rows = cpu, cpu_of(cpu), tuple(rows)
    if cpu == "portable":
        return machine(cpu)
    known = [row for row in rows if row.triple and codegen.llvm_is_valid_cpu(cpu, row.triple)]
    # Every target of LLVM has a "generic" CPU, which says nothing.
    if not known or cpu == "generic":
        names = ", ".join(row.name for row in rows if row.triple)
        raise InputError(
            f"CPU {word!r} is no known board and not one of LLVM's CPUs for {names}; name one such"
            f" as {_nearest(cpu, rows)}, features as in arm64+dotprod, or portable for a CPU of"
            " another kind"
        )
    for row in known:
        target = Target({"kind": "llvm", "mtriple": row.triple, "mcpu": cpu})
        has = {str(name) for name in codegen.llvm_get_cpu_features(target)}
        has |= machines.TUNING.get(cpu, set())
        if set(row.llvm) <= has:
            return machines.of_features(row, has)
    return machine("portable")


def _nearest(word: str, rows: Iterable[Architecture]) -> str:
    """The known CPUs and boards whose names look most like a word; else an example."""
    from tvm.target import Target, codegen

    names = set(BOARDS)
    for row in rows:
        if row.triple:
            target = Target({"kind": "llvm", "mtriple": row.triple})
            names |= {str(name) for name in codegen.llvm_get_cpu_archlist(target)}
    near = difflib.get_close_matches(word, sorted(names - {"generic"}), n=3)
    return ", ".join(near) or "cortex-a76"


def _machine_not_cpu(word: str) -> str:
    """Full name of a machine word; InputError for other words, CPUs and boards among them."""
    try:
        return machine(word).name
    except InputError:
        if may_be_cpu(word) and _if_cpu(word) is not None:
            raise InputError(
                f"architecture {word!r} is the name of a CPU or board; give it as --mcpu {word}"
            ) from None
        raise


def architecture(target: Any = None) -> str:
    """The machine of a target, which may also be the name of a machine or CPU, or "host".

    A target without any sign of a CPU is this machine. Raises InputError if it is no CPU, or TVM
    does not know it or its mcpu.
    """
    if target is None or target == TAG:
        return host_arch()
    if isinstance(target, str):
        first = target.split("+")[0]
        if first == "host" or any(first in (row.name, *row.aliases) for row in TABLE):
            return resolve([target])[0]
        target = _config(target)
        kind = target if isinstance(target, str) else target.get("kind")
        if kind in _DEVICES:
            raise InputError(f"target {kind!r} is no CPU; use {TAG!r}")
    import tvm

    if not isinstance(target, tvm.target.Target):
        config = target if isinstance(target, str) else dict(target)
        try:
            target = tvm.target.Target(config)
        except Exception as error:
            if isinstance(config, str) and (cpu := _if_cpu(config)) is not None:
                return cpu
            raise InputError(
                f"target {config!r} is not known; use {TAG!r}, {{'tag': {TAG!r}, 'mcpu':"
                f" 'cortex-a76'}}, a CPU such as cortex-a53, or one of {', '.join(ROWS)}"
            ) from error
    if target.kind.name not in ("c", "llvm"):
        raise InputError(f"target {target.kind.name!r} is no CPU; use {TAG!r}")
    attrs = dict(target.attrs)
    if target.kind.name == "c" and not is_ours(target) and not any(map(attrs.get, _WORDS[:4])):
        return "portable"  # TVM's plain C: for any CPU
    return _of_attrs(attrs)


#: TVM's kinds of targets that are known to be no CPU: they are refused without loading TVM.
_DEVICES = frozenset(("cuda", "hexagon", "metal", "nvptx", "opencl", "rocm", "vulkan", "webgpu"))


def _if_cpu(word: str) -> str | None:
    """Machine for a CPU name, or None."""
    try:
        return of_cpu(word).name
    except InputError:
        return None


#: Options of a target in words, as TVM's tvmc has them, that say something about a machine.
_WORDS = ("mtriple", "march", "mcpu", "mattr", "tag")


def _config(text: str) -> str | dict[str, Any]:
    """A target in words: JSON, or ``llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod``."""
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise InputError(
                f"target {text!r} is no JSON ({error}); write it like"
                f' {{"tag": "{TAG}", "mcpu": "cortex-a76"}}'
            ) from None
    kind, *words = text.split()
    if not words:
        return text
    config: dict[str, Any] = {"tag": kind} if kind == TAG else {"kind": kind}
    for word in words:
        name, _, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not value or name not in _WORDS:
            raise InputError(
                f"target {text!r}: {word!r} says nothing about a machine; use {TAG!r}, with"
                f" {', '.join(f'-{name}=...' for name in _WORDS[:4])} behind it where need be"
            )
        config[name] = value.split(",") if name == "mattr" else value
    return config


def _of_attrs(attrs: Mapping[str, Any]) -> str:
    """The machine by a target's mtriple, march, mcpu and mattr."""
    march, *extensions = str(attrs.get("march") or "").lower().split("+")
    words = [word for word in (march, str(attrs.get("mtriple") or "")) if word]
    row = next(filter(None, map(machines.architecture_in, words)), None)
    mattr = [str(word) for word in attrs.get("mattr") or ()]
    given = {*extensions, *(word[1:] for word in mattr if word.startswith("+"))}
    cpu = str(attrs.get("mcpu") or "")
    if words and row is None:
        return "portable"
    if not cpu:
        if row is None:
            return host_arch()
        base = machine(row.name)
    elif cpu == "generic" and row is not None:
        base = machine(row.name)
    else:
        base = of_cpu(cpu, [row] if row else TABLE)
    if base.arch.name == "portable":
        return base.name
    mine = {f.name for f in base.features}
    mine |= {f.name for f in base.arch.features if f.name in given or set(f.llvm) <= given}
    return machine("+".join([base.arch.name, *sorted(mine)])).name
