"""PNG pictures, smaller without losing a pixel: what draws our charts hardly compresses them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

__all__ = ["recompressed"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def recompressed(raw: bytes) -> bytes:
    """Return a PNG with the same pixels and headers, its data compressed as far as zlib goes.

    A picture that is no PNG, or that would not shrink, comes back as it is.
    """
    if not raw.startswith(_SIGNATURE):
        return raw
    try:
        chunks = list(_chunks(raw))
        pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    except (struct.error, zlib.error):
        return raw
    packed, written = [_SIGNATURE], False
    for kind, data in chunks:
        if kind == b"IDAT":
            if not written:
                packed.append(_chunk(kind, zlib.compress(pixels, 9)))
            written = True
        else:
            packed.append(_chunk(kind, data))
    small = b"".join(packed)
    return small if len(small) < len(raw) else raw


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_SIGNATURE)
    while place < len(raw):
        length, kind = struct.unpack_from(">I4s", raw, place)
        yield kind, raw[place + 8 : place + 8 + length]
        place += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
