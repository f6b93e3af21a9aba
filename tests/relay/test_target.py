"""The target, and tvm.relay, whatever is imported first."""

from __future__ import annotations

import os
import subprocess

import pytest
import tvm

from tvm_megcc import target
from tvm_megcc.errors import InputError
from tvm_megcc.host import toolchain


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import tvm_megcc, tvm; assert 'tvm_megcc' in tvm.target.list_tags()",
        "import tvm, tvm_megcc; assert 'tvm_megcc' in tvm.target.list_tags()",
        "import tvm; assert 'tvm_megcc' in tvm.target.list_tags() and tvm.IRModule.dispatch",
        "import tvm_megcc, tvm; assert tvm.relay.build and tvm.relay.Any()",
        "from tvm_megcc import relay; import tvm; assert tvm.relay is relay",
        "import tvm_megcc; from tvm.relay.frontend import from_onnx",
        "import tvm_megcc; from tvm import relax; import tvm; assert tvm.relay",
        "import tvm_megcc, sys; assert 'tvm' not in sys.modules",
    ],
)
def test_registration(fresh_python: list[str], code: str) -> None:
    done = subprocess.run([*fresh_python, code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.slow
def test_registration_without_entry_points(fresh_python: list[str]) -> None:
    code = "import tvm, tvm_megcc; assert 'tvm_megcc' in tvm.target.list_tags() and tvm.relay.build"
    done = subprocess.run(
        [*fresh_python, code],
        env={**os.environ, "TVM_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_target_forms() -> None:
    assert tvm.target.Target("tvm_megcc").attrs["device"] == "tvm_megcc"
    a76 = tvm.target.Target({"tag": "tvm_megcc", "mcpu": "cortex-a76"})
    assert a76.attrs["mcpu"] == "cortex-a76" and "arm_cpu" in a76.keys


@pytest.mark.parametrize(
    ("given", "arch"),
    [
        ("arm64", "arm64"),
        ("portable", "portable"),
        ("aarch64+fp16", "arm64+fp16"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a76"}, "arm64+dotprod+fp16"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a53"}, "arm64+a53"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a510"}, "arm64+dotprod+i8mm+fp16+inorder"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a7"}, "armv7+fma"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a9"}, "armv7"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a72"}, "arm64"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-a710"}, "arm64+dotprod+i8mm+fp16"),
        ({"tag": "tvm_megcc", "mcpu": "neoverse-n1"}, "arm64+dotprod+fp16"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-m4"}, "cortexm+dsp"),
        ({"kind": "llvm", "mtriple": "arm-none-eabi", "mcpu": "cortex-m33"}, "cortexm+dsp"),
        ({"tag": "tvm_megcc", "march": "armv7-m"}, "cortexm"),
        ({"kind": "llvm", "mtriple": "thumbv6m-none-eabi"}, "cortexm"),
        ({"tag": "tvm_megcc", "mcpu": "cortex-r5"}, "portable"),  # Arm, but without NEON
        ({"tag": "tvm_megcc", "march": "armv7-a"}, "armv7"),
        ({"tag": "tvm_megcc", "march": "armv8.2-a"}, "arm64"),
        ({"tag": "tvm_megcc", "march": "armv8.2-a+dotprod"}, "arm64+dotprod"),
        ({"tag": "tvm_megcc", "mcpu": "x86-64-v3"}, "x86+avx2"),
        ({"tag": "tvm_megcc", "mcpu": "skylake-avx512"}, "x86+avx512"),
        ({"kind": "llvm", "mtriple": "riscv64-linux-gnu", "mcpu": "sifive-u74"}, "portable"),
        ({"kind": "llvm", "mtriple": "armv7-linux-gnueabihf", "mcpu": "cortex-a53"}, "armv7+fma"),
        ({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mattr": ["+i8mm"]}, "arm64+i8mm"),
        ({"kind": "llvm", "mtriple": "armv7-linux-gnueabihf"}, "armv7"),
        ({"kind": "llvm", "mtriple": "aarch64-linux-gnu"}, "arm64"),
    ],
)
def test_architecture_of_a_target(given: object, arch: str) -> None:
    assert target.architecture(given) == arch
    if isinstance(given, dict):
        assert target.architecture(tvm.target.Target(given)) == arch


@pytest.mark.parametrize("given", [None, "tvm_megcc", "host", {"tag": "tvm_megcc"}])
def test_architecture_without_a_cpu_is_the_hosts(given: object) -> None:
    assert target.architecture(given) == toolchain.host_arch()


@pytest.mark.parametrize("cpu", ["cortex-a999", "sifive-u74", "generic"])
def test_architecture_refuses_a_cpu_that_no_architecture_has(cpu: str) -> None:
    with pytest.raises(InputError, match=f"CPU '{cpu}' .*; name one such as \\w"):
        target.architecture({"tag": "tvm_megcc", "mcpu": cpu})


@pytest.mark.parametrize("given", ["c", {"kind": "c"}, tvm.target.Target("c")])
def test_tvms_plain_c_is_portable(given: object) -> None:
    assert target.architecture(given) == "portable"
    named = {"kind": "c", "mcpu": "cortex-a53"}
    assert target.architecture(named) == "arm64+a53"


@pytest.mark.parametrize("given", ["cuda", "no such target", {"kind": "nope"}])
def test_architecture_refuses(given: object) -> None:
    with pytest.raises(InputError, match="tvm_megcc"):
        target.architecture(given)
