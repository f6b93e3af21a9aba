"""Fields of protobuf messages, by their bytes, and bytes that are no message."""

from __future__ import annotations

import pytest

from tvm_megcc.core.wire import DamagedError, Field, fields, message, varint

TEXT = Field(2, 2, 0, 2, 4)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 150, 16383, 16384, 2**32, 2**63, 2**64 - 1])
def test_numbers_come_back(number: int) -> None:
    data = varint(number)
    assert len(data) == max(1, -(-number.bit_length() // 7))
    (field,) = fields(b"\x08" + data)
    assert field == Field(1, number, 0, 1, 1 + len(data))


@pytest.mark.parametrize(
    "data, wanted, has_bytes",
    [
        (b"\x08\x00", Field(1, 0, 0, 1, 2), False),
        (b"\x12\x02hi", TEXT, True),
        (b"\x12\x00", Field(2, 0, 0, 2, 2), True),
        (b"\x11" + bytes(8), Field(2, 8, 0, 1, 9), True),
        (b"\x15" + bytes(4), Field(2, 4, 0, 1, 5), True),
        (message(16, b"x" * 200), Field(16, 200, 0, 4, 204), True),
    ],
)
def test_kinds(data: bytes, wanted: Field, has_bytes: bool) -> None:
    for given in (data, memoryview(data)):
        (field,) = fields(given)
        assert field == wanted and field.has_bytes == has_bytes


def test_several_fields_and_a_part() -> None:
    data = b"\x08\x05" + message(2, b"hi") + b"\x18\x07"
    assert [(f.number, f.value) for f in fields(data)] == [(1, 5), (2, 2), (3, 7)]
    assert list(fields(data[2:])) == [TEXT, Field(3, 7, 4, 5, 6)]
    assert list(fields(data, 2, 6)) == [Field(2, 2, 2, 4, 6)]
    assert list(fields(b"")) == list(fields(data, 8)) == []


@pytest.mark.parametrize(
    "data",
    [
        b"\x08",  # no value
        b"\x08\x80",  # half a number
        b"\x08" + b"\x80" * 10 + b"\x01",  # one that is too long
        b"\x00\x01",  # field 0
        b"\x12\x03hi",  # text that is cut
        b"\x12",
        b"\x11" + bytes(7),
        b"\x15" + bytes(3),
        b"\x0b",  # groups and kinds that there are not
        b"\x0c\x00\x00",
        b"\x0e\x00",
        b"\x0f\x00",
    ],
)
def test_damaged(data: bytes) -> None:
    with pytest.raises(DamagedError):
        list(fields(data))
