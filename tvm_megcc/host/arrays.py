"""Arrays for a model's inputs and from its outputs: ``.npz`` files, checks, fills.

Enters: ports and files. Leaves: ``{name: array}`` that fits the ports.

Example
-------
>>> fill([Port("x", "f32", (2,))], "ones")["x"].tolist()
[1.0, 1.0]
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from tvm_megcc.core.dtypes import numpy_dtype, of, of_numpy
from tvm_megcc.dims import factor_of
from tvm_megcc.errors import InputError
from tvm_megcc.host import files
from tvm_megcc.host.package import Port, fits

Arrays = dict[str, np.ndarray]

#: Types of arrays that a port of quantised integers takes as numbers.
FLOATS = ("f32", "f64", "f16", "bf16")

FILL_MODES = ("random", "zeros", "ones")


def read_npz(path: Path) -> Arrays:
    """All arrays of a ``.npz`` file.

    Raises InputError if it does not exist, is of another kind, is damaged, or holds Python objects.
    """
    with _npz(path) as npz:
        return {name: npz[name] for name in npz.files}


@contextmanager
def _npz(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    try:
        npz = np.load(path, allow_pickle=False)
        if not isinstance(npz, np.lib.npyio.NpzFile):
            raise InputError(f"'{path}' is a single array; save it with numpy.savez, by name")
        with npz:
            yield npz
    except FileNotFoundError:
        raise InputError(f"'{path}': no such file; make it with numpy.savez") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"'{path}' is not a .npz of plain arrays ({_what_it_is(path, error)}); write one with"
            " numpy.savez, an array for each input by name"
        ) from error


#: The first bytes of files that people give for arrays, and what such a file is.
_SIGNS = (
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"RIFF", "a WAV, AVI or WebP file"),
    (b"%PDF", "a PDF"),
    (b"\x80", "a pickle of Python objects"),
)


def _what_it_is(path: Path, error: Exception) -> str:
    """The kind of a file that is no ``.npz``, by its first bytes, else numpy's message."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as unread:
        return unread.strerror or str(unread)
    found = next((what for sign, what in _SIGNS if head.startswith(sign)), None)
    if found is None and "pickle" in str(error):
        # numpy takes whatever it does not know for a pickle, and advises to load it unsafely.
        found = (
            "its arrays are Python objects" if head.startswith(b"PK") else "another kind of file"
        )
    return found or " ".join(str(error).split())[:120]


def names_of_npz(path: Path) -> tuple[str, ...]:
    """The arrays' names, read without the arrays; raises as `read_npz`."""
    with _npz(path) as npz:
        return tuple(npz.files)


