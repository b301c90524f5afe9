"""Codings of a body undone: gzip and deflate, and brotli where a decoder is here."""

import ctypes
import zlib
from functools import cache

MOST_BYTES = 16 << 20
"""Of a decoded body; a few bytes may decode to any number."""

_BROTLI = "libbrotlidec.so.1"
_BROTLI_SUCCESS = 1
_GZIP = 16 + zlib.MAX_WBITS
_EITHER_ZLIB = 32 + zlib.MAX_WBITS
_NONE = ("", "identity")


def accepted() -> str:
    """Return the `Accept-Encoding` of a browser, as far as its codings can be undone here."""
    return "gzip, deflate, br" if _brotli() else "gzip, deflate"


class UndecodableError(ValueError):
    """A body is not what its coding says; lower case, no full stop."""


class UnknownCodingError(ValueError):
    """Nothing here undoes the coding."""


def decoded(body: bytes, coding: str) -> bytes:
    """Return a body with its codings undone, the last one first (RFC 9110 section 8.4).

    Args:
        body: As it came, out of its chunks.
        coding: The `Content-Encoding`; empty is none.

    Raises:
        UndecodableError: It is broken, cut short or too large.
        UnknownCodingError: Nothing here undoes it.
    """
    if not body:
        return body  # as of a redirect, which may name the coding that it would have
    for name in reversed([part.strip().lower() for part in coding.split(",")]):
        if name in {"gzip", "x-gzip"}:
            body = _inflated(body, _GZIP, name)
        elif name == "deflate":
            body = _deflated(body)
        elif name == "br":
            body = _unbrotlied(body)
        elif name not in _NONE:
            raise UnknownCodingError(name)
    return body


def _inflated(body: bytes, window_bits: int, name: str) -> bytes:
    whole = bytearray()
    rest = body
    while rest:  # A gzip body may be several members, one after the other.
        inflater = zlib.decompressobj(window_bits)
        try:
            whole += inflater.decompress(rest, MOST_BYTES + 1 - len(whole))
        except zlib.error as error:
            raise UndecodableError(f"its {name} is broken ({error})") from error
        if len(whole) > MOST_BYTES:
            raise UndecodableError(f"its {name} holds more than {MOST_BYTES:,} bytes")
        if not inflater.eof:
            raise UndecodableError(f"its {name} is cut short")
        rest = inflater.unused_data
    return bytes(whole)


def _deflated(body: bytes) -> bytes:
    """Return what a `deflate` body holds: with the head that it ought to have, or without."""
    try:
        return _inflated(body, _EITHER_ZLIB, "deflate")
    except UndecodableError:
        return _inflated(body, -zlib.MAX_WBITS, "deflate")


def _unbrotlied(body: bytes) -> bytes:
    library = _brotli()
    if library is None:
        raise UnknownCodingError("br")
    n_bytes, room = len(body), max(1 << 16, 8 * len(body))
    while True:
        room = min(room, MOST_BYTES)
        target, size = ctypes.create_string_buffer(room), ctypes.c_size_t(room)
        outcome = library.BrotliDecoderDecompress(
            ctypes.c_size_t(n_bytes), body, ctypes.byref(size), target
        )
        if outcome == _BROTLI_SUCCESS:
            return target.raw[: size.value]
        if room >= MOST_BYTES:
            raise UndecodableError(f"its br is broken or holds more than {MOST_BYTES:,} bytes")
        room *= 16


@cache
def _brotli() -> ctypes.CDLL | None:
    """Return the decoder's library, of which a server that codes brotli mostly has the other half.

    Source:
        `BrotliDecoderDecompress` in brotli/decode.h: 1 is success.
    """
    try:
        return ctypes.CDLL(_BROTLI)
    except OSError:
        return None
