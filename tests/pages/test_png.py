from __future__ import annotations

import struct
import zlib

from evalkit.pages.png import recompressed


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(level: int, parts: int = 3) -> bytes:
    # 64 x 64 white pixels: 64 rows of a filter byte and 64 * 4 bytes
    data = zlib.compress((b"\x00" + b"\xff" * 256) * 64, level)
    size = -(-len(data) // parts)
    cut = [data[i : i + size] for i in range(0, len(data), size)]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 6, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunk(b"IDAT", part) for part in cut) + chunk(b"IEND", b"")


def test_a_picture_shrinks_and_keeps_its_pixels_and_headers():
    raw = picture(level=0)
    small = recompressed(raw)
    assert len(small) < len(raw) / 50
    assert small == picture(level=9, parts=1)


def test_a_picture_that_would_not_shrink_stays():
    small = picture(level=9, parts=1)
    assert recompressed(small) == small


def test_what_is_no_whole_picture_stays():
    assert recompressed(b"GIF89a") == b"GIF89a"
    broken = picture(level=0)[:-200]
    assert recompressed(broken) == broken
