"""What Apache compresses."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.apache.folder import folder_of
from httpdyno.advice.rules.compressed_type import is_compressed
from httpdyno.advice.rules.declaration import HTTPD, Rule, Seen
from httpdyno.advice.rules.facts import Facts, where, words
from httpdyno.model import Reading

FILTER = re.compile(r"(?:.*;)?(deflate|brotli_compress)(?:;.*)?", re.IGNORECASE)
"""An argument that names a compressing filter."""


def _packed(facts: Facts) -> Iterator[Seen]:
    found = []
    for reading in facts.said("AddOutputFilterByType"):
        given = words(reading.text)
        if given and FILTER.fullmatch(given[0]):
            found += [(kind, reading) for kind in given[1:] if is_compressed(kind)]
    if found:
        kinds = ", ".join(dict.fromkeys(kind for kind, _ in found))
        yield Seen(
            what=f"compressed again, though they are compressed: {kinds}",
            evidence=tuple(where(reading) for _, reading in found),
        )


def _everything(facts: Facts) -> Iterator[Seen]:
    found = [
        reading
        for reading in facts.said("SetOutputFilter")
        # What lies at one address may be all text.
        if (" " not in reading.scope or folder_of(reading.scope))
        and FILTER.fullmatch(reading.text.strip('"'))
    ]
    if not found or any(_is_guard(each) for each in _guards(facts)):
        return
    yield Seen(
        what="all answers are compressed, images and archives too: nothing excepts them",
        evidence=tuple(map(where, found)),
    )


def _guards(facts: Facts) -> list[Reading]:
    names = ("SetEnvIf", "SetEnvIfNoCase", "SetEnv", "SetEnvIfExpr", "RewriteRule")
    return [reading for name in names for reading in facts.said(name)]


def _is_guard(reading: Reading) -> bool:
    return re.search(r"\bno-(gzip|brotli)\b", reading.text) is not None


def _forced(facts: Facts) -> Iterator[Seen]:
    is_on = any(
        FILTER.fullmatch((words(reading.text) or [""])[0])
        for name in ("AddOutputFilterByType", "SetOutputFilter", "AddOutputFilter")
        for reading in facts.said(name)
    )
    found = [
        reading
        for name in ("SetEnv", "SetEnvIf", "SetEnvIfNoCase")
        for reading in facts.said(name)
        if re.search(r"\bforce-gzip\b", reading.text)
    ]
    if is_on and found:
        yield Seen(
            what="`force-gzip` is set: answers are compressed whatever a client takes",
            evidence=tuple(map(where, found)),
        )


RULES = (
    Rule(
        name="compressed-twice",
        kinds=("apache",),
        severity="doubtful",
        checks="Types that are compressed in themselves among those that are compressed",
        matters="It takes CPU for each answer and saves nothing; and what goes through a filter "
        "cannot be sent by `sendfile`.",
        needs="`AddOutputFilterByType` with such a type.",
        do="compress text, scripts, style sheets, SVG and JSON only",
        risks="none for images and archives",
        wrong="the files under that type are not compressed in truth",
        source=f"{HTTPD}mod/mod_deflate.html#recommended",
        look=_packed,
    ),
    Rule(
        name="compressed-everything",
        kinds=("apache",),
        severity="doubtful",
        checks="`SetOutputFilter DEFLATE` with nothing that excepts images",
        matters="It takes CPU for each answer, also where it saves nothing.",
        needs="The filter is set for a server, a host or a folder, and no `SetEnv…` with `no-gzip` "
        "stands anywhere.",
        do="name the types with `AddOutputFilterByType`, or except images by `SetEnvIfNoCase "
        "Request_URI … no-gzip`",
        risks="a type that is left out is sent as it is",
        wrong="only text lies where the filter is set",
        source=f"{HTTPD}mod/mod_deflate.html#recommended",
        look=_everything,
    ),
    Rule(
        name="forced-compression",
        kinds=("apache",),
        severity="doubtful",
        checks="`force-gzip` where answers are compressed",
        matters="mod_deflate then does not look at what a client takes: those who cannot read it "
        "get compressed answers all the same.",
        needs="A compressing filter, and a `SetEnv…` with `force-gzip`.",
        do="take `force-gzip` out",
        risks="clients that take compression and do not say so get more bytes",
        wrong="only clients that you know come here",
        source=f"{HTTPD}mod/mod_deflate.html",
        look=_forced,
    ),
)
