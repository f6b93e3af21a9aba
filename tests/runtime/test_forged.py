"""Forged images: a wrong field is a status, and whatever opens stays within its memory.

Each case is some words of an image with other values; tests/runtime/test_forged.c fixes the
checksum, opens and runs it. What a fuzzer has found (scripts/fuzz --image) is a case here.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tvm_megcc.codegen_c import sources
from tvm_megcc.codegen_c.emit import blocks, instructions, scalars
from tvm_megcc.codegen_c.emit.function_words import NONE
from tvm_megcc.host import toolchain

from ..codegen_c.test_bytecode import SECTIONS
from . import fuzz_image
from .forged import HOST, PACKAGES, Image, defines, write
from .test_runtime import FLAGS, HERE, SANITIZE

pytestmark = [pytest.mark.together, pytest.mark.slow]

_NAMES = re.findall(r"^  MEGCC_(?:OK|ERR_)(\w*)", sources.runtime_text("include/megcc.h"), re.M)
STATUS = {name or "OK": number for number, name in enumerate(_NAMES)}
CORRUPT, DATA, SHAPE = (STATUS[name] for name in ("CORRUPT", "DATA", "SHAPE"))

#: What a word is set to, and the statuses that may answer; None: any but MEGCC_OK.
Case = tuple[str, dict[int, int], set[int] | None]

#: Word of the first operand, of each instruction that calls a kernel.
FIRST_OPERAND = {"CALL": 8, "CALL_SIZED": 10, "BAND": 24, "BAND_SIZED": 24}

CALL = {"name": 2, "split": 4, "workspace": 5, "outputs": 6, "operands": 7}


class Forger:
    """The test program of a package, and the image that is forged."""

    def __init__(self, package: str, folder: Path, arch: str = HOST) -> None:
        code, self.binary = write(package, folder, arch)
        self.image, self.arch, self.folder = Image.of(self.binary), arch, folder
        flags = SANITIZE if arch == HOST else ["-g1", "-O1"]
        runner = toolchain.build(code, arch, build_dir=folder / "build", extra_cflags=flags)
        self.program = folder / "test_forged"
        command = [toolchain.find_compiler(arch), *FLAGS, *flags, *defines(package)]
        command += [f"-I{code / 'include'}", f"-I{code / 'src'}", str(HERE / "test_forged.c")]
        command += [str(runner.with_name("libmodel.a")), "-lm", "-o", str(self.program)]
        subprocess.run(command + ([] if arch == HOST else ["-static"]), check=True)

    def run(self, *args: str) -> str:
        command = [*toolchain._launcher(self.arch), str(self.program), str(self.binary), *args]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-500:] + done.stderr
        return done.stdout

    def check(self, cases: list[Case]) -> None:
        """Every case is answered by one of its statuses."""
        lines = [" ".join(f"{w} {v & NONE}" for w, v in words.items()) for _, words, _ in cases]
        table = self.folder / "cases.txt"
        table.write_text("\n".join(lines) + "\n")
        found = [int(line) for line in self.run(str(table)).split()]
        names = {number: name for name, number in STATUS.items()}
        wrong = [
            f"{what}: {names[status]}"
            for (what, _, expected), status in zip(cases, found, strict=True)
            if (status not in expected if expected is not None else status == 0)
        ]
        assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module", params=PACKAGES)
def forger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Forger:
    return Forger(request.param, tmp_path_factory.mktemp(request.param))


def test_one_byte_at_a_time(forger: Forger) -> None:
    assert int(forger.run().split()[0]) > 100, (
        "the forged images hardly ever run: a test of nothing"
    )


def test_every_field_of_every_instruction(forger: Forger) -> None:
    cases = list(instruction_cases(forger.image))
    covered = {what.split(".")[0] for what, _, _ in cases}
    assert covered == {name for name, _ in forger.image.instructions()}
    forger.check(cases)


def test_every_table(forger: Forger) -> None:
    forger.check([*table_cases(forger.image), *shape_cases(forger.image)])


def test_what_a_run_decides(forger: Forger) -> None:
    """Memory that a LOAD or LET has not allocated when an instruction wants it."""
    forger.check(list(run_cases(forger.image)))


@pytest.mark.parametrize("package", PACKAGES)
def test_sums_of_32_bits(package: str, tmp_path: Path) -> None:
    """Each count of an image that a size is a sum of, where a size has 32 bits."""
    if shutil.which(toolchain.find_compiler("armv7")) is None:
        pytest.skip("there is no compiler for armv7")
    forger = Forger(package, tmp_path, "armv7")
    forger.check(list(count_cases(forger.image)))


@pytest.mark.parametrize("package", PACKAGES)
def test_fuzzed(package: str, tmp_path: Path) -> None:
    """A start of what `scripts/fuzz --image` does for longer."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    assert fuzz_image.run(package, tmp_path, runs=2000, seed=1)


