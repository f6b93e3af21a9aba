"""PyTorch programs. torch is too large for CI: what needs it runs where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.closeness import assert_close
from tvm_megcc import driver, execute
from tvm_megcc.errors import InputError, ToolError, UnsupportedError
from tvm_megcc.importers import import_model


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.pt2"
    path.write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ToolError, match="pip install torch"):
        import_model(path)
    with pytest.raises(InputError, match="no such file"):
        import_model(tmp_path / "none.pt2")


def _exported(path: Path, dynamic: bool) -> object:
    """A program of two inputs and two outputs, and the module that it is of."""
    torch = pytest.importorskip("torch", reason="no torch: pip install torch")

    class Net(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.norm = torch.nn.BatchNorm2d(8)
            self.dense = torch.nn.Linear(8, 5)

        def forward(self, image: object, scale: object) -> tuple[object, object]:
            features = torch.relu(self.norm(self.conv(image))).mean((2, 3))
            return torch.softmax(self.dense(features) * scale, -1), features

    torch.manual_seed(0)
    net = Net().eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    shapes = {"image": {0: batch}, "scale": None} if dynamic else None
    example = (torch.randn(2, 3, 9, 9), torch.ones(1))
    torch.export.save(torch.export.export(net, example, dynamic_shapes=shapes), path)
    return net


@pytest.mark.parametrize("dynamic", [False, True])
def test_program_gives_what_torch_gives(tmp_path: Path, dynamic: bool) -> None:
    net = _exported(tmp_path / "net.pt2", dynamic)
    import torch

    driver.compile_model(tmp_path / "net.pt2", tmp_path / "pkg")
    image, scale = torch.randn(5 if dynamic else 2, 3, 9, 9), torch.tensor([2.0])
    with execute.opened(str(tmp_path / "pkg")) as runnable:
        outputs = runnable.run({"image": image.numpy(), "scale": scale.numpy()}).outputs
    for got, want in zip(outputs.values(), net(image, scale), strict=True):  # type: ignore[operator]
        assert_close(got, np.asarray(want.detach()))


def test_dims_have_the_bounds_of_the_export(tmp_path: Path) -> None:
    _exported(tmp_path / "net.pt2", dynamic=True)
    image, scale = import_model(tmp_path / "net.pt2").inputs
    (symbol,) = image.symbols
    assert (image.shape[0], symbol.low, symbol.high) == (symbol.name, 1, 64)
    assert scale.shape == (1,)
    fixed = import_model(tmp_path / "net.pt2", {"image": (4, 3, 9, 9)})
    assert [p.shape for p in fixed.outputs] == [(4, 5), (4, 8)]


def test_programs_that_cannot_be_compiled(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="no torch: pip install torch")

    class Counting(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: object) -> object:
            self.count.add_(1)
            return x + self.count

    class NonZero(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: object) -> object:
            return torch.nonzero(x)

    for net, words in ((Counting(), "a run changes 'count'"), (NonZero(), "nonzero.default")):
        torch.export.save(torch.export.export(net, (torch.ones(3),)), tmp_path / "net.pt2")
        with pytest.raises(UnsupportedError, match=words):
            import_model(tmp_path / "net.pt2")


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch: pip install torch")
    path = tmp_path / "net.pt2"
    path.write_bytes(b"this is no archive")
    with pytest.raises(InputError, match="PyTorch cannot read it"):
        import_model(path)
