"""Why requests failed, in a sentence with the way out: the engine has a word for each reason."""

from httpdyno.model import Measurement

_TRUST = "`--cacert FILE` trusts it, `--insecure` takes any"
_HTTP2 = "it speaks HTTP/2 only; load a port where it speaks HTTP/1.1"

_TLS = {
    "unknown_issuer": f"nobody trusted here has signed the server's certificate; {_TRUST}",
    "expired": "the server's certificate has expired; `--insecure` takes it",
    "not_yet": "the server's certificate is not valid yet; `--insecure` takes it",
    "other_name": "the server's certificate is for {}; `--sni NAME` asks for that name, "
    "`--insecure` takes any",
    "wants_identity": "the server wants a certificate; `--cert FILE --key FILE` shows one",
    "refused_identity": "the server does not take this client's certificate; "
    "`--cert FILE --key FILE` shows another",
    "unknown_name": "the server has no such name; `--sni NAME` gives another",
    "version": "client and server have no version of TLS in common; httpdyno speaks 1.2 and 1.3",
    "http2": _HTTP2,
    "no_tls": "the server does not speak TLS; load it with `http://`",
    "alert": "the server ended it with {}; perhaps it wants a certificate (`--cert FILE`) or "
    "another name (`--sni NAME`)",
    "other": "{}",
}
_NO_HTTP = {
    "http2": _HTTP2,
    "tls": "it speaks TLS; load it with `https://`",
    "start": "it began with `{}`",
    "long": "its head is longer than 300 KiB",
    "header": "a line of its head is no header",
    "chunk": "its chunks are broken",
    "cut_off": "its head was cut off by the end of the connection",
    "switched": "it switched to another protocol",
}
_LENGTH = {
    "length": "the first had {}",
    "coding": "of what is coded otherwise than by gzip, the decoded length is not known; "
    "`-H 'Accept-Encoding: gzip'` asks for that",
}
_WORDS = {
    "tls": _TLS,
    "bad_response": _NO_HTTP,
    "wrong_length": _LENGTH,
    "connect": {"system": "{}"},
}


def reason_text(kind: str, measurement: Measurement) -> str:
    """Return why the first request of a kind of error failed; empty where no more is known."""
    word, detail = measurement.reasons.get(kind, ("", ""))
    sentence = _WORDS.get(kind, {}).get(word, "")
    if "{}" not in sentence:
        return sentence
    return sentence.format(detail) if detail else _without_detail(kind, word)


def _without_detail(kind: str, word: str) -> str:
    if (kind, word) == ("tls", "other_name"):
        return _TLS["other_name"].format("another name")
    return ""
