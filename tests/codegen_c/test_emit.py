"""Emission: what a package contains, shares and leaves out, and that it is always the same."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tvm_megcc.codegen_c import emit, sources
from tvm_megcc.codegen_c.emit import assemble, guards, instructions, kernel_files, weight_segments
from tvm_megcc.codegen_c.emit.prune import prune
from tvm_megcc.core.contents import Content
from tvm_megcc.core.machine import TABLE, machine
from tvm_megcc.core.program import Kernel, Location, Port, Tensor, Weight
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.host import toolchain
from tvm_megcc.kernels import registry

from ..runtime import programs as p


def files(*archs: str, **options) -> dict[str, Content]:
    return emit.package({a: p.corners(a) for a in archs}, name="corners", **options)


def test_emit_paths():
    out = files("x86")
    assert [f for f in out if not f.startswith(("src/", "runner/"))] == [
        "CMakeLists.txt", "Makefile", "README.md", "include/corners.h", "include/megcc.h",
        "include/megcc_pool.h", "main.c", "manifest.json", "megcc_corners.pc.in", "megcc_pool.c",
        "model/model.c", "model/weights0.c", "model/weights0.c.bin",
    ]  # fmt: skip
    assert {*assemble.RUNNER, "runner/model.h", "runner/features.h"} <= set(out)
    assert [f for f in out if f.startswith("src/kernels/")] == [
        "src/kernels/t_add.c", "src/kernels/t_affine.c", "src/kernels/t_split.c",
    ]  # fmt: skip
    assert "src/megcc_kernel.h" in out and "src/megcc_op_copy.c" in out


def test_emit_is_deterministic_across_processes():
    script = (
        "import hashlib; from tests.codegen_c.test_emit import files;"
        "from tvm_megcc.core.contents import to_bytes;"
        "print([(w, f, hashlib.sha256(to_bytes(d)).hexdigest()) for w in ('incbin', 'c', 'bin')"
        " for f, d in files('x86', 'arm64', 'portable', weights=w).items()])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(p.Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_emit_order_of_architectures_does_not_matter():
    one = emit.package({a: p.corners(a) for a in ("x86", "arm64")}, name="corners")
    assert one == emit.package({a: p.corners(a) for a in ("arm64", "x86")}, name="corners")
    assert list(one) == sorted(one)


def test_emit_only_the_opcodes_and_kernels_in_use():
    out = emit.package({"x86": p.adder("x86", p.W)}, name="adder")
    manifest = json.loads(out["manifest.json"])
    assert manifest["opcodes"] == ["END", "CALL"] and "src/megcc_op_copy.c" not in out
    assert "t_not_used" not in "".join(t for t in files("x86").values() if isinstance(t, str))


def test_prune_keeps_what_is_reached_and_nothing_else():
    program = p.corners("x86")
    extra = replace(
        program,
        tensors=(Tensor("lost", "f32", (9,), Location("weight", 0)), *_moved(program, 1)),
        weights=(Weight("lost", bytes(36)), *program.weights),
        inputs=_ports_by(program.inputs, 1),
        outputs=_ports_by(program.outputs, 1),
        calls=tuple(
            replace(
                c,
                operands=tuple(t + 1 for t in c.operands),
                workspace=None if c.workspace is None else c.workspace + 1,
            )
            for c in program.calls
        ),
    )
    pruned = prune(extra)
    assert [k.symbol for k in pruned.kernels] == ["t_add", "t_affine", "t_split"]
    assert pruned == prune(program) == prune(pruned)
    assert pruned.weights == program.weights and pruned.tensors == program.tensors


def _moved(program, by):
    return [
        replace(t, location=replace(t.location, index=t.location.index + by))
        if t.location.space == "weight"
        else t
        for t in program.tensors
    ]


def _ports_by(ports, by):
    return tuple(replace(port, tensor=port.tensor + by) for port in ports)


def test_emit_manifest():
    manifest = json.loads(files("x86", "arm64")["manifest.json"])
    assert manifest["archs"] == ["arm64", "x86"]
    assert manifest["inputs"][1] == {"name": "s=1", "dtype": "f32", "shape": [], "bytes": 4}
    assert [o["name"] for o in manifest["outputs"]][:3] == ["y", "difference", "sum"]
    assert manifest["per_arch"]["x86"]["arena_bytes"] == 256
    assert manifest["per_arch"]["x86"]["weight_bytes"] == 128


def test_emit_manifest_says_how_memory_was_planned():
    assert "memory" not in json.loads(files("x86")["manifest.json"])["per_arch"]["x86"]
    program = p.planned("x86")
    out = emit.package({"x86": program}, name="corners")
    memory = json.loads(out["manifest.json"])["per_arch"]["x86"]["memory"]
    assert memory["pools"] == [{"name": "arena", "bytes": 256}]
    assert memory["blocks"][2] == {
        "name": "again", "first": 3, "last": 5, "bytes": 64, "pool": 0, "offset": 192,
    }  # fmt: skip
    assert (memory["planner"], memory["lower_bound"], memory["naive_bytes"]) == ("hand", 256, 320)
    assert (memory["peak_step"], memory["peak_call"], memory["optimal"]) == (4, "split", True)
    for plan in (replace(p.CORNERS_PLAN, lower_bound=216), replace(p.CORNERS_PLAN, peak_step=6)):
        out = emit.package({"x86": replace(program, plan=plan)}, name="corners")
        memory = json.loads(out["manifest.json"])["per_arch"]["x86"]["memory"]
        assert memory["optimal"] == (plan.lower_bound == 256)
        assert memory["peak_call"] == ("" if plan.peak_step == 6 else "split")


def test_emit_header_has_each_pool():
    two = p.in_two_pools(p.planned("x86"))
    lines = emit.package({"x86": two}, name="corners")["include/corners.h"].splitlines()
    start = lines.index("#define CORNERS_ARENA_BYTES 256")
    assert lines[start + 1 : start + 5] == [
        "#define CORNERS_POOL_SRAM 0", "#define CORNERS_POOL_SRAM_BYTES 128",
        "#define CORNERS_POOL_PS_RAM_2 1", "#define CORNERS_POOL_PS_RAM_2_BYTES 128",
    ]  # fmt: skip
    assert "POOL" not in files("x86")["include/corners.h"]
    for other in ("SRAM", "sram_bytes"):
        pools = (two.plan.pools[0], replace(two.plan.pools[1], name=other))
        clash = replace(two, plan=replace(two.plan, pools=pools))
        with pytest.raises(InputError, match=f"memory pool '{other}': .* rename the pool"):
            emit.package({"x86": clash}, name="corners")
    many = (*two.plan.pools, *(replace(two.plan.pools[0], name=f"p{k}", bytes=0) for k in range(7)))
    with pytest.raises(InputError, match="9 memory pools; give at most 8"):
        emit.package({"x86": replace(two, plan=replace(two.plan, pools=many))}, name="corners")
    out = emit.package(
        {"x86": replace(two, plan=replace(two.plan, pools=many[:8]))}, name="corners"
    )
    assert "#define CORNERS_POOL_P5_BYTES 0\n" in out["include/corners.h"]


def test_emit_shared_kernel_has_no_guard():
    out = files("x86", "arm64")
    assert "#if defined" not in out["src/kernels/t_add.c"]
    assert out["src/kernels/t_add.c"].startswith("// Kernel t_add_")
    assert "do not edit" in out["src/kernels/t_add.c"]


def test_emit_kernels_of_one_architecture_are_guarded():
    mine = Kernel("t_add", source=p.ADD.source.replace("i = begin", "i = begin + 0"))
    programs = {
        "arm64": p.adder("arm64", p.W, kernel=mine),
        "portable": p.adder("portable", p.W),
    }
    out = emit.package(programs, name="adder")
    kernels = {f: t for f, t in out.items() if f.startswith("src/kernels/")}
    assert len(kernels) == 2  # one symbol, two bodies: two files, two link names
    tests = {line for t in kernels.values() for line in t.splitlines() if line.startswith("#if ")}
    assert tests == {"#if defined(__aarch64__)", "#if !defined(__aarch64__)"}


def test_emit_template_kernel_is_the_file_under_defines():
    stem = registry.kernels()[0].stem
    kernel = Kernel("megcc_instance", template=stem, defines=(("T_PARAMETER", "7"),))
    program = p.adder("x86", p.W, kernel=kernel)
    out = emit.package({"x86": program}, name="adder")
    text = out["src/kernels/megcc_instance.c"]
    assert text.endswith(sources.kernel_text(stem))
    symbol = json.loads(out["manifest.json"])["per_arch"]["x86"]["kernels"][0]
    assert f"#define MEGCC_SYMBOL {symbol}\n#define T_PARAMETER 7\n" in text
    assert f"{sources.kernel_path(stem)}, parameters: T_PARAMETER=7" in text
    for header in kernel_files.headers([text]):
        assert f"src/{header}" in out


def test_link_name_follows_everything_a_kernel_is_made_of():
    def link(kernel: Kernel) -> str:
        return kernel_files.kernel_files({"x86": (kernel,)}).symbols["x86"][0]

    kernel = replace(p.ADD, defines=(("A", "1"),))
    names = [
        link(kernel),
        link(replace(kernel, defines=(("A", "2"),))),
        link(replace(kernel, source=kernel.source + "\n")),
        link(replace(kernel, source=kernel.source.replace("megcc_kernel.h", "op/conv2d.h"))),
    ]
    assert len(set(names)) == 4 and link(kernel) == names[0]


def test_headers_are_found_through_headers():
    found = kernel_files.headers(['#include "op/conv2d.h"\n  # include "megcc_kernel.h"\n'])
    assert set(found) == {"op/conv2d.h", "megcc_act_codes.h", "megcc_kernel.h"}
    with pytest.raises(InputError, match="'nowhere.h'"):
        kernel_files.headers(['#include "nowhere.h"\n'])


# ---- weights -----------------------------------------------------------------------------------


def with_weights(arch: str, *data: bytes):
    return replace(
        p.adder(arch, p.W), weights=tuple(Weight(f"w{k}", d) for k, d in enumerate(data))
    )


def test_weights_are_stored_once_and_grouped_by_user():
    programs = {
        "arm64": with_weights("arm64", b"common", b"only64", b"common"),
        "armv7": with_weights("armv7", b"only32", b"common"),
        "x86": with_weights("x86", b"common" * 20),
    }
    layout = weight_segments.lay_out({arch: [program] for arch, program in programs.items()})
    assert [(s.archs, len(s.data)) for s in layout.segments] == [
        (("arm64",), 64), (("arm64", "armv7"), 64), (("armv7",), 64), (("x86",), 128),
    ]  # fmt: skip
    assert layout.placed["arm64"] == (((1, 0), (0, 0), (1, 0)),)
    assert layout.local("armv7") == (((1, 0), (0, 0)),)
    for arch, program in programs.items():
        (placed,) = layout.placed[arch]
        for weight, (segment, offset) in zip(program.weights, placed, strict=True):
            data = bytes(layout.segments[segment].data)
            assert offset % 64 == 0 and data[offset : offset + len(weight.data)] == weight.data


def test_weights_of_one_architecture_are_guarded():
    programs = {"arm64": p.adder("arm64", p.W), "portable": p.adder("portable", 2 * p.W)}
    out = emit.package(programs, name="adder")
    assert "#if defined(__aarch64__)" in out["model/weights0.c"]
    assert "#if !defined(__aarch64__)" in out["model/weights1.c"]
    shared = emit.package(
        {"arm64": p.adder("arm64", p.W), "portable": p.adder("portable", p.W)}, name="adder"
    )
    assert "__aarch64__" not in shared["model/weights0.c"] and "model/weights1.c" not in shared


@pytest.mark.parametrize("size", [0, 1, 256, 257, 4096])
def test_c_literal_round_trip(tmp_path, size):
    data = bytes(np.random.default_rng(size).integers(0, 256, size, dtype="u1"))
    data += b'??/ ??= \\ " \x00 7 \x01 8 \xff F ??' if size > 1 else b""
    source = (
        "#include <stdio.h>\n"
        f"const unsigned char w[{len(data)} + 1] =\n{weight_segments.c_literal(data)};\n"
        "int main(void) { return fwrite(w, 1, sizeof w - 1, stdout) != sizeof w - 1; }\n"
    )
    (tmp_path / "a.c").write_text(source)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-trigraphs", "a.c", "-o", "a"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a"], capture_output=True, check=True).stdout == data


# ---- refusals ----------------------------------------------------------------------------------


def test_emit_refuses_unknown_architectures():
    with pytest.raises(InputError, match="without an architecture"):
        emit.package({}, name="net")
    with pytest.raises(InputError, match="architecture 'mips' is not known"):
        emit.package({"mips": p.corners("mips")}, name="net")


def test_emit_refuses_programs_of_different_models():
    with pytest.raises(InputError, match="compile all architectures from one model"):
        emit.package({"x86": p.corners("x86"), "arm64": p.adder("arm64", p.W)}, name="net")


def test_emit_refuses_numbers_that_do_not_fit():
    program = p.adder("x86", p.W)
    big = replace(program.tensors[0], shape=(1 << 31, 0))
    with pytest.raises(UnsupportedError, match="a dimension of 'x' is 2147483648"):
        emit.package({"x86": replace(program, tensors=(big, *program.tensors[1:]))}, name="n")
    with pytest.raises(UnsupportedError, match="the work of 'add' is"):
        call = replace(program.calls[0], work=1 << 31)
        emit.package({"x86": replace(program, calls=(call,))}, name="n")
    with pytest.raises(UnsupportedError, match="NUL"):
        emit.package({"x86": replace(program, inputs=(Port("a\0b", 0),))}, name="n")


def test_emit_names():
    assert emit.c_name("a.b-c") == "a_b_c" and emit.c_name("") == "model"
    assert emit.c_name("megcc") == "m_megcc" and emit.c_name("string") == "m_string"
    assert emit.c_name("é") == "_"
    # include/megcc_kernel.h would stand before the one of src.
    assert emit.c_name("megcc_kernel") == "m_megcc_kernel"
    out = emit.package({"x86": p.adder("x86", p.W)}, name="my net")
    assert "include/my_net.h" in out and "my_net_image" in out["model/model.c"]


def test_guards():
    package = tuple(row.name for row in TABLE)
    assert guards.condition(package, package) is None
    both = f"defined(__aarch64__) || {machine('armv7').arch.macro}"
    assert guards.condition(("arm64", "armv7"), package) == both
    for arch in package:
        holds = [a for a in package if _holds(guards.condition((arch,), package), a)]
        assert holds == [arch]
    assert guards.wrap("x\n", ("x86",), ("x86",)) == "x\n"


def _holds(test: str, arch: str) -> bool:
    """Evaluate a guard as the compiler for `arch` would."""
    for row in TABLE:
        if row.macro:
            test = test.replace(row.macro, str(row.name == arch))
    return eval(test.replace("!", " not ").replace("&&", " and ").replace("||", " or ").strip())


def test_arena_output_has_its_own_tensor_only_where_needed():
    from tvm_megcc.codegen_c.emit.instructions import own_outputs

    program = p.corners("x86")
    code = own_outputs(program)
    copied = [k for k, (a, b) in enumerate(zip(program.outputs, code.program.outputs, strict=True))
              if a.tensor != b.tensor]  # fmt: skip
    assert copied == [3, 4, 5, 6, 7, 8, 9, 10]
    for k in copied:
        t: Tensor = code.program.tensors[code.program.outputs[k].tensor]
        assert (t.location.space, t.location.index, t.location.offset) == ("output", k, 0)


def test_outputs_at_one_offset_of_two_pools_are_both_shown():
    program = p.adder("x86", p.W)
    outputs = [Tensor(f"y{k}", "f32", (6,), Location("arena", k, 0)) for k in range(2)]
    program = replace(
        program,
        tensors=(*program.tensors, *outputs),
        outputs=(Port("y0", 3), Port("y1", 4)),
        calls=tuple(replace(program.calls[0], operands=(0, 1, k)) for k in (3, 4)),
        arena_bytes=128,
    )
    assert instructions.own_outputs(program).instructions == program.calls
    both = tuple(replace(t, location=Location("arena", 1, 0)) for t in outputs)
    same = replace(program, tensors=(*program.tensors[:3], *both))
    assert instructions.own_outputs(same).opcodes == ("END", "CALL", "COPY")


@pytest.mark.parametrize("module", [instructions, assemble, guards, weight_segments, toolchain])
def test_examples_of_the_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0
