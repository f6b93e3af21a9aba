"""Indices in Relax modules: negative ones wrap once, others outside of their axis end the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.importers.test_self_contained import module
from tvm_megcc import driver, relay
from tvm_megcc.errors import ToolError, UnsupportedError
from tvm_megcc.host import package, toolchain
from tvm_megcc.importers.checked_indices import with_checked_indices
from tvm_megcc.relax_tools.exprs import constant, expressions

op = relax.op
RNG = np.random.default_rng(4)
DATA = RNG.normal(size=(4, 3)).astype(np.float32)
UPDATES = RNG.normal(size=(2, 3)).astype(np.float32)


def put(data: np.ndarray, at: object, values: np.ndarray) -> np.ndarray:
    found = data.copy()
    found[at] = values
    return found


def column(u: relax.Expr) -> relax.Expr:
    return op.squeeze(op.strided_slice(u, [1], [0], [1]), [1])


#: Operator of data [n, 3], indices (of axis 0, of the last one in `columns`) and updates [2, 3]
#: -> shape of the indices, the operator, what it is in NumPy.
ROWS: dict[str, tuple[tuple[int, ...], Callable[..., relax.Expr], Callable[..., np.ndarray]]] = {
    "take": ((2,), lambda d, i, u: op.take(d, i, 0), lambda d, i, u: d[i]),
    "gather_elements": (
        (2, 3), lambda d, i, u: op.gather_elements(d, i, 0),
        lambda d, i, u: np.take_along_axis(d, i, 0),
    ),
    "gather_nd": (
        (5, 2), lambda d, i, u: op.gather_nd(d, i),
        lambda d, i, u: d[tuple(np.moveaxis(i, -1, 0))],
    ),
    "scatter_elements": (
        (2, 3), lambda d, i, u: op.scatter_elements(d, i, u, 0),
        lambda d, i, u: put(d, (i, np.arange(3)), u),
    ),
    "scatter_nd": (
        (2, 1), lambda d, i, u: op.scatter_nd(d, i, u), lambda d, i, u: put(d, i[:, 0], u)
    ),
    "index_tensor": ((2,), lambda d, i, u: op.index_tensor(d, [i]), lambda d, i, u: d[i]),
    "index_put": (
        (2,), lambda d, i, u: op.index_put(d, (i, op.zeros((2,), "int64")), column(u)),
        lambda d, i, u: put(d, (i, 0), u[:, 0]),
    ),
}  # fmt: skip


def indices(shape: tuple[int, ...]) -> np.ndarray:
    """Of rows, all different within a column, the first one from the end."""
    rows = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)) % 3
    made = np.broadcast_to(rows, shape).astype(np.int64).copy()
    made[0] = -1
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, package.Package]:
    """All operators in one package, under the sanitizers."""
    builder = relax.BlockBuilder()
    rows = tvm.tirx.Var("n", "int64")
    d = relax.Var("d", relax.TensorType((rows, 3), "float32"))
    u = relax.Var("u", relax.TensorType((2, 3), "float32"))
    ports = {name: relax.Var(name, relax.TensorType(row[0], "int64")) for name, row in ROWS.items()}
    with builder.function("main", [d, u, *ports.values()]):
        with builder.dataflow():
            made = [builder.emit(row[1](d, ports[name], u)) for name, row in ROWS.items()]
            result = builder.emit_output(relax.Tuple(made))
        builder.emit_func_output(result)
    folder = tmp_path_factory.mktemp("indices")
    (folder / "net.py").write_text(builder.get().script(show_meta=False))
    driver.compile_model(folder / "net.py", folder / "pkg")
    opened = package.load(folder / "pkg")
    return toolchain.build(opened.path, opened.choose("host"), sanitize=True), opened


def run(built: tuple[Path, package.Package], **changed: np.ndarray) -> list[np.ndarray]:
    exe, opened = built
    feed = {"d": DATA, "u": UPDATES, **{name: indices(row[0]) for name, row in ROWS.items()}}
    done = toolchain.run_package(exe, opened.choose("host"), {**feed, **changed}, opened.manifest)
    return list(done.outputs.values())


@pytest.mark.slow
def test_negative_indices_count_from_the_end(built: tuple[Path, package.Package]) -> None:
    for (name, (shape, _, numpy)), found in zip(ROWS.items(), run(built), strict=True):
        np.testing.assert_array_equal(found, numpy(DATA, indices(shape), UPDATES), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("far", [12, -13, 10**6, -(10**18)])
def test_an_index_outside_ends_the_run(
    built: tuple[Path, package.Package], name: str, far: int
) -> None:
    at = indices(ROWS[name][0])
    at.reshape(-1)[-1] = far
    with pytest.raises(ToolError, match=name):
        run(built, **{name: at})


def test_a_constant_is_looked_at_when_compiling() -> None:
    table = relax.TensorType((4, 3), "float32")

    def taking(*rows: int) -> tvm.IRModule:
        return module(lambda x: op.take(x, relax.const(np.array(rows)), 0), table)

    relay.build(taking(0, -4), target="tvm_megcc")
    with pytest.raises(UnsupportedError, match="take 'lv': an index outside its axis of 4"):
        relay.build(taking(0, 4), target="tvm_megcc")


@pytest.mark.parametrize(
    "take, rows, wanted",
    [
        (lambda d, i: op.take(d, i, 0), [0, 3, -1, -4], [0, 3, 3, 0]),
        (lambda d, i: op.take(d, i, 1), [[0, 2], [-1, -3]], [[0, 2], [2, 0]]),
        (lambda d, i: op.gather_elements(d, i, 0), [[0, 0, 1], [-1, -4, -3]],
         [[0, 0, 1], [3, 0, 1]]),
        (lambda d, i: op.gather_nd(d, i), [[0, 0], [3, 2], [-1, -1], [-4, -3]],
         [[0, 0], [3, 2], [3, 2], [0, 0]]),
        (lambda d, i: op.gather_nd(d, i), [[-2], [0]], [[2], [0]]),
    ],
    ids=["rows", "columns", "elements", "places", "blocks"],
)  # fmt: skip
def test_constants_are_counted_from_the_front(
    take: Callable[..., relax.Expr], rows: list, wanted: list
) -> None:
    table = relax.TensorType((4, 3), "float32")
    mod = module(lambda x: take(x, relax.const(np.array(rows), "int64")), table)
    found = map(constant, expressions(with_checked_indices(mod, "main")))
    assert any(np.array_equal(each, wanted) for each in found if each is not None)
