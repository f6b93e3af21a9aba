"""The registry: header grammar, expressions over facts, and selection by rank."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.dims import symbol
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.kernels import registry, types
from tvm_megcc.kernels.contract import contract, operators
from tvm_megcc.kernels.contract import parse as parse_contract
from tvm_megcc.kernels.expression import Expression
from tvm_megcc.kernels.header import parse, parse_all
from tvm_megcc.kernels.kernel_file import KernelFile, Packing

HEADER = """// kernel: {stem}
// op: pool2d
// dtype: f32, f16
// arch: arm64, x86
// isa: simd
// when: kh == 1 and c % 4 == 0
// rank: {rank}
// params: FUNC=func PAIR=(kh + kw)
// pack: x=gemm_panels(nr=LANES)
// inplace: x
// tolerance: 1e-5 if func == POOL2D_AVG else 0
// workspace: sizeof(T) * c
// work: n * oh
// cost: 4 * ow * c
//
// Text: with a colon.
#define LANES 8
#include "op/pool2d.h"
"""
FACTS = {
    "T": "f32", "func": 1, "n": 2, "h": 4, "w": 4, "c": 8, "oh": 3, "ow": 4, "kh": 1, "kw": 2,
    "sh": 1, "sw": 1, "dh": 1, "dw": 1, "pt": 0, "pl": 0, "pb": 0, "pr": 0,
    "count_include_pad": 0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A kernel folder of the test's own; yields a function that adds a file to it."""
    monkeypatch.setattr(registry, "KERNEL_DIR", tmp_path)
    registry.kernels.cache_clear()
    registry.kernels_of.cache_clear()

    def add(stem: str, rank: int | str = 1, text: str = HEADER, where: str = "") -> KernelFile:
        op = re.findall(r"^// op: (\w+)", text, re.MULTILINE)
        path = tmp_path / (where or (op[0] if op else "pool2d")) / f"{stem}.c"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(stem=stem, rank=rank))
        registry.kernels.cache_clear()
        registry.kernels_of.cache_clear()
        return parse(path)

    yield add
    registry.kernels.cache_clear()
    registry.kernels_of.cache_clear()


def test_header_gives_the_facts(folder) -> None:
    kernel = folder("fast", rank=7)
    assert list(kernel.types.combinations()) == [{"T": "f32"}, {"T": "f16"}]
    assert kernel.archs == ("arm64", "x86")
    assert kernel.ranked(FACTS) == 7
    assert kernel.work(FACTS) == 6
    assert kernel.workspace(FACTS) == 32
    assert kernel.cost(FACTS) == 128
    assert kernel.workspace({**FACTS, "T": "f16"}) == 16
    assert kernel.pack == (("x", Packing("gemm_panels", (("nr", 8),))),)
    assert kernel.tolerance(FACTS) == 1e-5 and kernel.tolerance({**FACTS, "func": 0}) == 0
    instance = kernel.instance(FACTS)
    assert instance.inplace == (0,)
    assert instance.symbol == "megcc_fast_func1_pair3"
    assert instance.defines == (("FUNC", "1"), ("PAIR", "3"))


def test_a_value_may_take_several_lines(folder) -> None:
    text = HEADER.replace("sizeof(T) * c", "4 * c if kh == 1\n//   else\n//   8 * c")
    kernel = folder("long", text=text)
    assert kernel.formulas["workspace"].text == "4 * c if kh == 1 else 8 * c"
    assert kernel.work(FACTS) == 6


