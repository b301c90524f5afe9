"""What an answer tells of how it came to be. Pure."""

import re
from email.utils import parsedate_to_datetime

_HEX = re.compile(r'(?:W/)?"([0-9a-f]+)-([0-9a-f]+)(?:-[a-z]+)?"')
"""nginx has it weak where it compresses, Apache's modules add the coding's name."""
_MICROSECONDS = 1_000_000


def is_from_file(etag: str, last_modified: str, n_bytes: int) -> bool | None:
    """Whether nginx or Apache answered from a file: the ETag is made of its time and length.

    What an application sends has another one or none, so a file that it sends is no such answer.
    None where that cannot be told: a file's time without an ETag, which can be switched off (`etag
    off`, `FileETag None`).

    Args:
        etag: As it came.
        last_modified: As it came.
        n_bytes: Of the body, decoded.

    Source:
        nginx: ngx_http_set_etag, `"%xT-%xO"`: seconds, then length. Apache 2.4: FileETag MTime
        Size, `"length-microseconds"` (httpd.apache.org/docs/2.4/mod/core.html#fileetag).
    """
    if last_modified and not etag:
        return None
    match = _HEX.fullmatch(etag)
    if match is None:
        return False
    try:
        changed_s = int(parsedate_to_datetime(last_modified).timestamp())
    except (TypeError, ValueError):
        return False
    first, second = int(match[1], 16), int(match[2], 16)
    return (first, second) == (changed_s, n_bytes) or (
        first == n_bytes and second // _MICROSECONDS == changed_s
    )
