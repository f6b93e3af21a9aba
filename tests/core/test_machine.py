"""The table of machines: names, flags and what compilers, LLVM and Linux say to them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import combinations

import pytest

from tvm_megcc.core import machine as machines
from tvm_megcc.core.cpu_names import BOARDS, cpu_of
from tvm_megcc.core.machine import FEATURES, ROWS, TABLE, best_first, machine
from tvm_megcc.core.this_machine import host_arch, is_native, is_own_family
from tvm_megcc.errors import InputError
from tvm_megcc.target import resolve

ALL = [
    "+".join([row.name, *names])
    for row in TABLE
    for count in range(len(row.features) + 1)
    for names in combinations(FEATURES[row.name], count)
]


@pytest.mark.parametrize("name", ALL)
def test_names_are_read_in_any_order_and_spelling(name: str) -> None:
    found = machine(name)
    first, *features = name.split("+")
    for alias in (first, *ROWS[first].aliases):
        assert machine("+".join([alias.upper(), *reversed(features)])) == found
    assert machine(found.name) == found
    assert found.ident.isidentifier()


def test_no_name_means_two_machines() -> None:
    names = [name for row in TABLE for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))
    macros = [row.macro for row in TABLE]
    assert len(macros) == len(set(macros))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("mips", "architecture 'mips' is not known; choose from host, portable, arm64"),
        ("arm64+avx2", "arm64 has no feature 'avx2', which belongs to x86; name some of dotprod"),
        ("x86+sse9", "x86 has no feature 'sse9'; name some of avx2, avxvnni, avx512, avx512vnni"),
        ("portable+fma", "portable has no feature 'fma', which belongs to armv7; leave out"),
        ("arm64+", "arm64 has no feature ''"),
    ],
)
def test_unknown_names_are_refused_with_a_remedy(word: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        resolve([word])
    assert str(refused.value).startswith(said)


def _macros(compiler: str, flags: tuple[str, ...]) -> set[str]:
    command = [compiler, *flags, "-dM", "-E", "-x", "c", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line.split()[1] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("row", [r for r in TABLE if r.features], ids=lambda r: r.name)
def test_flags_make_compilers_define_the_macros(row: machines.Architecture) -> None:
    compiler = "gcc" if is_own_family(row.name) else row.compiler
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    plain = _macros(compiler, machine(row.name).flags)
    for feature in row.features:
        found = machine(f"{row.name}+{feature.name}")
        assert set(found.macros) <= _macros(compiler, found.flags)
        assert not set(feature.macros) & plain
    everything = machine("+".join([row.name, *FEATURES[row.name]]))
    assert set(everything.macros) <= _macros(compiler, everything.flags)


@pytest.mark.parametrize("name", [n for n in ALL if "+" in n])
def test_a_cpu_is_what_lists_of_its_features_say(name: str) -> None:
    found = machine(name)
    names = {word for f in found.features for word in f.cpuinfo}
    assert machines.of_features(found.arch, names, cpuinfo=True) == found
    names = {word for f in found.features for word in f.llvm}
    assert machines.of_features(found.arch, {*names, "other"}) == found
    plain, needs = machine(found.arch.name), bool(found.needs)
    assert found.includes(plain) and any(found.bits) == needs and plain.includes(found) != needs


def test_a_feature_without_what_it_includes_does_not_count() -> None:
    only = ROWS["x86"].features[2].llvm  # AVX-512 without FMA: no machine of ours
    assert machines.of_features(ROWS["x86"], only).name == "x86"


def test_the_best_machine_comes_first() -> None:
    assert best_first(["x86", "x86+avx512", "x86+avx2"]) == ["x86+avx512", "x86+avx2", "x86"]
    names = ["arm64", "arm64+dotprod", "arm64+fp16", "arm64+dotprod+i8mm"]
    assert best_first(names) == [
        "arm64+dotprod+i8mm", "arm64+fp16", "arm64+dotprod", "arm64",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("archs", "cpus", "expected"),
    [
        ((), ["cortex-a53"], ("arm64+a53",)),
        (["armv7"], ["cortex-a53"], ("armv7+fma",)),
        ((), ["neoverse-n1", "cortex-a76"], ("arm64+dotprod+fp16",)),
        ((), ["cortex-a55", "haswell"], ("arm64+dotprod+fp16+inorder", "x86+avx2")),
        ((), ["cortex-m0plus", "cortex-m3"], ("cortexm",)),
        ((), ["cortex-m4", "cortex-m7", "cortex-m33"], ("cortexm+dsp",)),
        ((), ["cortex-m55", "cortex-m85"], ("cortexm+mve.fp",)),
        (["aarch64", "armeabi-v7a", "x86_64"], (), ("arm64", "armv7", "x86")),
        (["host"], ["cortex-a72", "cortex-a53"], (host_arch(), "arm64", "arm64+a53")),
        (["host", "armv7"], ["cortex-a53"], (host_arch(), "armv7+fma")),
    ],
)
def test_cpus_are_machines(archs, cpus, expected) -> None:
    assert resolve(archs, cpus) == expected


def test_cpus_and_features_are_not_mixed() -> None:
    with pytest.raises(InputError, match="give them by name, or an mcpu"):
        resolve(["arm64+dotprod"], ["cortex-a76"])
    with pytest.raises(
        InputError,
        match="CPU 'haswell' is no known board and not one of LLVM's CPUs for arm64; name",
    ):
        resolve(["arm64"], ["haswell"])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Cortex-M4", "cortexm+dsp"),
        ("cortex-m4f", "cortexm+dsp"),
        ("CORTEX_M7", "cortexm+dsp"),
        ("cortex-m0+", "cortexm"),
        ("cortex-m0plus", "cortexm"),
        ("stm32f407vg", "cortexm+dsp"),
        ("STM32F103", "cortexm"),
        ("rp2040", "cortexm"),
        ("nRF52840", "cortexm+dsp"),
        ("Raspberry Pi 5", "arm64+dotprod+fp16"),
        ("rpi4", "arm64"),
        ("raspberrypi-zero-2", "arm64+a53"),
        ("esp32-s3", "portable"),
    ],
)
def test_boards_and_other_spellings_are_cpus(word: str, expected: str) -> None:
    assert resolve([], [word]) == (expected,)


def test_every_board_has_a_cpu_that_is_known() -> None:
    for board, cpu in BOARDS.items():
        assert cpu_of(board) == cpu, board
        assert resolve([], [cpu]), board
        assert board == board.lower() and board.isalnum()


@pytest.mark.parametrize("row", [r for r in TABLE if r.triple], ids=lambda row: row.name)
def test_no_cpu_of_llvm_is_taken_for_a_board(row) -> None:
    from tvm.target import Target, codegen

    target = Target({"kind": "llvm", "mtriple": row.triple})
    for cpu in map(str, codegen.llvm_get_cpu_archlist(target)):
        assert cpu_of(cpu) in (cpu, cpu.replace("_", "-")), cpu


@pytest.mark.parametrize(
    ("word", "near"),
    [("cortex-m77", "cortex-m7"), ("cortexa53", "cortex-a53"), ("stm32h9", "stm32h7"),
     ("nothing", "cortex-a76")],
)  # fmt: skip
def test_an_unknown_cpu_is_refused_with_the_nearest(word: str, near: str) -> None:
    with pytest.raises(InputError, match=f"CPU '{word}' is no known board.* such as .*{near}"):
        resolve([], [word])


@pytest.mark.parametrize("word", ["cortex-m4", "rpi4", "cortex-m0+", "Cortex-A53"])
def test_a_cpu_given_as_an_architecture_names_the_option(word: str) -> None:
    with pytest.raises(InputError) as refused:
        resolve([word])
    assert str(refused.value).endswith(f"give it as --mcpu {word}")


@pytest.mark.slow
def test_this_machine_is_one_of_the_table() -> None:
    assert resolve(["host"]) == (host_arch(),) and machine(host_arch()).name == host_arch()
    assert is_native(host_arch()) and is_native(machine(host_arch()).arch.name)