def test_attrs_follow_the_op_header(folder) -> None:
    attrs = folder("fast").attrs({**FACTS, "pt": 0.5})
    names = contract("pool2d").attributes
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
        ("sizeof(T) * c", "open(c)", "only min, max, ceil, up and sizeof"),
        ("sizeof(T) * c", "c.real", "not allowed"),
        ("sizeof(T) * c", "4 * cols", "workspace: 'cols' is neither a fact of pool2d nor"),
        ("PAIR=(kh + kw)", "PAIR=(kh + STEP)", "PAIR: 'STEP' is neither"),
        (
            "// work:",
            "// let rows = n * o\n// work:",
            "let rows: 'o' is neither .* nor a let above",
        ),
        ("// work:", "// let a = b\n// let b = n\n// work:", "let a: 'b' is neither"),
        ("// work:", "// let oh = n\n// work:", "let oh: 'oh' is a fact of pool2d already"),
        ("// work:", "// let LANES = n\n// work:", "let LANES: 'LANES' is a macro of the file"),
        ("op: pool2d", "op: pool9d", "there is no operator 'pool9d'"),
        ("inplace: x", "inplace: residual", "no operand 'residual'; it has x, y"),
        ("pack: x=", "pack: w=", "no operand 'w'"),
        ("nr=LANES", "nr=VL", "nr=VL is no one number"),
        ("f32, f16", "f32, float", "'float' is no type"),
        ("f32, f16", "z=f32", "no operand 'z'"),
    ],
)
def test_bad_headers_say_what_is_wrong(folder, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        folder("fast", text=HEADER.replace(old, new))


ROWS = """// op: pool2d
// dtype: f32
// isa: simd
// kernel: plain arch=portable rank=1 LANES=4
// kernel: wide arch=x86 rank=2 LANES=16 tolerance="1e-5 if func == POOL2D_AVG else 0" more=2
//   include=simd/megcc_simd.h FAST=1
// let more = 1
// workspace: LANES * more
// work: n * oh
// cost: 4
// tune: LANES=8
//
// Text.
#include "op/pool2d.h"
int32_t lanes = LANES;
"""


def test_a_file_may_have_several_kernels(folder) -> None:
    """A row says what is the kernel's own: keys, lets, macros and headers."""
    path = folder("plain").path.with_name("driver.c")
    path.with_name("plain.c").unlink()
    path.write_text(ROWS)
    plain, wide = parse_all(path)
    assert registry.kernels_of("pool2d") == (plain, wide)
    assert (plain.stem, plain.archs, plain.isa) == ("plain", ("portable",), "simd")
    assert (wide.archs, wide.ranked(FACTS)) == (("x86",), 2)
    assert [k.workspace(FACTS) for k in (plain, wide)] == [4, 32]
    assert [k.tolerance(FACTS) for k in (plain, wide)] == [0, 1e-5]
    assert wide.instance(FACTS).symbol == "megcc_wide"
    (tuned,) = registry.settings(wide)
    assert tuned.workspace(FACTS) == 16 and tuned.instance(FACTS).symbol == "megcc_wide_lanes8"
    text = wide.sources()
    assert "kernel: wide" in text and "FAST=1" in text and "plain" not in text
    macros = "#ifndef LANES\n#define LANES 16\n#endif\n#ifndef FAST\n#define FAST 1\n#endif\n"
    assert f'// Text.\n{macros}#include "simd/megcc_simd.h"\n#include "op/pool2d.h"\n' in text
    path.with_name("wide.c").write_text(HEADER.format(stem="wide", rank=1))
    registry.kernels_of.cache_clear()
    with pytest.raises(ValueError, match="wide.c: kernel wide is in driver.c, too"):
        registry.kernels_of("pool2d")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LANES=4", "LANES 4", "driver.c: kernel: plain: 'LANES 4' is no key=value"),
        ("more=2", "less=2", "unknown .'less'."),
        ("kernel: wide", "kernel: plain", "driver.c: kernel plain has two rows"),
        ("LANES=4", "LANES=few", "driver.c|plain: workspace: 'LANES' is neither"),
    ],
)
def test_bad_rows_say_what_is_wrong(folder, old: str, new: str, message: str) -> None:
    path = folder("plain").path.with_name("driver.c")
    path.write_text(ROWS.replace("// tune: LANES=8\n", "").replace(old, new))
    with pytest.raises(ValueError, match=message):
        parse_all(path)


def test_kernel_stands_in_the_folder_of_its_operator(folder) -> None:
    with pytest.raises(ValueError, match="a kernel of pool2d stands in conv2d/"):
        folder("fast", where="conv2d")


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


