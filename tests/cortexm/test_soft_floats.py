"""Functions for floats that the networks of MLPerf Tiny call on CPUs without a unit for them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cortexm import board
from tests.scripts.test_scripts import load
from tvm_megcc import driver
from tvm_megcc.core.preference import Preference
from tvm_megcc.target import resolve

pytestmark = [
    pytest.mark.skipif(bool(board.missing()), reason=board.missing() or "all is there"),
    pytest.mark.slow,
]

NETWORKS = load("tiny_networks").NETWORKS
#: Functions of the compiler's library for floats: __aeabi_fadd, __aeabi_i2f, __divsf3, ...
FLOATS = re.compile(r"__aeabi_(c?[fd]|(u?[il]|h)2[fd])|__\w+[sdh]f\d*$|__gnu_\w*[fh]2")
#: Kernels that may call them: of softmaxes, and of tables that are computed at run time.
FLOAT_KERNELS = re.compile(r"qsoftmax_(rows|columns)|lut")


def calls(package: Path, cpu: str) -> dict[str, set[str]]:
    """The functions for floats that each object of the library calls."""
    board.make(package, f"CC={board.COMPILER} -mcpu={cpu} -mthumb", "lib")
    command = ["arm-none-eabi-nm", "-A", "-u", package / "libmodel.a"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        _, item, rest = line.split(":", 2)
        name = rest.split()[-1]
        if FLOATS.match(name):
            found.setdefault(item, set()).add(name)
    return found


@pytest.mark.parametrize("softmax", ["float", "integer"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m0plus"])
def test_no_soft_floats(cpu: str, network: str, softmax: str, tmp_path: Path) -> None:
    package, preference = tmp_path / "pkg", Preference("speed", softmax=softmax)
    machines = list(resolve([], [cpu]))
    driver.compile_model(
        NETWORKS[network].build(), package, archs=machines, preference=preference, name="model"
    )
    found = calls(package, cpu)
    if softmax == "integer":
        assert not found
    else:
        assert not [item for item in found if not FLOAT_KERNELS.search(item)], found
        assert bool(found) == (network != "ad"), "the pattern fits no function for floats"
