"""Small hand-made programs that use every corner of the VM, and what they must compute."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.core.program import (
    Block,
    Call,
    Kernel,
    Location,
    MemoryPlan,
    Pool,
    Port,
    Program,
    Tensor,
    Weight,
)
from tvm_megcc.core.splitting import PIECE

HEAD = '#include "megcc_kernel.h"\n'
ARGS = "(void *const *ptr, const int32_t *attr, void *ws, int32_t begin, int32_t end)"

ADD = Kernel(
    "t_add",
    source=HEAD
    + f"""void t_add{ARGS};
void t_add{ARGS} {{
  const float *a = (const float *)ptr[0], *b = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  int32_t i;
  (void)attr, (void)ws;
  for (i = begin; i < end; ++i) y[i] = a[i] + b[i];
}}
""",
)

#: y = scale * x + shift[0], with a float and an integer attribute and a rank-0 operand
AFFINE = Kernel(
    "t_affine",
    source=HEAD
    + f"""void t_affine{ARGS};
void t_affine{ARGS} {{
  const float *x = (const float *)ptr[0], *shift = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  int32_t i;
  (void)ws;
  for (i = begin; i < end; ++i) y[i] = megcc_attr_f32(attr[0]) * x[i] + shift[0] + (float)attr[1];
}}
""",
)

#: two outputs: sum and difference of the halves of x, by way of a workspace
SPLIT = Kernel(
    "t_split",
    source=HEAD
    + f"""void t_split{ARGS};