# ---- the tables ------------------------------------------------------------------------------


def instruction_cases(image: Image) -> Iterator[Case]:
    """One wrong value, at least, of every word of every instruction."""
    tensors, strings, values = (image.count(s) for s in ("tensors", "strings", "values"))
    read_only = next(
        (k for k, t in enumerate(image.entries("tensors")) if t[0] >> 8 & 255 in (1, 2)), None
    )
    float_tensor = next(k for k, t in enumerate(image.entries("tensors")) if t[0] & 255 == 0)
    for name, at in image.instructions():
        length = image.words[at] >> 8
        opcode = image.words[at] & 255

        def case(
            field: str, *wrong: int, word: int, name: str = name, at: int = at
        ) -> Iterator[Case]:
            for value in wrong:
                yield f"{name}.{field} = {value}", {at + word: value}, {CORRUPT}

        for words in (0, length + 1, 0xFFFFFF):
            yield f"{name}.words = {words}", {at: opcode | words << 8}, None
        # A branch that counts one call less is CORRUPT before that is seen.
        yield f"{name}.opcode = 200", {at: 200 | length << 8}, {STATUS["OPCODE"], CORRUPT}
        if name == "END":
            continue
        if name in FIRST_OPERAND:
            operands = image.words[at + CALL["operands"]]
            first = at + FIRST_OPERAND[name]
            yield from case("kernel", image.count("kernels"), NONE, word=1)
            yield from case("name", strings, NONE, word=CALL["name"])
            work = (values, NONE) if name.endswith("_SIZED") else (1 << 31, NONE)
            yield from case("work", *work, word=3)
            yield from case("workspace", tensors, NONE - 1, word=CALL["workspace"])
            yield from case("split", 0, 0x100, word=CALL["split"])
            if read_only is not None:
                yield from case("workspace", read_only, word=CALL["workspace"])
            yield from case("outputs", operands + 1, NONE, word=CALL["outputs"])
            yield from case("operands", NONE, 1 << 30, word=CALL["operands"])
            for k in range(operands):
                yield f"{name}.operand {k}", {first + k: tensors}, {CORRUPT}
            if operands and image.words[at + CALL["outputs"]] and read_only is not None:
                yield f"{name}.output", {first + operands - 1: read_only}, {CORRUPT}
            if name == "CALL_SIZED":
                yield from case("attribute", values + 1, NONE, word=8)
                yield from case("attributes", values + 1, NONE, word=9)
            if name.startswith("BAND"):
                for word, value in band_cases(image, at, float_tensor):
                    yield from case(f"word {word}", value, word=word)
        if name == "STORE":
            yield from case("tensor", tensors, NONE, float_tensor, word=1)
            if read_only is not None:
                yield from case("tensor", read_only, word=1)
            yield from case("value", values, NONE, word=2)
        if name == "SLIDE_SIZED":
            yield from case("counter", tensors, NONE, float_tensor, word=1)
            yield from case("tensor", tensors, NONE, word=2)
            if read_only is not None:
                yield from case("tensor", read_only, word=2)
            for word in (3, 6):
                yield from case("value", values, NONE, word=word)
            for word in (4, 5, 7):
                yield from case("path", 1 << 30, 1 << 31, word=word)
        if name == "SLIDE":
            yield from case("counter", tensors, NONE, float_tensor, word=1)
            yield from case("tensor", tensors, NONE, word=2)
            if read_only is not None:
                yield from case("tensor", read_only, word=2)
            yield from case("row", 0, 1 << 30, NONE, word=3)
            for word in (4, 5, 6, 7):
                yield from case("path", 1 << 30, 1 << 31, word=word)
            yield from case("made", image.words[at + 7] + 1, word=7)
            yield from case("period", 1 << 30, NONE, word=8)
        if name == "FEED":
            yield from case("counter", tensors, NONE, float_tensor, word=1)
            yield from case("input", image.count("inputs"), NONE, word=2)
            yield from case("tensor", tensors, NONE, word=3)
            if read_only is not None:
                yield from case("tensor", read_only, word=3)
            yield from case("row", 0, image.words[at + 4] + 1, 1 << 30, NONE, word=4)
            for word in range(5, 11):
                yield from case("path", 1 << 30, 1 << 31, word=word)
            yield from case("height", image.words[at + 7] + 1, word=7)
            yield from case("made", image.words[at + 9] + 1, image.words[at + 6] - 1, word=9)
            yield from case("step", image.words[at + 8] + 1, word=8)
            yield from case("base", image.words[at + 6] - 1, word=6)
            yield from case("planes", 0, image.words[at + 11] + 1, 1 << 30, NONE, word=11)
            yield from case("period", 1 << 30, NONE, word=12)
            yield from case("images", 0, image.words[at + 13] + 1, 1 << 30, NONE, word=13)
        if name == "COPY":
            yield from case("destination", tensors, NONE, word=1)
            yield from case("source", tensors, NONE, word=2)
            if read_only is not None:
                yield from case("destination", read_only, word=1)
        if name in ("LOAD", "LET"):
            sizes = 3 if name == "LOAD" else 2
            count = image.words[at + sizes + 1]
            yield from case("name", strings, NONE, word=1)
            if name == "LOAD":
                yield from case("tensor", tensors, NONE, float_tensor, word=2)
            yield from case("value", 0, image.data - 1, values, NONE, word=sizes)
            yield from case("count", NONE, 1 << 30, count + 1, word=sizes + 1)
            beyond = image.count("scalars") + 1
            yield from case("scalars", 0, beyond, NONE, word=sizes + 2)
            yield from case("scalars end", 0, beyond, NONE, word=sizes + 3)
            beyond = image.count("blocks") + 1
            yield from case("blocks", beyond, NONE, word=sizes + 4)
            yield from case("blocks end", beyond, NONE, word=sizes + 5)
            kinds = [b[0] & 255 for b in image.entries("blocks")]
            if blocks.PLACED in kinds:
                yield from case("blocks", kinds.index(blocks.PLACED), word=sizes + 4)
            if name == "LET":
                for k in range(count):
                    yield from case("from", values, NONE, word=sizes + 6 + 2 * count + k)
        if name == "CHECK":
            yield from case("name", strings, NONE, word=1)
            yield from case("condition", tensors, NONE, float_tensor, word=2)
        if name == "DRAW":
            yield from case("destination", tensors, NONE, float_tensor, word=1)
            if read_only is not None:
                yield from case("destination", read_only, word=1)
            yield from case("own key", 2, NONE, word=4)
            for room in range(4):
                yield f"{name}.room {room}", {image.at("functions"): room}, {CORRUPT}
        if name == "ROW":
            yield from case("name", strings, NONE, word=1)
            to, source, number, how = range(length - 4, length)
            yield from case("destination", tensors, NONE, word=to)
            yield from case("source", tensors, NONE, word=source)
            yield from case("row", tensors, NONE, float_tensor, word=number)
            yield from case("how", 4, NONE, word=how)
        if name == "BRANCH":
            yield from case("condition", tensors, NONE - 1, float_tensor, word=1)
            counter = image.words[at + 2]
            yield from case("counter", tensors, float_tensor, word=2)
            yield from case("limit", tensors, float_tensor, word=3)
            if counter == NONE:
                yield from case("limit", 0, word=3)
            yield from case("target", 1, NONE, 1 << 31, 1 << 30, word=4)
            yield from case("call", image.words[at + 5] + 1, NONE, word=5)
        if name == "JUMP":
            yield from case("counter", tensors, NONE - 1, float_tensor, word=1)
            yield from case("target", 0, 1, 1 << 31, (1 << 31) - 1, NONE, word=2)
            yield from case("call", image.words[at + 3] + 1, NONE, word=3)


