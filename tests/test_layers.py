"""The rooms and the doors between them: who may import whom, read from the AST."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Room -> the rooms it may import besides itself.
DOORS: dict[str, set[str]] = {
    "errors": set(),
    "dims": set(),
    "core": {"errors", "dims"},
    "relax_tools": {"errors", "dims", "core"},
    "shapes": {"errors", "dims", "relax_tools"},
    "ops": {"errors", "dims", "core", "relax_tools", "shapes"},
    "frontend": {"errors", "dims", "core", "relax_tools", "shapes", "ops"},
    "importers": {"errors", "dims", "core", "relax_tools", "ops", "frontend"},
    "kernels": {"errors", "dims", "core", "codegen_c"},
    "fuse": {"errors", "dims", "core", "relax_tools", "kernels"},
    "memory": {"errors", "dims", "core"},
    "legalise": {"dims", "core", "relax_tools", "kernels", "fuse", "codegen_c.tir"},
    "passes": {
        "errors",
        "dims",
        "core",
        "relax_tools",
        "kernels",
        "fuse",
        "legalise",
        "codegen_c.tir",
    },
    "tvm_memory": {"memory", "relax_tools"},
    "lower": {"errors", "dims", "core", "relax_tools"},
    "forward": {"errors", "dims", "core"},
    "streaming": {"errors", "dims", "core", "kernels", "codegen_c"},
    "runtime": set(),
    "codegen_c": {"errors", "runtime"},
    "codegen_c.emit": {"errors", "dims", "core", "codegen_c"},
    "codegen_c.tir": {"errors", "dims", "core"},
    "tokenizer": {"errors"},
    "zoo": {"errors"},
    "dispatch": {"errors", "dims", "relax_tools", "shapes"},
}

#: Modules between the rooms and whoever uses them. Each may import every room, and what stands
#: before it here.
SURFACES = (
    "target", "memory_options", "host", "reference", "compare", "quantisation", "dynamic_options",
    "options", "advice", "fitting", "pipeline", "tuning", "driver", "byoc", "transform",
    "_register", "relay", "execute", "generation", "backend", "report", "cli", "__main__", "",
)  # fmt: skip
ALLOWED = DOORS | {name: {*DOORS, *SURFACES[:number]} for number, name in enumerate(SURFACES)}

#: Rooms inside codegen_c: what writes packages, and what turns TVM's TIR into C.
INNER = ("codegen_c.emit", "codegen_c.tir")

#: Library -> the rooms that know nothing of it: functions over our own data.
FREE_OF = {
    "tvm": {
        "errors", "dims", "core", "memory", "codegen_c", "codegen_c.emit", "runtime", "zoo",
        "kernels", "forward", "streaming", "tokenizer",
    },
    "onnx": DOORS.keys() - {"ops", "frontend", "importers", "zoo"},
}  # fmt: skip


def sources() -> Iterator[tuple[str, Path]]:
    """Every module of the package under its installed name."""
    for folder, package in [
        ("tvm_megcc", "tvm_megcc"),
        ("codegen_c", "tvm_megcc.codegen_c"),
        ("runtime", "tvm_megcc.runtime"),
    ]:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(p for p in parts if p != "__init__")]), path


def room(module: str) -> str:
    """``tvm_megcc.codegen_c.tir.emit`` -> ``codegen_c.tir``."""
    inside = module.split(".")[1:]
    return next((r for r in INNER if _below(".".join(inside), (r,))), (inside or [""])[0])


def imports(module: str, is_package: bool, tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Absolute names that a module imports, at its top or inside a function, with the line."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{origin}.{alias.name}", node.lineno


def _below(module: str, rooms: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in rooms)


def broken_doors(module: str, is_package: bool, source: str) -> list[str]:
    here = room(module)
    inside = module.removeprefix("tvm_megcc.")
    found = []
    for target, line in imports(module, is_package, ast.parse(source)):
        library = target.split(".")[0]
        if here in FREE_OF.get(library, ()):
            found.append(f"{module}:{line}: {inside} knows nothing of {library}")
        there = room(target) if library == "tvm_megcc" else here
        if there and there != here and there not in ALLOWED[here]:
            found.append(f"{module}:{line}: {here} may not import {there}")
    return found


MODULES = list(sources())


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[m for m, _ in MODULES])
def test_layers_imports_follow_the_doors(module, path):
    assert not broken_doors(module, path.name == "__init__.py", path.read_text())


def test_layers_doors_have_no_cycle():
    left = {k: set(v) for k, v in ALLOWED.items()}
    while left:
        free = [k for k, v in left.items() if not v & left.keys()]
        assert free, f"cycle among {sorted(left)}"
        for k in free:
            del left[k]


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("tvm_megcc.memory.plan", "from tvm_megcc import driver", "memory may not import driver"),
        ("tvm_megcc.memory.plan", "from ..passes.fuse import X", "memory may not import passes"),
        ("tvm_megcc.frontend", "def f():\n    import tvm_megcc.cli", "frontend may not import cli"),
        (
            "tvm_megcc.host.toolchain",
            "from tvm_megcc import driver",
            "host may not import driver",
        ),
        ("tvm_megcc.codegen_c.emit", "import tvm.relax", "codegen_c.emit knows nothing of tvm"),
        ("tvm_megcc.kernels.packing", "import tvm", "kernels.packing knows nothing of tvm"),
        ("tvm_megcc.codegen_c.emit", "from .tir import emit", "may not import codegen_c.tir"),
    ],
)
def test_layers_sees_a_broken_door(module, source, said):
    (message,) = broken_doors(module, False, source)
    assert said in message


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, directly or through others: what has no order."""
    left = {module: set(targets) for module, targets in edges.items()}
    while free := [m for m, targets in left.items() if not targets & left.keys()]:
        for module in free:
            del left[module]
    # What is left also holds who only leads to a circle.
    while leads := left.keys() - set().union(*left.values(), set()):
        for module in leads:
            del left[module]
    return [sorted(left)] if left else []


