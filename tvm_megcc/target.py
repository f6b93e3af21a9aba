"""The TVM target ``tvm_megcc``, and which architecture a target means.

Enters: a ``tvm.target.Target``, a name, a dict or None. Leaves: an architecture of ours
(``portable``, ``arm64``, ``armv7``, ``x86``).

Example
-------
>>> architecture("arm64")
'arm64'
>>> architecture({"tag": "tvm_megcc", "mcpu": "cortex-a76"})
'arm64'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tvm_megcc.errors import InputError

#: What a package can be compiled for; "host" is one of them, see `host_architecture`.
ARCHITECTURES = ("portable", "arm64", "armv7", "x86")

TAG = "tvm_megcc"
# `arm_cpu` among the keys: TVM's own schedules and legalisations then know an Arm CPU follows.
_CONFIG = {"kind": "c", "keys": ["cpu", "arm_cpu"], "device": TAG}

# Looked for in mtriple, march and mcpu, in this order: "armv7" is an "arm" too.
_SIGNS = (
    (
        "arm64",
        r"aarch64|arm64|armv[89]|cortex-a(3[45]|5[357]|6\d|7[2-9]|\d{3})\b|cortex-x|neoverse|apple",
    ),
    ("armv7", r"armv7|arm-linux|armhf|gnueabihf|cortex-a(5|7|8|9|12|15|17)\b"),
    ("x86", r"x86|amd64|i[3-6]86|skylake|haswell|broadwell|cascadelake|icelake|znver|alderlake"),
)


def register() -> None:
    """Teach TVM ``Target("tvm_megcc")`` and ``Target({"tag": "tvm_megcc", "mcpu": ...})``."""
    from tvm.target import list_tags, register_tag

    if TAG not in list_tags():
        register_tag(TAG, _CONFIG)


def host_architecture() -> str:
    """The architecture of this machine."""
    from tvm_megcc import toolchain

    return toolchain.host_arch()


def resolve(archs: Iterable[str]) -> tuple[str, ...]:
    """Names from a user, in their order and without repetition, with "host" replaced.

    Raises
    ------
    InputError
        For a name that is no architecture, or when there is none.
    """
    names = tuple(dict.fromkeys(host_architecture() if a == "host" else a for a in archs))
    for name in names:
        if name not in ARCHITECTURES:
            known = ", ".join(("host", *ARCHITECTURES))
            raise InputError(f"architecture {name!r} is not known; choose from {known}")
    if not names:
        raise InputError("no architecture is given; name at least one, for example host")
    return names


def architecture(target: Any = None) -> str:
    """The architecture a target means; without any sign of a CPU it is the host's.

    Parameters
    ----------
    target : tvm.target.Target, str, Mapping or None
        Also the plain name of an architecture, or "host".

    Raises
    ------
    InputError
        When the target is no CPU, or TVM does not know it.
    """
    if target is None or target == TAG:
        return host_architecture()
    if isinstance(target, str) and target in (*ARCHITECTURES, "host"):
        return resolve([target])[0]
    import tvm

    if not isinstance(target, tvm.target.Target):
        config = dict(target) if isinstance(target, Mapping) else target
        try:
            target = tvm.target.Target(config)
        except Exception as error:
            raise InputError(
                f"target {config!r} is not known; use {TAG!r},"
                f' {{"tag": "{TAG}", "mcpu": "cortex-a76"}} or one of {", ".join(ARCHITECTURES)}'
            ) from error
    attrs = dict(target.attrs)
    if target.kind.name not in ("c", "llvm"):
        raise InputError(f"target {target.kind.name!r} is no CPU; use {TAG!r}")
    words = [str(attrs[key]).lower() for key in ("mcpu", "march", "mtriple") if attrs.get(key)]
    for word in words:
        for arch, sign in _SIGNS:
            if re.search(sign, word):
                return arch
    return "portable" if words else host_architecture()