def band_cases(image: Image, at: int, float_tensor: int) -> Iterator[tuple[int, int]]:
    """Wrong words of a BAND or BAND_SIZED besides those of a CALL."""
    words = image.words
    operands, bands, patches = (words[at + k] for k in (CALL["operands"], 20, 21))
    sized = words[at] & 255 == instructions.opcodes()["BAND_SIZED"]
    no_value = (image.count("values"), NONE)
    yield from ((8, value) for value in (image.count("tensors"), NONE, float_tensor))
    yield from ((word, value) for word in (9, 10, 11) for value in (1 << 30, 1 << 31))
    yield from ((word, value) for word in (12, 13, 14) for value in (0, 1 << 20, NONE))
    yield from ((word, value) for word in (15, 16) for value in (1 << 30, NONE))
    if sized:
        yield from ((19, value) for value in no_value)
    yield from ((17, value) for value in (0, NONE))
    yield from ((word, value) for word in (20, 21) for value in (1 << 20, NONE))
    yield from ((22, value) for value in (1 << 30, NONE))
    yield from ((23, value) for value in (0, 1 << 30, NONE))
    first = FIRST_OPERAND["BAND"] + operands
    for band in range(first, first + 5 * bands, 5):
        yield from ((band, value) for value in (operands, 1 << 18, NONE))
        if words[at + band] >> 17 == 0 and words[at + band + 2]:
            if not sized:  # a buffer of so small an image has room for all rows
                yield band, words[at + band] | 1 << 17  # a line buffer that would have all images
        elif words[at + band] >> 17:
            yield 23, words[at + 23] + 1
        yield from ((band + 1, value) for value in (no_value if sized else (0, 1 << 30, NONE)))
        yield from ((band + k, 1 << 30) for k in (2, 3, 4))
        if words[at + band + 2]:  # a line buffer that begins below what is read, or above
            yield band + 2, words[at + band + 2] + 1
            yield band + 3, words[at + band + 3] + 64
            if not sized:  # a buffer of so small an image has room for all rows
                yield band + 3, words[at + band + 3] - 64 & NONE
    for patch in range(first + 5 * bands, first + 5 * bands + 2 * patches, 2):
        yield from ((patch, value) for value in (64, 5 << 16, NONE))
        if sized:
            yield from ((patch + 1, value) for value in no_value)
    attributes = first + 5 * bands + 2 * patches
    if sized and attributes < words[at] >> 8:
        yield from ((attributes, value) for value in no_value)


