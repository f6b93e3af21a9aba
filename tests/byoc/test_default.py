"""``tvm.compile(mod, target="tvm_megcc")``, and the passes under their names."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

import pytest
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

import tvm_megcc
from tests.byoc.support import const, data, module, regions, run
from tests.closeness import assert_close
from tvm_megcc import zoo


def _dense(b, x):
    return b.emit(relax.op.nn.relu(b.emit(relax.op.matmul(x, const(4, 6)))))


@pytest.mark.slow
def test_our_target_takes_our_kernels():
    mod = module(_dense, 3, 4)
    x = data(3, 4)
    for target in ("tvm_megcc", tvm.target.Target("tvm_megcc")):
        executable = tvm.compile(mod, target)
        assert "main_megcc_0" in executable.as_text()
        vm = relax.VirtualMachine(executable, tvm.cpu())
        assert_close(vm["main"](tvm.runtime.tensor(x)).numpy(), run(mod, x)[0])


def test_relax_build_does_so_too():
    executable = relax.build(module(_dense, 3, 4), "tvm_megcc")
    assert "main_megcc_0" in executable.as_text()


def test_other_targets_have_tvms_pipeline():
    executable = tvm.compile(module(_dense, 3, 4), "llvm")
    assert "_megcc_" not in executable.as_text()


@pytest.mark.slow
def test_model_of_tvms_own_importer_is_one_region():
    mod = from_onnx(zoo.build("tiny_cnn"))
    image = data(1, 3, 32, 32)
    (want,) = run(mod, image)
    (got,) = run(mod, image, target="tvm_megcc")
    assert_close(got, want)
    assert list(regions(tvm_megcc.partition_for_megcc(mod))) == ["main_megcc_0"]


def test_what_is_left_is_llvms():
    def body(b, x):
        y = b.emit(relax.op.matmul(x, const(4, 4)))
        return b.emit(relax.op.sort(y, axis=1))

    mod = module(body, 3, 4)
    x = data(3, 4)
    assert_close(run(mod, x, target="tvm_megcc")[0], run(mod, x)[0])


def test_every_pass_has_the_name_that_tvm_prints():
    """Each pass that is registered as ``tvm_megcc.X`` is ``tvm_megcc.transform.X``."""
    from tvm_megcc import byoc, legalise, passes, tvm_memory

    found = set()
    for package in (passes, legalise, tvm_memory, byoc):
        for info in pkgutil.iter_modules(package.__path__):
            path = import_module(f"{package.__name__}.{info.name}").__file__
            pattern = r'^@\S*_pass\((?:opt_level=\d, name=)?"tvm_megcc\.(\w+)"'
            found |= set(re.findall(pattern, open(path).read(), re.M))
    found -= {"DefaultPipeline"}  # what stands in TVM's own place
    assert len(found) > 30
    missing = {name for name in found if not hasattr(tvm_megcc.transform, name)}
    assert not missing
    assert found <= set(tvm_megcc.transform.__all__)