def test_kernels_of_equal_rank_that_say_what_they_cost_are_alternatives(folder) -> None:
    text = HEADER.replace("// cost:", "// instructions: {cost}\n// weights: 8 * c\n// cost:")
    folder("direct", text=text.replace("{cost}", "9 * c"))
    inexact = "// exact: no\n// optimize: speed\n// cost:"
    folder("fast", text=text.replace("{cost}", "5 * c").replace("// cost:", inexact))
    folder("slow", text=text.replace("{cost}", "10 * c"))
    found = registry.alternatives("pool2d", "x86", FACTS)
    assert [k.stem for k in found] == ["direct", "slow", "fast"]
    assert registry.find("pool2d", "x86", FACTS) == found[0]
    assert [k.instructions(FACTS) for k in found] == [72, 80, 40]
    assert [(k.weights(FACTS), k.exact) for k in found] == [(64, True), (64, True), (64, False)]
    assert [k.optimize for k in found] == [OPTIMIZE, OPTIMIZE, ("speed",)]
    said = registry.explain("pool2d", "x86", FACTS)
    cost = "instructions, 64 bytes of weights, 32 of workspace"
    assert f"direct (rank 1): chosen, about 72 {cost}\n" in said
    assert (
        f"fast (rank 1): alternative, about 40 {cost}, not with --exact, only with --optimize speed"
        in said
    )
    more = "// workspace: 2 * sizeof(T) * c"
    text = text.replace("// workspace: sizeof(T) * c", more)
    folder("wide", text=text.replace("{cost}", "1 * c"))
    found = registry.alternatives("pool2d", "x86", FACTS)  # memory is spent where there is some
    assert [k.stem for k in found] == ["direct", "slow", "wide", "fast"]
    folder("silent")
    with pytest.raises(ValueError, match="direct and silent both apply .* or both `instructions`"):
        registry.alternatives("pool2d", "x86", FACTS)
    with pytest.raises(ValueError, match="bad: exact: 'maybe' is neither yes nor no"):
        folder(
            "bad", text=text.replace("{cost}", "1").replace("// cost:", "// exact: maybe\n// cost:")
        )
    with pytest.raises(ValueError, match="bad: optimize: 'fast' is none of speed, balanced, si"):
        folder(
            "bad",
            text=text.replace("{cost}", "1").replace("// cost:", "// optimize: fast\n// cost:"),
        )


def test_no_kernel_is_an_error_that_lists_the_reasons(folder) -> None:
    folder("fast")
    assert registry.find("pool2d", "armv7", FACTS) is None
    with pytest.raises(UnsupportedError, match="is for arm64, x86"):
        registry.select("pool2d", "armv7", FACTS)
    with pytest.raises(UnsupportedError, match="takes f32, f16, not f64"):
        registry.select("pool2d", "x86", {**FACTS, "T": "f64"})


def test_expression_names_the_missing_fact() -> None:
    assert Expression("max(a, 3) if b else -a")({"a": 5, "b": 1}) == 5
    with pytest.raises(KeyError, match="needs the fact 'b'"):
        Expression("a + b")({"a": 1})


def test_every_operator_has_kernels_and_every_kernel_an_operator() -> None:
    assert {kernel.op for kernel in registry.kernels()} == set(operators())


def test_every_operator_has_a_portable_reference() -> None:
    """No kernel without a portable C99 one that serves the same operator and types."""
    portable: dict[str, list[dict[str, str]]] = {}
    for kernel in registry.kernels():
        if "portable" in kernel.archs:
            portable.setdefault(kernel.op, []).extend(kernel.types.combinations())
    for kernel in registry.kernels():
        assert all(c in portable[kernel.op] for c in kernel.types.combinations()), kernel.stem


def test_a_header_may_be_like_another(folder) -> None:
    """Formulas are written once; the macros that they name are those of the file itself."""
    folder("plain", text=HEADER.replace("sizeof(T) * c", "LANES"))
    wide = "// kernel: {stem}\n// like: plain\n// arch: x86\n// rank: 3\n//\n#define LANES 16\n"
    wide += '#include "op/pool2d.h"\n'
    kernel = folder("wide", text=wide)
    assert (kernel.archs, kernel.ranked(FACTS), kernel.workspace(FACTS)) == (("x86",), 3, 16)
    assert kernel.pack[0][1].options == (("nr", 16),)
    with pytest.raises(ValueError, match="lost.c: there is no other.c to be like"):
        folder("lost", text=wide.replace("plain", "other"))