def edges() -> dict[str, set[str]]:
    """Module -> the modules it imports, also in a function or for types only."""
    names = {module for module, _ in MODULES}
    found: dict[str, set[str]] = {}
    for module, path in MODULES:
        tree = ast.parse(path.read_text())
        found[module] = set()
        for target, _ in imports(module, path.name == "__init__.py", tree):
            while target not in names and "." in target:
                target = target.rpartition(".")[0]
            if target in names and target != module:
                found[module].add(target)
    return found


def test_layers_no_module_imports_itself_through_others():
    assert not circles(edges())


def test_layers_sees_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


_OPERATOR = "an operator in the rooms that convert, fuse or rewrite it"

#: Name of several modules -> the one thing that they are about.
SAME_THING = {
    **dict.fromkeys(
        "activations attention composite concat elementwise quantise quantised random recurrent "
        "reduction reductions resize rotaryembedding".split(),
        _OPERATOR,
    ),
    "bench": "latency: of a package, of the models in the documentation",
    "compare": "a package beside ONNX: the subcommand, the differences",
    "half": "values in f16 or bf16: of the ONNX model, of the module",
    "liveness": "first and last use: of a program's storages, of a Relax function's tensors",
    "nodes": "ONNX nodes behind a call: where they are read, where they are kept",
    "options": "all that a user says about compiling: the object, the command line",
    "place": "offsets in an arena: of a program's storages, of a Relax function's tensors",
    "products": "products of matrices, in integers as well: of ONNX, of com.microsoft",
    "profile": "times of a run's calls: of a trace, of a `GraphModule`",
    "relax_module": "a module in Relax: as a model to import, as what is dispatched",
    "sizes": "sizes that a run sets: of a program, of a node's operands",
    "slices": "parts of a tensor between sizes: to write in Relax, to read from it",
}


def names_without_reason(paths: Iterable[Path], reasons: Container[str]) -> dict[str, list[Path]]:
    """Names that stand for several modules and have no reason to."""
    found: dict[str, list[Path]] = {}
    for path in paths:
        if not path.stem.startswith("__"):
            found.setdefault(path.stem, []).append(path)
    return {k: v for k, v in found.items() if len(v) > 1 and k not in reasons}


def test_layers_a_name_stands_for_one_thing():
    paths = [*(path for _, path in MODULES), *sorted((ROOT / "scripts").glob("*.py"))]
    assert not names_without_reason(paths, SAME_THING), "rename one, or say what they share"
    assert names_without_reason(paths, ()).keys() == SAME_THING.keys(), "a reason without a pair"


def test_layers_sees_a_name_that_stands_for_two_things():
    paths = [Path(p) for p in ("a/work.py", "b/work.py", "a/plan.py", "a/__init__.py")]
    assert names_without_reason(paths, ()) == {"work": paths[:2]}
    assert not names_without_reason(paths, {"work": "why"})


_CODE = re.compile(r"`([\w/.*-]+)`")


def homes() -> dict[str, list[str]]:
    """Code -> where its tests are, as the table in CONTRIBUTING.md says."""
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    return {code: _CODE.findall(tests) for row, tests in rows for code in _CODE.findall(row)}


def test_layers_every_room_has_tests():
    rooms = {room(module).partition(".")[0] for module, _ in MODULES}
    named = homes()
    for name in sorted(rooms - {"", "__main__", "_register"}):
        there = [ROOT / "tests" / name, ROOT / "tests" / f"test_{name}.py"]
        assert any(p.exists() for p in there) or name in named, (
            f"the tests of {name} are in no tests/{name}: add them, or a row to CONTRIBUTING.md"
        )


def test_layers_tests_that_are_elsewhere_are_there():
    named = homes()
    assert len(named) > 10
    for code, tests in named.items():
        inside = ROOT / "tvm_megcc" / code
        paths = [ROOT / code, inside, inside.with_suffix(".py")]
        assert any(p.exists() for p in paths) or code.endswith("*.py"), code
        for path in (p for p in tests if p.startswith("tests/")):
            assert (ROOT / path).exists(), f"{code}: {path} is not there"