def table_cases(image: Image) -> Iterator[Case]:
    """Wrong entries of the tables that every image has."""
    tensors, strings = image.count("tensors"), image.count("strings")

    def case(section: str, word: int, value: int, entry: int = 0) -> Case:
        what = f"{section} {entry}, word {word} = {value:#x}"
        return what, {image.at(section, entry, word): value}, {CORRUPT}

    for k, tensor in enumerate(image.entries("tensors")):
        yield case("tensors", 0, tensor[0] | 0xFF, k)
        yield case("tensors", 0, tensor[0] & ~0xFF00 | 4 << 8, k)
        yield case("tensors", 0, tensor[0] | 0xFFFF << 16, k)
        yield case("tensors", 1, NONE, k)
        yield case("tensors", 2, NONE, k)
        if tensor[0] & 255 == 0:
            yield case("tensors", 3, tensor[3] + 1, k)
    yield case("dims", 0, 1 << 31)
    for side in ("inputs", "outputs"):
        for k in range(image.count(side)):
            yield case(side, 0, strings, k)
            yield case(side, 1, tensors, k)
            yield from (case(side, 2, port, k) for port in partners(image, side, k))
    # Pairs that agree with each other, but whose dims or types do not.
    inputs = image.count("inputs")
    for k, port in itertools.product(range(inputs), range(image.count("outputs"))):
        tables = image.entries("inputs")[k], image.entries("outputs")[port]
        types = [image.entries("tensors")[row[1]] for row in tables]
        if types[0][0] & 0xFF != types[1][0] & 0xFF or types[0][0] >> 16 != types[1][0] >> 16:
            words = {image.at("inputs", k, 2): inputs + port, image.at("outputs", port, 2): k}
            yield f"input {k} and output {port}", words, {CORRUPT}
    yield case("pools", 0, strings)
    yield case("kernels", 0, strings)
    for word in range(8, 10):
        yield f"header {word}", {word: 1}, {STATUS["VERSION"]}
    for name in SECTIONS:
        if image.count(name):
            yield f"offset of {name}", {image.row(name): 1}, {CORRUPT}
            yield f"offset of {name}", {image.row(name): 4 * len(image.words) + 4}, {CORRUPT}