void t_split{ARGS} {{
  const float *x = (const float *)ptr[0];
  float *sum = (float *)ptr[1], *difference = (float *)ptr[2], *scratch = (float *)ws;
  int32_t i, n = attr[0];
  (void)begin, (void)end;
  for (i = 0; i < 2 * n; ++i) scratch[i] = x[i];
  for (i = 0; i < n; ++i) sum[i] = scratch[i] + scratch[n + i];
  for (i = 0; i < n; ++i) difference[i] = scratch[i] - scratch[n + i];
}}
""",
)

W = np.array([1, -2, 3, -4, 5, -6], "f4")
SHIFT = np.array(0.5, "f4")


def float_bits(value: float) -> int:
    return struct.unpack("<i", struct.pack("<f", value))[0]


def corners(arch: str, *, name: str = "corners") -> Program:
    """Everything at once; see `corners_reference` for the values."""
    tensors = (
        Tensor("x", "f32", (2, 3), Location("input", 0)),  # 0
        Tensor("s", "f32", (), Location("input", 1)),  # 1: rank 0
        Tensor("none", "f32", (0, 4), Location("input", 2)),  # 2: empty
        Tensor("a", "f32", (6,), Location("arena", 0, 192)),  # 3: an input in the arena
        Tensor("w", "f32", (6,), Location("weight", 0)),  # 4
        Tensor("h", "f32", (6,), Location("arena", 0, 0)),  # 5
        Tensor("sum", "f32", (3,), Location("arena", 0, 64)),  # 6: an output in the arena
        Tensor("difference", "f32", (3,), Location("output", 1)),  # 7
        Tensor("ws", "u8", (24,), Location("arena", 0, 128)),  # 8
        Tensor("y", "f32", (6,), Location("output", 0)),  # 9
        Tensor("y tail", "f32", (3,), Location("output", 0, 12)),  # 10: a view of an output
        Tensor("shift", "f32", (), Location("weight", 1)),  # 11
        # The arena input's bytes are used again, after the last use of that input.
        Tensor("again", "f32", (6,), Location("arena", 0, 192)),  # 12
    )
    return Program(
        name,
        arch,
        inputs=(Port("x", 0), Port("s=1", 1), Port("empty one", 2), Port("a", 3)),
        outputs=(
            Port("y", 9),
            Port("difference", 7),
            Port("sum", 6),
            Port("sum again", 6),
            Port("x through", 0),
            Port("a through", 3),
            Port("weight", 4),
            Port("empty", 2),
            Port("y tail", 10),
            Port("s", 1),
            Port("y twice", 9),
        ),
        tensors=tensors,
        kernels=(ADD, Kernel("t_not_used", source="#error unused\n"), AFFINE, SPLIT),
        calls=(
            Call(0, (0, 4, 5), 1, (), 6, None, "x + w", cost=PIECE),
            Call(2, (5, 1, 9), 1, (float_bits(2.0), 1), 6, None, "affine", cost=PIECE),
            Call(0, (9, 3, 5), 1, (), 6, None, "y + a", cost=PIECE),
            Call(2, (5, 11, 12), 1, (float_bits(1.0), 0), 6, None, "+ shift", cost=PIECE),
            Call(3, (12, 6, 7), 2, (3,), 1, 8, "split"),
            Call(0, (2, 2, 2), 0, (), 0, None, "no work"),
        ),
        weights=(Weight("w", W.tobytes()), Weight("shift", SHIFT.tobytes())),
        arena_bytes=256,
    )


#: Where `corners` has what, and how long.
CORNERS_PLAN = MemoryPlan(
    planner="hand",
    lower_bound=256,
    naive_bytes=320,
    peak_step=4,
    blocks=(
        Block("a", 0, 3, 64, 0, 192),
        Block("h", 0, 4, 64, 0, 0),
        Block("again", 3, 5, 64, 0, 192),
        Block("sum", 4, 6, 64, 0, 64),
        Block("ws", 4, 5, 64, 0, 128),
    ),
    pools=(Pool("arena", 256),),
)


def planned(arch: str) -> Program:
    """`corners` with its plan."""
    return replace(corners(arch), plan=CORNERS_PLAN)


def in_two_pools(program: Program) -> Program:
    """A planned program of 256 bytes of arena with 128 of them in each of two pools."""
    half = 128
    assert program.plan is not None and program.arena_bytes == 2 * half

    def moved(t: Tensor) -> Tensor:
        if t.location.space != "arena":
            return t
        return replace(t, location=Location("arena", *divmod(t.location.offset, half)))

    blocks = []
    for block in program.plan.blocks:
        pool, offset = divmod(block.offset, half)
        blocks.append(replace(block, pool=pool, offset=offset))
    pools = (Pool("sram", half), Pool("ps-ram 2", half))
    plan = replace(program.plan, blocks=tuple(blocks), pools=pools)
    return replace(program, tensors=tuple(map(moved, program.tensors)), plan=plan)


def with_empty_pool(program: Program) -> Program:
    """`program` with a further, unused pool in front of its own."""
    assert program.plan is not None

    def moved(t: Tensor) -> Tensor:
        if t.location.space != "arena":
            return t
        return replace(t, location=replace(t.location, index=t.location.index + 1))

    blocks = tuple(replace(b, pool=b.pool + 1) for b in program.plan.blocks)
    plan = replace(program.plan, blocks=blocks, pools=(Pool("none", 0), *program.plan.pools))
    return replace(program, tensors=tuple(map(moved, program.tensors)), plan=plan)


def in_place(arch: str) -> Program:
    """``y = ((a + w) + w) + w``, every sum written over what it reads, from input to output."""
    here = Location("arena", 0, 64)
    tensors = [Tensor(name, "f32", (6,), here) for name in ("a", "b", "c", "y")]
    return Program(
        "in_place",
        arch,
        inputs=(Port("a", 0),),
        outputs=(Port("y", 3),),
        tensors=(*tensors, Tensor("w", "f32", (6,), Location("weight", 0))),
        kernels=(replace(ADD, inplace=(0, 1)),),
        calls=tuple(Call(0, (k, 4, k + 1), 1, (), 6, None, f"sum {k}") for k in range(3)),
        weights=(Weight("w", W.tobytes()),),
        arena_bytes=128,
        plan=MemoryPlan("hand", 64, 256, 0, (Block("a", 0, 3, 64, 0, 64),), (Pool("arena", 128),)),
    )


def corners_inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        "x": rng.standard_normal((2, 3)).astype("f4"),
        "s=1": np.array(0.25, "f4"),
        "empty one": np.zeros((0, 4), "f4"),
        "a": rng.standard_normal(6).astype("f4"),
    }


def corners_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    x, s, a = inputs["x"], inputs["s=1"], inputs["a"]
    y = 2 * (x.reshape(6) + W) + s + np.float32(1)
    again = y + a + SHIFT
    total = again[:3] + again[3:]
    return {
        "y": y,
        "difference": again[:3] - again[3:],
        "sum": total,
        "sum again": total,
        "x through": x,
        "a through": a,
        "weight": W,
        "empty": inputs["empty one"],
        "y tail": y[3:],
        "s": s,
        "y twice": y,
    }


def check_corners(inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> None:
    expected = corners_reference(inputs)
    assert list(outputs) == list(expected)
    for key, value in expected.items():
        assert outputs[key].shape == value.shape, key
        np.testing.assert_allclose(outputs[key], value, rtol=1e-6, atol=1e-6, err_msg=key)


def adder(arch: str, weight: np.ndarray, *, kernel: Kernel = ADD, name: str = "adder") -> Program:
    """``y = x + weight``: one call, no arena, no COPY."""
    n = weight.size
    return Program(
        name,
        arch,
        (Port("x", 0),),
        (Port("y", 2),),
        (
            Tensor("x", "f32", (n,), Location("input", 0)),
            Tensor("w", "f32", (n,), Location("weight", 0)),
            Tensor("y", "f32", (n,), Location("output", 0)),
        ),
        (kernel,),
        (Call(0, (0, 1, 2), 1, (), n, None, "add"),),
        (Weight("w", weight.astype("f4").tobytes()),),
        arena_bytes=0,
    )


def write(files: dict[str, Content], folder: Path) -> Path:
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(to_bytes(data))
    return folder


def write_program(folder: Path, program: Program, weights: str = "incbin") -> Path:
    return write(emit.package({program.arch: program}, name=program.name, weights=weights), folder)


def write_corners(folder: Path, *archs: str, weights: str = "incbin") -> Path:
    programs = {a: corners(a) for a in archs}
    return write(emit.package(programs, name="corners", weights=weights), folder)


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())
