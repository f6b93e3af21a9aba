"""The registry: header grammar, expressions over facts, and selection by rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm_megcc.errors import UnsupportedError
from tvm_megcc.kernels import registry
from tvm_megcc.kernels.expression import Expression

HEADER = """// kernel: {stem}
// op: pool2d
// dtype: f32, f16
// arch: arm64, x86
// isa: simd
// when: kh == 1 and c % 4 == 0
// rank: {rank}
// params: FUNC=func PAIR=(kh + kw)
// pack: 1=gemm_panels(nr=8) 2=pad_to(n=8)
// workspace: 4 * c
// work: n * oh
// cost: 4 * ow * c
//
// Text: with a colon.
"""
FACTS = {
    "dtype": "f32", "func": 1, "n": 2, "h": 4, "w": 4, "c": 8, "oh": 3, "ow": 4, "kh": 1, "kw": 2,
    "sh": 1, "sw": 1, "dh": 1, "dw": 1, "pt": 0, "pl": 0, "pb": 0, "pr": 0,
    "count_include_pad": 0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A kernel folder of the test's own; yields a function that adds a file to it."""
    monkeypatch.setattr(registry, "KERNEL_DIR", tmp_path)
    registry.kernels.cache_clear()

    def add(stem: str, rank: int = 1, text: str = HEADER) -> registry.KernelFile:
        path = tmp_path / f"{stem}.c"
        path.write_text(text.format(stem=stem, rank=rank))
        registry.kernels.cache_clear()
        return registry.parse(path)

    yield add
    registry.kernels.cache_clear()


def test_header_gives_the_facts(folder) -> None:
    kernel = folder("fast", rank=7)
    assert kernel.dtypes == ("f32", "f16")
    assert kernel.archs == ("arm64", "x86")
    assert kernel.rank == 7
    assert kernel.work(FACTS) == 6
    assert kernel.workspace(FACTS) == 32
    assert kernel.cost(FACTS) == 128
    assert dict(kernel.pack)[1] == registry.Packing("gemm_panels", (("nr", 8),))
    instance = kernel.instance(FACTS)
    assert instance.symbol == "megcc_fast_func1_pair3"
    assert instance.defines == (("FUNC", "1"), ("PAIR", "3"))


def test_a_value_may_take_several_lines(folder) -> None:
    text = HEADER.replace("4 * c", "4 * c if kh == 1\n//   else\n//   8 * c")
    kernel = folder("long", text=text)
    assert kernel.workspace_bytes.text == "4 * c if kh == 1 else 8 * c"
    assert kernel.work(FACTS) == 6


def test_attrs_follow_the_op_header(folder) -> None:
    attrs = folder("fast").attrs({**FACTS, "pt": 0.5})
    names = registry.attribute_names("pool2d")
    assert attrs[names.index("c")] == 8
    assert attrs[names.index("pt")] == 0x3F000000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("// rank: {rank}\n", "", "missing keys .'rank'."),
        ("// isa: simd", "// speed: high", "unknown .'speed'."),
        ("// arch: arm64, x86", "// arch: arm65", "arch"),
        ("// isa: simd", "// isa: avx2", "`isa` names avx2, which arm64 has not"),
        ("kernel: {stem}", "kernel: other", "must be fast"),
        ("kh == 1 and", "kh = 1 and", "not an expression"),
        ("4 * c", "open(c)", "only min and max"),
        ("4 * c", "c.real", "not allowed"),
    ],
)
def test_bad_headers_say_what_is_wrong(folder, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        folder("fast", text=HEADER.replace(old, new))


def test_highest_rank_wins_and_explain_says_why(folder) -> None:
    folder("slow", rank=1)
    folder("fast", rank=2)
    folder("odd", rank=3, text=HEADER.replace("kh == 1", "kh == 5"))
    assert registry.select("pool2d", "x86", FACTS).stem == "fast"
    text = registry.explain("pool2d", "x86", FACTS)
    assert "fast (rank 2): chosen" in text
    assert "slow (rank 1): outranked by fast (2)" in text
    assert "odd (rank 3): wants kh == 5" in text


def test_a_kernel_is_for_machines_that_have_what_its_isa_names(folder) -> None:
    folder("plain")
    text = HEADER.replace("arm64, x86", "arm64").replace("isa: simd", "isa: dotprod i8mm")
    folder("fast", rank=2, text=text)
    for arch, stem in [
        ("arm64", "plain"),
        ("arm64+dotprod", "plain"),
        ("arm64+dotprod+i8mm", "fast"),
        ("arm64+dotprod+i8mm+fp16", "fast"),
        ("x86+avx512", "plain"),
    ]:
        assert registry.select("pool2d", arch, FACTS).stem == stem
    said = registry.explain("pool2d", "arm64+dotprod", FACTS)
    assert "fast (rank 2): needs i8mm, as --arch arm64+dotprod+i8mm has" in said
    assert registry.select("pool2d", "arm64+i8mm+dotprod", FACTS).instance(FACTS).features == (
        "dotprod",
        "i8mm",
    )


def test_equal_ranks_are_an_error(folder) -> None:
    folder("one")
    folder("two")
    with pytest.raises(ValueError, match="one and two both apply"):
        registry.find("pool2d", "x86", FACTS)


def test_no_kernel_is_an_error_that_lists_the_reasons(folder) -> None:
    folder("fast")
    assert registry.find("pool2d", "armv7", FACTS) is None
    with pytest.raises(UnsupportedError, match="is for arm64, x86"):
        registry.select("pool2d", "armv7", FACTS)
    with pytest.raises(UnsupportedError, match="takes f32, f16, not f64"):
        registry.select("pool2d", "x86", {**FACTS, "dtype": "f64"})


def test_expression_names_the_missing_fact() -> None:
    assert Expression("max(a, 3) if b else -a")({"a": 5, "b": 1}) == 5
    with pytest.raises(KeyError, match="needs the fact 'b'"):
        Expression("a + b")({"a": 1})


def test_every_shipped_kernel_parses_and_has_an_op_header() -> None:
    assert registry.kernels()
    for kernel in registry.kernels():
        assert registry.attribute_names(kernel.op), kernel.stem


def test_every_operator_has_a_portable_reference() -> None:
    """No kernel without a portable C99 one that serves the same operator and dtypes."""
    portable = {(k.op, d) for k in registry.kernels() if "portable" in k.archs for d in k.dtypes}
    for kernel in registry.kernels():
        assert {(kernel.op, d) for d in kernel.dtypes} <= portable, kernel.stem