def partners(image: Image, side: str, k: int) -> Iterator[int]:
    """Numbers of ports that do not share the memory of this one, or do not say so."""
    inputs, ports = image.count("inputs"), image.count("inputs") + image.count("outputs")
    own = image.entries(side)[k][2]
    yield from (port for port in {0, inputs - 1, inputs, ports - 1, ports, NONE - 1} if port != own)
    if own != NONE:
        yield NONE


def shape_cases(image: Image) -> Iterator[Case]:
    """Wrong scalars, blocks, guards and dims of what a caller binds."""
    values, symbols = image.count("values"), image.count("symbols")
    record = image.at("functions")
    if not values:
        return
    yield "F_SCALARS", {record + 1: image.count("scalars") + 1}, {CORRUPT}
    yield "F_DATA", {record + 2: values + 1}, {CORRUPT}
    if symbols:
        yield "F_DATA below the symbols", {record + 2: 0}, {CORRUPT}
    for k, (word, a, b) in enumerate(image.entries("scalars")):
        at = image.at("scalars", k)
        kind, to = word & 255, word >> 8
        yield f"scalar {k} kind", {at: len(scalars.OPERATIONS) | to << 8}, {CORRUPT}
        yield f"scalar {k} a", {at + 1: values}, {CORRUPT}
        yield f"scalar {k} b", {at + 2: values}, {CORRUPT}
        if scalars.OPERATIONS[kind] == "require":
            yield f"scalar {k} name", {at: kind | image.count("strings") << 8}, {CORRUPT}
            continue
        yield f"scalar {k} to", {at: kind | values << 8}, {CORRUPT}
        if symbols:
            yield f"scalar {k} sets a symbol", {at: kind}, {CORRUPT}
        if k >= image.words[record + 1]:
            last = image.data - 1
            yield f"scalar {k} sets what the shapes say", {at: kind | last << 8}, {CORRUPT}
        for number, name in enumerate(scalars.OPERATIONS):
            # Every operation may fail, or make sizes that do not fit: never more than that.
            for x, y in ((a, b), (b, a), (0, values - 1)):
                words = {at: number | to << 8, at + 1: x, at + 2: y}
                yield f"scalar {k} {name} {x} {y}", words, set(STATUS.values())
    for k, (word, *_) in enumerate(image.entries("blocks")):
        at = image.at("blocks", k)
        kind = word & 255
        yield f"block {k} kind", {at: 3}, {CORRUPT}
        if kind == blocks.PLACED:
            yield f"block {k} alignment", {at: 7 << 8}, {CORRUPT}
            yield f"block {k} below", {at + 1: NONE}, {CORRUPT}
            yield f"block {k} below", {at + 2: image.count("below") + 1}, {CORRUPT}
        for offset in {0, image.data - 1, image.data, values - 1}:
            words = {at: blocks.ALIAS, at + 1: max(k - 1, 0), at + 2: offset % values}
            yield f"block {k} part of {k - 1}", words, {CORRUPT} if k == 0 else set(STATUS.values())
        yield f"block {k} part of itself", {at: blocks.ALIAS, at + 1: k}, {CORRUPT}
        yield f"block {k} at no value", {at: blocks.ALIAS, at + 1: 0, at + 2: values}, {CORRUPT}
        yield f"block {k} allocated", {at: blocks.DYNAMIC}, set(STATUS.values())
        yield f"block {k} placed", {at: blocks.PLACED, at + 1: 0, at + 2: 0}, set(STATUS.values())
    for k in range(image.count("below")):
        yield f"below {k}", {image.at("below", k): image.count("blocks")}, {CORRUPT}
    tensors = image.entries("tensors")
    if image.data < values:
        for side in ("inputs", "outputs"):
            for k, (_, tensor, _) in enumerate(image.entries(side)):
                space, dim = tensors[tensor][0] >> 8 & 255, tensors[tensor][1]
                if tensors[tensor][0] >> 16 and (side == "inputs" or space == 3):
                    late = {image.at("dims", dim): -1 - image.data}
                    yield f"{side} {k} waits for data", late, {CORRUPT}
    for k, (word, *_) in enumerate(tensors):
        if word >> 8 & 255 == 0:
            for offset in (64, 1 << 20, (1 << 32) - 64):
                at = image.at("tensors", k, 3)
                yield f"tensor {k} at {offset}", {at: offset}, set(STATUS.values())
                yield f"tensor {k} at {offset}", {at: offset, at + 1: NONE}, set(STATUS.values())


