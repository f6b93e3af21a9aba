"""A library that TVM's RPC server of another process has loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from tvm import rpc

from tests.cli import tiny
from tvm_megcc import relay
from tvm_megcc.errors import UnsupportedError

pytestmark = pytest.mark.network

SERVER = Path(__file__).with_name("rpc_server.py")


@pytest.fixture
def remote() -> Iterator[rpc.RPCSession]:
    with subprocess.Popen(
        [sys.executable, SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        try:
            yield rpc.connect("127.0.0.1", int(server.stdout.readline()), session_timeout=60)
        finally:
            server.stdin.close()


def test_library_over_rpc(remote: rpc.RPCSession, model: onnx.ModelProto, tmp_path: Path) -> None:
    mod, params = relay.frontend.from_onnx(model)
    relay.build(mod, params=params).export_library(tmp_path / "model.so")
    remote.upload(str(tmp_path / "model.so"))
    m = relay.GraphModule(remote.load_module("model.so")["default"](remote.cpu()))
    inputs, expected = tiny.example()
    x = inputs["x:0"]
    there = tvm.runtime.tensor(x, remote.cpu())
    for value in (x, x.tolist(), tvm.runtime.tensor(x), there):
        m.set_input("x:0", np.zeros_like(x))
        m.set_input("x:0", value)
        np.testing.assert_array_equal(m.get_input(0).numpy(), x)
    m.run()
    for k, each in enumerate(expected.values()):
        np.testing.assert_allclose(m.get_output(k).numpy(), each, rtol=1e-6)
    assert m.get_input_names() == ["x:0"] and m.get_input_shape(0) == (2, 3)
    assert m.benchmark(repeat=2, number=1, end_to_end=True).min > 0
    with pytest.raises(UnsupportedError, match="RPC"):
        m.profile()
    with pytest.raises(Exception, match="no input called 'nope'"):
        m.set_input("nope", x)
