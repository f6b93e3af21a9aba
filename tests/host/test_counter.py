"""What the instruction counter says that each Arm instruction is and moves (`classes.c`).

The plugin itself needs an emulator; its table of instructions is compiled for this machine.
"""

from __future__ import annotations

import ctypes
import re
import subprocess

import pytest

from tests.conftest import ROOT

COUNTER = ROOT / "tvm_megcc" / "host" / "counter"
NUMBERS = ("mac32", "mac16", "mac8", "mac64", "load", "store")

#: Word, instruction, and its class with multiply-adds by the bits of the factors, or bytes.
A64 = """
4c407000 ld1 {v0.16b}, [x0] -> load_vec load=16
0c40a000 ld1 {v0.8b, v1.8b}, [x0] -> load_vec load=16
4c406000 ld1 {v0.16b, v1.16b, v2.16b}, [x0] -> load_vec load=48
4cdf2800 ld1 {v0.4s, v1.4s, v2.4s, v3.4s}, [x0], #64 -> load_vec load=64
4c408800 ld2 {v0.4s, v1.4s}, [x0] -> load_vec load=32
4c404000 ld3 {v0.16b, v1.16b, v2.16b}, [x0] -> load_vec load=48
4c400400 ld4 {v0.8h, v1.8h, v2.8h, v3.8h}, [x0] -> load_vec load=64
0d400c00 ld1 {v0.b}[3], [x0] -> load_vec load=1
0d405800 ld1 {v0.h}[3], [x0] -> load_vec load=2
0d409000 ld1 {v0.s}[1], [x0] -> load_vec load=4
4d408400 ld1 {v0.d}[1], [x0] -> load_vec load=8
0d609000 ld2 {v0.s, v1.s}[1], [x0] -> load_vec load=8
0d406800 ld3 {v0.h, v1.h, v2.h}[1], [x0] -> load_vec load=6
0d60b000 ld4 {v0.s, v1.s, v2.s, v3.s}[1], [x0] -> load_vec load=16
4d40c800 ld1r {v0.4s}, [x0] -> load_vec load=4
4d60e000 ld4r {v0.16b, v1.16b, v2.16b, v3.16b}, [x0] -> load_vec load=4
0c007000 st1 {v0.8b}, [x0] -> store_vec store=8
4c008000 st2 {v0.16b, v1.16b}, [x0] -> store_vec store=32
0d009000 st1 {v0.s}[1], [x0] -> store_vec store=4
3dc00000 ldr q0, [x0] -> load_vec load=16
fd400400 ldr d0, [x0, #8] -> load_vec load=8
bc616800 ldr s0, [x0, x1] -> load_vec load=4
7d400000 ldr h0, [x0] -> load_vec load=2
3c401400 ldr b0, [x0], #1 -> load_vec load=1
3d800000 str q0, [x0] -> store_vec store=16
bd000000 str s0, [x0] -> store_vec store=4
f9400020 ldr x0, [x1] -> load load=8
b8404c20 ldr w0, [x1, #4]! -> load load=4
79400020 ldrh w0, [x1] -> load load=2
38626820 ldrb w0, [x1, x2] -> load load=1
b9800020 ldrsw x0, [x1] -> load load=4
39c00020 ldrsb w0, [x1] -> load load=1
f85f8020 ldur x0, [x1, #-8] -> load load=8
f9000020 str x0, [x1] -> store store=8
39000020 strb w0, [x1] -> store store=1
a9400440 ldp x0, x1, [x2] -> load load=16
29400440 ldp w0, w1, [x2] -> load load=8
ad400440 ldp q0, q1, [x2] -> load_vec load=32
6d400440 ldp d0, d1, [x2] -> load_vec load=16
2d400440 ldp s0, s1, [x2] -> load_vec load=8
a9bf07e0 stp x0, x1, [sp, #-16]! -> store store=16
ad000440 stp q0, q1, [x2] -> store_vec store=32
58000040 ldr x0, .+8 -> load load=8
18000040 ldr w0, .+8 -> load load=4
98000040 ldrsw x0, .+8 -> load load=4
9c000040 ldr q0, .+8 -> load_vec load=16
1c000040 ldr s0, .+8 -> load_vec load=4
d8000040 prfm pldl1keep, .+8 -> prefetch
f9800000 prfm pldl1keep, [x0] -> prefetch
885f7c20 ldxr w0, [x1] -> atomic
889ffc20 stlr w0, [x1] -> atomic
b8200041 ldadd w0, w1, [x2] -> atomic
88e0fc41 casal w0, w1, [x2] -> atomic
1f020c20 fmadd s0, s1, s2, s3 -> fma_scalar mac32=1
1f428c20 fmsub d0, d1, d2, d3 -> fma_scalar mac64=1
1fc20c20 fmadd h0, h1, h2, h3 -> fma_scalar mac16=1
4e22cc20 fmla v0.4s, v1.4s, v2.4s -> fma_f32 mac32=4
0ea2cc20 fmls v0.2s, v1.2s, v2.2s -> fma_f32 mac32=2
4e62cc20 fmla v0.2d, v1.2d, v2.2d -> fma_f64 mac64=2
4e420c20 fmla v0.8h, v1.8h, v2.8h -> fma_f16 mac16=8
0ec20c20 fmls v0.4h, v1.4h, v2.4h -> fma_f16 mac16=4
4fa21820 fmla v0.4s, v1.4s, v2.s[3] -> fma_f32 mac32=4
0fa25820 fmls v0.2s, v1.2s, v2.s[3] -> fma_f32 mac32=2
4fc21820 fmla v0.2d, v1.2d, v2.d[1] -> fma_f64 mac64=2
4f321820 fmla v0.8h, v1.8h, v2.h[7] -> fma_f16 mac16=8
5fa21020 fmla s0, s1, v2.s[1] -> fma_scalar mac32=1
5fc21820 fmla d0, d1, v2.d[1] -> fma_scalar mac64=1
4e22ec20 fmlal v0.4s, v1.4h, v2.4h -> fma_f16 mac16=4
2e22cc20 fmlal2 v0.2s, v1.2h, v2.2h -> fma_f16 mac16=2
4f920020 fmlal v0.4s, v1.4h, v2.h[1] -> fma_f16 mac16=4
2f928020 fmlal2 v0.2s, v1.2h, v2.h[1] -> fma_f16 mac16=2
4e829420 sdot v0.4s, v1.16b, v2.16b -> dot_i8 mac8=16
2e829420 udot v0.2s, v1.8b, v2.8b -> dot_i8 mac8=8
4e829c20 usdot v0.4s, v1.16b, v2.16b -> dot_i8 mac8=16
4fa2e020 sdot v0.4s, v1.16b, v2.4b[1] -> dot_i8 mac8=16
2fa2e020 udot v0.2s, v1.8b, v2.4b[1] -> dot_i8 mac8=8
4fa2f020 usdot v0.4s, v1.16b, v2.4b[1] -> dot_i8 mac8=16
0f22f020 sudot v0.2s, v1.8b, v2.4b[1] -> dot_i8 mac8=8
4e82a420 smmla v0.4s, v1.16b, v2.16b -> mmla_i8 mac8=32
6e82a420 ummla v0.4s, v1.16b, v2.16b -> mmla_i8 mac8=32
4e82ac20 usmmla v0.4s, v1.16b, v2.16b -> mmla_i8 mac8=32
6e42fc20 bfdot v0.4s, v1.8h, v2.8h -> bf16
6e42ec20 bfmmla v0.4s, v1.8h, v2.8h -> bf16
2ec2fc20 bfmlalb v0.4s, v1.8h, v2.8h -> bf16
4f62f020 bfdot v0.4s, v1.8h, v2.2h[1] -> bf16
4ea29420 mla v0.4s, v1.4s, v2.4s -> mla_int
6fa24020 mls v0.4s, v1.4s, v2.s[1] -> mla_int
4ea29c20 mul v0.4s, v1.4s, v2.4s -> mul_int
4fa28020 mul v0.4s, v1.4s, v2.s[1] -> mul_int
4ea2b420 sqdmulh v0.4s, v1.4s, v2.4s -> mul_int
4fa2d020 sqrdmulh v0.4s, v1.4s, v2.s[1] -> mul_int
0e228020 smlal v0.8h, v1.8b, v2.8b -> mla_int mac8=8
6e22a020 umlsl2 v0.8h, v1.16b, v2.16b -> mla_int mac8=8
0e628020 smlal v0.4s, v1.4h, v2.4h -> mla_int
0f622020 smlal v0.4s, v1.4h, v2.h[2] -> mla_int
0e22c020 smull v0.8h, v1.8b, v2.8b -> mul_int
2f62a020 umull v0.4s, v1.4h, v2.h[2] -> mul_int
4ea28420 add v0.4s, v1.4s, v2.4s -> simd_fp_other
4e22d420 fadd v0.4s, v1.4s, v2.4s -> simd_fp_other
4fa29020 fmul v0.4s, v1.4s, v2.s[1] -> simd_fp_other
1e222820 fadd s0, s1, s2 -> simd_fp_other
4e823820 zip1 v0.4s, v1.4s, v2.4s -> simd_fp_other
65a20020 fmla z0.s, p0/m, z1.s, z2.s -> sve_fma
64aa0020 fmla z0.s, z1.s, z2.s[1] -> sve_fma
64a2e420 fmmla z0.s, z1.s, z2.s -> sve_fma
64628020 bfdot z0.s, z1.h, z2.h -> sve_fma
44820020 sdot z0.s, z1.b, z2.b -> sve_fma
44827820 usdot z0.s, z1.b, z2.b -> sve_fma
45029820 smmla z0.s, z1.b, z2.b -> sve_fma
04a20020 add z0.s, z1.s, z2.s -> sve_other
65820020 fadd z0.s, z1.s, z2.s -> sve_other
a540a000 ld1w {z0.s}, p0/z, [x0] -> load_vec
85804000 ldr z0, [x0] -> load_vec
e540e000 st1w {z0.s}, p0, [x0] -> store_vec
2598e3e0 ptrue p0.s -> sve_other
80812000 fmopa za0.s, p0/m, p1/m, z0.s, z1.s -> sve_fma
a0812000 smopa za0.s, p0/m, p1/m, z0.b, z1.b -> sve_fma
14000000 b . -> branch
94000000 bl . -> branch
54000000 b.eq . -> branch
b4000000 cbz x0, . -> branch
37180000 tbnz x0, #3, . -> branch
d65f03c0 ret -> branch
d63f0020 blr x1 -> branch
d4000001 svc #0 -> system
d503201f nop -> system
d5033bbf dmb ish -> system
d53b4200 mrs x0, nzcv -> system
8b020020 add x0, x1, x2 -> int_alu
9b020c20 madd x0, x1, x2, x3 -> int_alu
d2800020 movz x0, #1 -> int_alu
"""

