"""`Any`, Relay's word for a dim that is not known before the model runs."""

from __future__ import annotations

from collections.abc import Iterable


class Any:
    """A dim of unknown size. Each instance is a dim of its own, as in Relay.

    Where the model names the dim, the name stays: two inputs whose dims have one name in the model
    keep sharing one symbolic dim.
    """

    def __repr__(self) -> str:
        return "relay.Any()"


def to_frontend(shape: Iterable[object]) -> tuple[int | str | None, ...]:
    """A Relay shape as `tvm_megcc.frontend.from_onnx` reads it: ints, names, None for `Any`."""
    dims: list[int | str | None] = []
    for dim in shape:
        if dim is None or isinstance(dim, Any) or dim is Any:
            dims.append(None)
        elif isinstance(dim, str):
            dims.append(dim)
        else:
            dims.append(int(dim))  # type: ignore[call-overload]
    return tuple(dims)
