"""Protobuf's wire format, written and read here without Cairn, for the programs of the tests."""
import struct


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def take(data, at):
    """The varint at AT, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def signed(value):
    return value - (value >> 63 << 64)


def fields(data):
    """[(number, value)] of a message: integers and bytes."""
    at, out = 0, []
    while at < len(data):
        tag, at = take(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = take(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = take(data, at)
            assert at + size <= len(data), "a field beyond its message"
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f"wire type {kind}")
        out.append((tag >> 3, value))
    return out


def packed(data):
    """The numbers of a repeated field, in one piece or alone."""
    if isinstance(data, int):
        return [data]
    at, out = 0, []
    while at < len(data):
        value, at = take(data, at)
        out.append(value)
    return out
