# SPDX-License-Identifier: Apache-2.0
"""Messages of protocol buffers, written field by field: https://protobuf.dev/programming-guides/encoding. stacks.py reads."""


def varint(value):
    out, value = bytearray(), value & (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    """0 is left out."""
    return varint(field << 3) + varint(value) if value else b""


def numbers(*values):
    """Fields 1, 2, 3, .."""
    return b"".join(number(i, value) for i, value in enumerate(values, 1))


def data(field, payload):
    """Bytes, text or a message, with its length."""
    payload = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def packed(field, values):
    return data(field, b"".join(map(varint, values))) if values else b""