def test_layers_every_folder_of_tests_is_named():
    rooms = {room(module).partition(".")[0] for module, _ in MODULES} | {"scripts"}
    named = {"/".join(p.split("/")[:2]) for p in (*homes(), *sum(homes().values(), []))}
    for folder in sorted({path.parent for path in (ROOT / "tests").glob("*/test_*.py")}):
        assert folder.name in rooms or f"tests/{folder.name}" in named, (
            f"CONTRIBUTING.md does not say what tests/{folder.name} tests"
        )


INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

_SHARED = tuple(f"codegen_c/include/{name}" for name in ("op", "simd", "gemm", "math"))

#: Folder of C -> the folders whose files it may include, by name, besides its own.
C_DOORS = {
    "runtime/include": set(),
    "runtime/src": {"runtime/include", "codegen_c/include/megcc_kernel.h"},
    "runtime/debug": {"runtime/include", "runtime/src", "tvm_megcc/host/counter/marks.h"},
    "codegen_c/emit/package": {"runtime/include", "codegen_c/emit/package/runner"},
    "codegen_c/emit/package/runner": {"runtime/include"},
    # Headers of operators, of vectors, of products and of functions know each other.
    "codegen_c/include": set(_SHARED),
    **{folder: {"codegen_c/include", *_SHARED} for folder in _SHARED},
    **{
        str(folder.relative_to(ROOT)): {"codegen_c/include", *_SHARED}
        for folder in sorted((ROOT / "codegen_c/kernels").iterdir())
        if folder.is_dir()
    },
}


def test_layers_c_includes_follow_the_doors():
    paths = {
        str(path.relative_to(ROOT)): path
        for folder in C_DOORS
        for path in sorted((ROOT / folder).glob("*.[ch]"))
    }
    homes = {
        str(Path(p).relative_to(f)): p for p in paths for f in C_DOORS if p.startswith(f"{f}/")
    }
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        folder = str(Path(name).parent)
        found[name] = {homes[i] for i in INCLUDE.findall(path.read_text()) if i in homes}
        for target in found[name]:
            doors = {folder, *C_DOORS[folder]}
            assert {target, str(Path(target).parent)} & doors, f"{name} may not include {target}"
    assert len(found) > 80
    assert not circles(found)


#: Comments, strings and characters, which hold no calls.
_C_NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\])'", re.S)
#: A function that other files can call, at its definition.
_C_DEFINED = re.compile(
    r"^(?!static|typedef|extern|MEGCC_INLINE)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{", re.M
)


def calls(texts: dict[str, str]) -> dict[str, set[str]]:
    """File -> the other files whose functions it names; handlers in tables are not seen."""
    codes = {name: _C_NO_CODE.sub(" ", text) for name, text in texts.items()}
    homes: dict[str, set[str]] = {}
    for name, code in codes.items():
        for function in _C_DEFINED.findall(code):
            homes.setdefault(function, set()).add(name)
    named = {name: set(re.findall(r"(?<![.>\w])\w+", code)) for name, code in codes.items()}
    return {
        name: set().union(*(homes[word] for word in words & homes.keys())) - {name}
        for name, words in named.items()
    }


@pytest.mark.parametrize(
    ("folders", "least"),
    [(("runtime/src", "runtime/debug"), 40), (("codegen_c/emit/package/runner",), 20)],
)
def test_layers_c_files_do_not_call_in_circles(folders, least):
    files = [path for folder in folders for path in sorted((ROOT / folder).glob("*.c"))]
    found = calls({path.name: path.read_text() for path in files})
    assert sum(map(len, found.values())) > least, "the reader of calls sees too few"
    assert not circles(found)


def test_layers_sees_a_circle_of_calls():
    low = "int low(int x) {\n  return high(x);  // not by_the_way()\n}\n"
    high = "void\nhelp(void);\nint high(\n    int x) {\n  return low(x) + s.alone;\n}\n"
    alone = "static int low(void) { return 1; }\nint alone(void) { return 0; }\n"
    found = calls({"low.c": low, "high.c": high, "alone.c": alone.replace("low", "own")})
    assert found == {"low.c": {"high.c"}, "high.c": {"low.c"}, "alone.c": set()}
    assert circles(found) == [["high.c", "low.c"]]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tvm_megcc.cli.run", "from tvm_megcc import driver, host"),
        ("tvm_megcc.driver", "from tvm_megcc.host.package import is_package"),
        (
            "tvm_megcc.memory.plan",
            "from .problem import Problem\nfrom ..core.program import Program",
        ),
        ("tvm_megcc.codegen_c.tir.emit", "import tvm"),
    ],
)
def test_layers_lets_the_doors_be_used(module, source):
    assert not broken_doors(module, False, source)