def test_a_let_is_written_once(folder) -> None:
    """Formulas name it, those of a header that is `like` it too, which may say it anew."""
    let = "// let rows = ceil(n * oh, LANES)\n// let both = rows * (1 + extra)\n"
    text = HEADER.replace("// workspace", f"// let extra = 0\n{let}// workspace")
    kernel = folder("plain", text=text.replace("work: n * oh", "work: both"))
    assert (kernel.work(FACTS), kernel.work({**FACTS, "n": 4})) == (1, 2)
    assert kernel.work({**FACTS, "n": symbol("n")}).at({"n": 4}) == 2
    more = "// kernel: {stem}\n// like: plain\n// rank: 3\n// let extra = LANES\n//\n"
    kernel = folder("more", text=more + '#define LANES 4\n#include "op/pool2d.h"\n')
    assert (kernel.work(FACTS), kernel.work({**FACTS, "n": 4})) == (10, 15)


def test_rank_may_depend_on_the_call(folder) -> None:
    """As Winograd's: worth it for large images only."""
    folder("small", rank=5)
    folder("large", rank="9 if oh * ow >= LANES * LANES else 1")
    sizes = {size: {**FACTS, "oh": size, "ow": size} for size in (4, 20)}
    assert registry.select("pool2d", "x86", sizes[20]).stem == "large"
    assert registry.select("pool2d", "x86", sizes[4]).stem == "small"
    assert "large (rank 1): outranked by small (5)" in registry.explain("pool2d", "x86", sizes[4])
    assert [k.stem for k in registry.listed()] == ["large", "small"]
    rows = symbol("rows", 1, 100)
    undecided = {**FACTS, "oh": rows, "ow": 20}
    assert registry.select("pool2d", "x86", undecided).stem == "small"
    assert "which may change" in registry.explain("pool2d", "x86", undecided)
    assert registry.select("pool2d", "x86", {**undecided, "ow": 64}).stem == "large"


INTEGER = """// kernel: {stem}
// op: conv2d
// dtype: x=i8,u8 w=i8 bias=i32 y=i8
// arch: arm64
// when: g == 1
// rank: {rank}
// pack: w=gemm_panels(nr=8) bias=less_zero_point
// workspace: sizeof(B) * oc
// params: INPUT=X
// work: n * oh
// cost: oc
"""


def test_integer_kernel_serves_calls_of_its_types(folder) -> None:
    kernel = folder("sdot", text=INTEGER)
    facts = {**dict.fromkeys(contract("conv2d").facts, 1), "oc": 24}
    served = {"X": "i8", "W": "i8", "B": "i32", "Y": "i8"}
    chosen = registry.select("conv2d", "arm64", {**facts, **served})
    assert chosen is registry.kernels()[0]
    assert chosen.workspace({**facts, **served}) == 96
    assert chosen.instance({**facts, **served, "X": "u8"}).symbol == "megcc_sdot_inputu8"
    for variable, dtype, why in [
        ("X", "f32", "takes x=i8, u8, not f32"),
        ("W", "u8", "takes w=i8, not u8"),
        ("B", "f32", "takes bias=i32, not f32"),
        ("Y", "i32", "takes y=i8, not i32"),
    ]:
        other = {**facts, **served, variable: dtype}
        assert registry.find("conv2d", "arm64", other) is None
        assert kernel.refusal("arm64", other) == why


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x=i8 w=i8 bias=i32", "nothing is said about operand 'residual'"),
        ("x=i8 w=i8 bias=i32 y=i8 residual=i8", "'residual=i8' is not a new type"),
        ("x=i8 w=i8 bias=i32 out=i8", "no operand 'out'"),
        ("x=i8 w=i9 bias=i32 y=i8", "'i9' is no type"),
    ],
)
def test_bad_types_say_what_is_wrong(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        types.parse(line, contract("conv2d"))


def test_types_alike() -> None:
    """``f32, f16`` is one type for all operands; a fixed one stays what it is."""
    taken = types.parse("f32, f16", contract("conv2d"))
    assert not taken.refusal(dict.fromkeys("XWBY", "f16"))
    assert taken.refusal({**dict.fromkeys("XWBY", "f16"), "B": "f32"})
    assert len(list(taken.combinations())) == 2
    text = """// op pick: x where a condition holds.
//
//   in    condition: bool [n]
//   in    x: T [n]
//   out   y: T [n]
enum {
  PICK_N,
  PICK_ATTRS
};
"""
    with pytest.raises(ValueError, match="it is always bool"):
        types.parse("condition=u8 x=f32", parse_contract("pick", text))
