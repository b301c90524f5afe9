"""HdrHistograms: distributions in the layout and encoding that its readers know.

Source:
    HdrHistogram (Java) 2.2, `AbstractHistogram.encodeIntoCompressedByteBuffer` (V2) and
    `ZigZagEncoding`; Rust's hdrhistogram 7.5, `V2DeflateSerializer`.
"""

import struct
import zlib
from base64 import b64encode

from httpdyno.model import HistogramData

_V2_COOKIE = 0x1C849303 | 0x10
_V2_COMPRESSED_COOKIE = 0x1C849304 | 0x10
"""The bits below stand for a word size, which V2 does not use."""
_HIGHEST_NS = 3_600_000_000_000
"""As the engine records: an hour."""
_LEB_BYTES = 9
_WORD_MASK = (1 << 64) - 1


def encoded(data: HistogramData, *, digits: int) -> str:
    """Return a distribution as base64 of its compressed V2 encoding, in nanoseconds.

    Args:
        data: The distribution.
        digits: The significant decimal digits that it was recorded with.
    """
    counts = _counts(data, digits)
    payload = b"".join(_zigzag(n) for n in _runs(counts))
    body = struct.pack(">iiiiqqd", _V2_COOKIE, len(payload), 0, digits, 1, _HIGHEST_NS, 1.0)
    compressed = zlib.compress(body + payload, 9)
    header = struct.pack(">ii", _V2_COMPRESSED_COOKIE, len(compressed))
    return b64encode(header + compressed).decode()


def sub_buckets(digits: int) -> int:
    """Return in how many steps the layout divides each doubling and all below the first."""
    return int(2 ** (2 * 10**digits - 1).bit_length())


def index_of(value_ns: int, digits: int) -> int:
    """Return the index in the layout's array of counts."""
    size = sub_buckets(digits)
    magnitude = size.bit_length() - 1
    bucket = (value_ns | (size - 1)).bit_length() - magnitude
    return ((bucket + 1) << (magnitude - 1)) + (value_ns >> bucket) - size // 2


def n_buckets(digits: int) -> int:
    """Return how many doublings the layout has up to its highest value."""
    return (_HIGHEST_NS // sub_buckets(digits)).bit_length() + 1


def _counts(data: HistogramData, digits: int) -> list[int]:
    if not data.counts:
        return []
    counts = [0] * (index_of(min(data.bounds_ns[-1], _HIGHEST_NS), digits) + 1)
    for bound_ns, n in zip(data.bounds_ns, data.counts, strict=True):
        counts[index_of(min(bound_ns, _HIGHEST_NS), digits)] += n
    return counts


def _runs(counts: list[int]) -> list[int]:
    """Return the counts, a run of two or more zeros as its negative length."""
    runs: list[int] = []
    n_zeros = 0
    for n in [*counts, -1]:
        if n == 0:
            n_zeros += 1
            continue
        if n_zeros:
            runs.append(0 if n_zeros == 1 else -n_zeros)
        n_zeros = 0
        runs.append(n)
    return runs[:-1]


def _zigzag(value: int) -> bytes:
    """Return a signed number in LEB128; a ninth byte is the last and holds eight bits."""
    left = ((value << 1) ^ (value >> 63)) & _WORD_MASK
    encoded_bytes = bytearray()
    while left >= 1 << 7 and len(encoded_bytes) < _LEB_BYTES - 1:
        encoded_bytes.append(left & 0x7F | 0x80)
        left >>= 7
    encoded_bytes.append(left)
    return bytes(encoded_bytes)