#: Disassembly of A32 and T32.
A32 = """
vldr s0, [r0] -> load_vec load=4
vldr d0, [r0] -> load_vec load=8
vld1.32 {d0, d1}, [r0] -> load_vec load=16
vld1.8 {d0}, [r0]! -> load_vec load=8
vld2.16 {d0, d1, d2, d3}, [r0] -> load_vec load=32
vld1.32 {d0[1]}, [r0] -> load_vec load=4
vld1.8 {d0[1]}, [r0] -> load_vec load=1
vld3.16 {d0[1], d1[1], d2[1]}, [r0] -> load_vec load=6
vldmia r0!, {s0, s1, s2} -> load_vec load=12
vldmia r0!, {d8, d9} -> load_vec load=16
vpop {d8, d9} -> load_vec load=16
vstr d0, [r0] -> store_vec store=8
vstr s0, [r0] -> store_vec store=4
vst1.32 {d0, d1}, [r0] -> store_vec store=16
vst1.16 {d0[2]}, [r0] -> store_vec store=2
vstmia r0!, {s0, s1} -> store_vec store=8
vpush {d8, d9, d10} -> store_vec store=24
vmla.f32 q0, q1, q2 -> fma_f32 mac32=4
vmls.f32 d0, d1, d2 -> fma_f32 mac32=2
vfma.f32 q0, q1, d2[0] -> fma_f32 mac32=4
vfms.f16 q0, q1, q2 -> fma_f16 mac16=8
vfma.f16 d0, d1, d2 -> fma_f16 mac16=4
vfma.f32 s0, s1, s2 -> fma_scalar mac32=1
vfnms.f32 s0, s1, s2 -> fma_scalar mac32=1
vnmla.f64 d0, d1, d2 -> fma_scalar mac64=1
vmla.f64 d0, d1, d2 -> fma_scalar mac64=1
vmlal.s8 q0, d1, d2 -> mla_int mac8=8
vmlal.u8 q0, d1, d2 -> mla_int mac8=8
vmlal.s16 q0, d1, d2 -> mla_int
vmlsl.s16 q0, d1, d2 -> mla_int
vmla.i32 q0, q1, q2 -> mla_int
vmls.i16 q0, q1, q2 -> mla_int
vsdot.s8 q0, q1, q2 -> dot_i8 mac8=16
vudot.u8 d0, d1, d2 -> dot_i8 mac8=8
vmul.i32 q0, q1, q2 -> mul_int
vmull.s16 q0, d1, d2 -> mul_int
vqdmulh.s32 q0, q1, q2 -> mul_int
vqrdmulh.s32 q0, q1, q2 -> mul_int
vmul.f32 q0, q1, q2 -> simd_fp_other
vmul.f64 d0, d1, d2 -> simd_fp_other
vadd.f32 q0, q1, q2 -> simd_fp_other
pld [r0] -> prefetch
pli [r0] -> prefetch
ldrex r0, [r1] -> atomic
strex r0, r1, [r2] -> atomic
swp r0, r1, [r2] -> atomic
ldm r0!, {r1, r2, r3} -> load load=12
pop {r4, pc} -> load load=8
stmdb sp!, {r4, r5, lr} -> store store=12
push {r4, lr} -> store store=8
ldr r0, [r1] -> load load=4
ldr.w r0, [r1] -> load load=4
ldrd r0, r1, [r2] -> load load=8
ldrb r0, [r1] -> load load=1
ldrh r0, [r1] -> load load=2
ldrsb r0, [r1] -> load load=1
ldrsh r0, [r1] -> load load=2
str r0, [r1] -> store store=4
strd r0, r1, [r2] -> store store=8
strb r0, [r1] -> store store=1
strh r0, [r1] -> store store=2
svc #0 -> system
nop -> system
dmb ish -> system
dsb sy -> system
isb sy -> system
mrc p15, #0, r0, c13, c0, #3 -> system
mcr p15, #0, r0, c7, c10, #5 -> system
hint #0x14 -> system
yield -> system
b #0x100 -> branch
bl #0x100 -> branch
beq #0x100 -> branch
bx lr -> branch
blx r3 -> branch
cbz r0, #0x10 -> branch
cbnz r0, #0x10 -> branch
tbb [pc, r0] -> branch
tbh [pc, r0, lsl #1] -> branch
bic r0, r1, r2 -> int_alu
bfi r0, r1, #0, #8 -> int_alu
bkpt #0 -> int_alu
add r0, r1, r2 -> int_alu
smlad r0, r1, r2, r3 -> int_alu
mov r0, r1 -> int_alu
"""


class Cost(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), *((name, ctypes.c_uint) for name in NUMBERS)]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    target = tmp_path_factory.mktemp("counter") / "classes.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", str(COUNTER / "classes.c"), "-o", str(target)]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(target))
    library.cost_of_a64.restype = library.cost_of_a32.restype = Cost
    return library


def described(cost: Cost) -> str:
    kinds = re.findall(r"X\((\w+), ", (COUNTER / "classes.h").read_text())
    numbers = (f"{name}={getattr(cost, name)}" for name in NUMBERS if getattr(cost, name))
    return " ".join([kinds[cost.kind], *numbers])


def test_a64_instructions(classes: ctypes.CDLL) -> None:
    rows = [line.rpartition(" -> ") for line in A64.strip().splitlines()]
    said = {text: described(classes.cost_of_a64(int(text.split()[0], 16))) for text, _, _ in rows}
    assert said == {text: wanted for text, _, wanted in rows}


def test_a32_instructions(classes: ctypes.CDLL) -> None:
    rows = [line.rpartition(" -> ") for line in A32.strip().splitlines()]
    said = {text: described(classes.cost_of_a32(text.encode())) for text, _, _ in rows}
    assert said == {text: wanted for text, _, wanted in rows}
