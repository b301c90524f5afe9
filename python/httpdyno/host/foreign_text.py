"""Text that others made and that is to be shown.

Everything foreign that is printed or written goes through `visible`: what a server, a log or a
study says must not move the cursor, change colours or turn the order of words round.
"""

import re

SCHEME = "[A-Za-z][A-Za-z0-9+.-]*://"
"""What a whole URL begins with, as a pattern (RFC 3986, section 3.1). Paths and queries may hold
`://` further on."""
_WHOLE_URL = re.compile(SCHEME)

# C0 without tab and line feed, DEL and C1; what turns the direction of text (Unicode Standard
# Annex 9, section 2); two line breaks that only some see; halves of characters, which are bytes
# of a name that is not UTF-8 and cannot be written.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BYTES = range(0x80, 0x100)
_TO_KEPT = {0xDC00 + byte: 0xF700 + byte for byte in _BYTES}
_FROM_KEPT = {kept: escaped for escaped, kept in _TO_KEPT.items()}
_KEPT = re.compile("[\uf780-\uf7ff]")


def is_whole_url(text: str) -> bool:
    """Whether a text begins with a scheme, as against a path or `host:port`."""
    return _WHOLE_URL.match(text) is not None


def visible(text: str) -> str:
    r"""Return the text with all that would steer a terminal or the reading order written out.

    As `\u001b`, which JSON and JavaScript read as the same character; so JSON text may go
    through here too, and means what it meant.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def kept_text(data: bytes) -> str:
    """Return bytes as text of which `kept_bytes` makes the same bytes again, whatever they are.

    A byte that is no part of UTF-8 becomes a character for private use: JSON, databases and files
    take these, and none of them takes the lone surrogates that Python has for it.
    """
    text = data.decode(errors="surrogateescape")
    if _KEPT.search(text):  # theirs, and so to be told from ours
        text = _KEPT.sub(lambda found: found[0].encode().decode("ascii", "surrogateescape"), text)
    return text.translate(_TO_KEPT)


def kept_bytes(text: str) -> bytes:
    """Return the bytes that `kept_text` made this text of."""
    return text.translate(_FROM_KEPT).encode(errors="surrogateescape")


def readable(text: str) -> str:
    """Return such a text for people, with one sign for each byte that is no character."""
    return _KEPT.sub("\N{REPLACEMENT CHARACTER}", text)


def reason(error: OSError) -> str:
    """Return why something failed, as it stands in a sentence: `no such file or directory`."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