def run_cases(image: Image) -> Iterator[Case]:
    """Sizes that no LOAD or LET has set, blocks that none has allocated."""
    any_status = set(STATUS.values())
    last = image.count("values") - 1
    for name, at in image.instructions():
        if name in ("LOAD", "LET"):
            sizes = 3 if name == "LOAD" else 2
            end = image.words[at + sizes + 5]
            start = image.words[at + sizes + 4]
            # A LET may stand in the branch that is not taken.
            expected = {DATA} if name == "LOAD" and start < end else any_status
            yield f"{name} allocates nothing", {at + sizes + 4: end}, expected
            yield (
                f"{name} computes nothing",
                {at + sizes + 2: image.words[at + sizes + 3]},
                any_status,
            )
            for k in range(image.words[at + sizes + 1]):
                bounds = at + sizes + 6 + 2 * k
                yield (
                    f"{name} {k} of any size",
                    {bounds: 1 << 31, bounds + 1: 0x7FFFFFFF},
                    any_status,
                )
        if name == "BRANCH" and image.words[at + 4] > 6:
            calls = sum(n.startswith("CALL") for n, other in image.instructions() if other < at)
            yield "BRANCH to what follows", {at + 4: 6, at + 5: calls}, any_status
        if name == "JUMP":
            yield "JUMP counts", {at + 1: 0}, any_status
        # Whatever an instruction reads or writes may lie anywhere, with any dims.
        for word in range(1, image.words[at] >> 8):
            for value in range(image.count("tensors")):
                yield f"{name} word {word} = {value}", {at + word: value}, any_status
    for k, tensor in enumerate(image.entries("tensors")):
        for d in range(tensor[0] >> 16):
            if last >= 0:
                at = image.at("dims", tensor[1] + d)
                yield f"tensor {k} dim {d} is the last value", {at: -1 - last}, any_status
        for block in range(image.count("blocks")):
            at = image.at("tensors", k)
            words = {at: tensor[0] & ~0xFF00, at + 2: image.count("pools") + block}
            yield f"tensor {k} in block {block}", words, any_status


def count_cases(image: Image) -> Iterator[Case]:
    """Counts near those whose sums and products do not fit in 32 bits."""
    large = [1 << 32, 1 << 31, 1 << 30, 1 << 29, 1 << 28, (1 << 32) // 12, (1 << 32) // 24]
    for count in large:
        for k in (1, 2, 3, 4, 5, 8, 16, 24, 40, 64):
            for section in SECTIONS:
                what = f"{count:#x} - {k} {section}"
                yield what, {image.row(section) + 1: count - k}, {CORRUPT, STATUS["KERNELS"]}
            # A context's operands are no more than the code has words.
            yield (
                f"{count - k:#x} operands",
                {image.at("functions"): count - k},
                set(STATUS.values()),
            )
            yield f"{count - k:#x} bytes", {2: count - k}, None