def write_npz(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Write a ``.npz``; equal arrays give equal bytes, and the names may be any."""
    files.write_file(npz_bytes(arrays), path)


def npz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of such a file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _plain(array), allow_pickle=False)
    return buffer.getvalue()


def _plain(array: np.ndarray) -> np.ndarray:
    """An array that ``.npy`` can hold: of a type of ml_dtypes its bytes, which `check` accepts."""
    array = np.asanyarray(array)
    row = of_numpy(array.dtype.name)
    mute = row is not None and not row.is_numpys_own
    return array.view(np.dtype(f"V{array.dtype.itemsize}")) if mute else array


def check(ports: Sequence[Port], arrays: Mapping[str, np.ndarray], source: str) -> Arrays:
    """The arrays in the ports' order, dense.

    Raises InputError for a missing or extra name, a wrong shape or dtype. Whether it accepts the
    sizes of its dynamic dims, the model itself says when it runs.
    """
    names = [port.name for port in ports]
    for name in names:
        if name not in arrays:
            raise InputError(f"{source}: no array '{name}'; the inputs are {_quote(names)}")
    for name in arrays:
        if name not in names:
            raise InputError(f"{source}: '{name}' is no input; they are {_quote(names)}")
    return {port.name: _fitting(port, arrays[port.name], source) for port in ports}


def _fitting(port: Port, array: np.ndarray, source: str) -> np.ndarray:
    wanted = numpy_dtype(port.dtype)
    given = of_numpy(array.dtype.name)
    if port.quantisation is not None and given is not None and given.name in FLOATS:
        array = quantised(port, array)
    if not fits(array.shape, port.shape):
        raise InputError(
            f"{source}: '{port.name}' has shape {list(array.shape)}, the model takes"
            f" {list(port.shape)}; {_remedy(port, array.shape)}"
        )
    # Of a type of ml_dtypes a file has the bytes, but not the name.
    if not of(port.dtype).is_numpys_own and array.dtype == np.dtype(f"V{wanted.itemsize}"):
        array = array.view(wanted)
    if array.dtype != wanted:
        raise InputError(
            f"{source}: '{port.name}' has dtype {array.dtype}, the model takes {wanted};"
            f" convert it with astype('{wanted}')"
        )
    array = np.asarray(array, dtype=wanted.newbyteorder("="), order="C")
    return array if port.shape else array.reshape(())


def quantised(port: Port, numbers: np.ndarray) -> np.ndarray:
    """The integers of a port that stand for these numbers, the nearest ones, as ONNX rounds."""
    assert port.quantisation is not None
    dtype = numpy_dtype(port.dtype)
    limits = np.iinfo(dtype)
    steps = np.rint(numbers.astype(np.float32) / np.float32(port.quantisation.scale))
    moved = np.clip(steps + port.quantisation.zero_point, limits.min, limits.max)
    integers: np.ndarray = moved.astype(dtype)
    return integers


def dequantised(port: Port, integers: np.ndarray) -> np.ndarray:
    """The numbers, f32, that the integers of a port stand for."""
    assert port.quantisation is not None
    steps = integers.astype(np.int32) - port.quantisation.zero_point
    numbers: np.ndarray = steps.astype(np.float32) * np.float32(port.quantisation.scale)
    return numbers


#: Orders of an image's axes that people give in place of each other: name, axes to transpose by.
_ORDERS = {
    3: (("channels last", (2, 0, 1)), ("channels first", (1, 2, 0))),
    4: (("channels last", (0, 3, 1, 2)), ("channels first", (0, 2, 3, 1))),
    5: (("channels last", (0, 4, 1, 2, 3)), ("channels first", (0, 2, 3, 4, 1))),
}


def _remedy(port: Port, shape: Sequence[int]) -> str:
    """Advice on an array whose shape does not fit its port."""
    for name, axes in _ORDERS.get(len(shape), ()):
        if fits([shape[axis] for axis in axes], port.shape):
            return f"the array is {name}: transpose it with transpose{axes}"
    if len(shape) + 1 == len(port.shape) and fits((1, *shape), port.shape):
        return "the array has no batch axis: add one with array[None]"
    if len(shape) != len(port.shape):
        return "reshape the array"
    return "change the array, or compile the model with --input-shapes if it leaves that dim open"


def sized(ports: Sequence[Port], shapes: Mapping[str, Sequence[object]] | None) -> tuple[Port, ...]:
    """The ports with sizes for their dynamic dims, taken from these shapes.

    Dims of one name have one size: it need be given for one input only. Raises InputError for a
    shape that does not fit its input, and for a dim without a size.
    """
    given = dict(shapes or {})
    for name in given:
        if name not in [port.name for port in ports]:
            raise InputError(f"'{name}' is no input; they are {_quote([p.name for p in ports])}")
    sizes: dict[str, int] = {}
    for port in ports:
        shape = given.get(port.name)
        if shape is None:
            continue
        found = [d for d in shape if isinstance(d, int) and d >= 0]
        if len(found) < len(shape) or not fits(found, port.shape):
            raise InputError(
                f"'{port.name}' cannot have shape {list(shape)}, the model takes"
                f" {list(port.shape)}; give it sizes that fit"
            )
        for axis, (dim, size) in enumerate(zip(port.shape, found, strict=False)):
            if isinstance(dim, int):
                continue
            factor, symbol = factor_of(dim)
            if size % factor:
                raise InputError(
                    f"'{port.name}': dim {axis} is {size}, which is no multiple of {factor};"
                    f" give {size - size % factor} or {size - size % factor + factor}"
                )
            known = sizes.setdefault(symbol, size // factor) * factor
            if known != size:
                raise InputError(
                    f"'{port.name}': dim '{dim}' is {known} elsewhere, not {size}; give one size,"
                    f" or compile with --distinct-dims '{symbol}' if the name says nothing"
                )

    def number(dim: str) -> int | None:
        factor, symbol = factor_of(dim)
        return factor * sizes[symbol] if symbol in sizes else None

    for port in ports:
        missing = [d for d in port.shape if isinstance(d, str) and number(d) is None]
        if missing:
            raise InputError(
                f"input '{port.name}' is {list(port.shape)} and '{missing[0]}' has no size;"
                f' give one with --shapes "{port.name}:[...]", or arrays with --inputs'
            )
    return tuple(
        replace(p, shape=tuple(number(d) or 0 if isinstance(d, str) else d for d in p.shape))
        for p in ports
    )


def fill(ports: Sequence[Port], mode: str, seed: int = 0) -> Arrays:
    """Inputs made up, for ports with fixed shapes: zeros, ones, or seeded random numbers.

    Random floats are uniform in [-1, 1), and so are the numbers that quantised integers stand for;
    other integers are 0 or 1, which are good for any mask, index or length.
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for port in ports:
        dtype = numpy_dtype(port.dtype)
        shape = [d for d in port.shape if isinstance(d, int)]
        assert len(shape) == len(port.shape), f"'{port.name}' has no sizes yet"
        if port.quantisation is not None:
            number = (
                rng.uniform(-1, 1, shape) if mode == "random" else np.full(shape, mode == "ones")
            )
            arrays[port.name] = quantised(port, np.asarray(number))
        elif mode == "random" and port.dtype in FLOATS:
            arrays[port.name] = np.asarray(rng.uniform(-1, 1, shape)).astype(dtype)
        elif mode == "random":
            arrays[port.name] = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
        else:
            arrays[port.name] = np.full(shape, mode == "ones", dtype)
    return arrays


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
