"""Text that Apache sends as it is, and compressed files that it chooses by hand."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.apache.compression import FILTER
from httpdyno.advice.rules.apache.folder import roots
from httpdyno.advice.rules.apache.module import has_option, is_told_elsewhere
from httpdyno.advice.rules.declaration import BOOK, HTTPD, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, where, words
from httpdyno.model import Reading

_COMPRESSORS = ("deflate_module", "brotli_module")
_HTML = re.compile(r"text/(?:html|\*)|\*/\*|\*", re.IGNORECASE)
_BY_PROGRAM = re.compile(
    r"zlib\.output_compression|CompressGzip|Apache2?::(?:Gzip\w*|Compress\w*|Dynagzip)|\bgzip\b",
    re.IGNORECASE,
)
"""What programs inside Apache are told, and modules of Perl that compress."""
_PACKED_FILE = re.compile(r"\.(?:gz|br|zst)\b")
_ACCEPT = re.compile(r"%\{HTTP:Accept-Encoding\}", re.IGNORECASE)
_NAMES_IT = re.compile(r"accept-encoding|\*", re.IGNORECASE)
_ADDING = frozenset({"set", "add", "append", "merge", "setifempty"})
_TAKING = frozenset({"unset"})


def _plain(facts: Facts) -> Iterator[Seen]:
    if not facts.is_whole or is_told_elsewhere(facts):
        return
    served = roots(facts)
    if not served or _is_html_compressed(facts) or _is_by_program(facts) or _by_hand(facts):
        return
    loaded = [each for each in _COMPRESSORS if facts.has_module(each)]
    why = (
        f"{' and '.join(loaded)} loaded, and no filter of it is set for text/html"
        if loaded
        else "neither mod_deflate nor mod_brotli is loaded"
    )
    yield Seen(
        what="HTML is sent as it is: nothing compresses it",
        evidence=(why, *(where(each.reading) for each in served)),
    )


def _is_filtered(facts: Facts) -> bool:
    """Whether a filter compresses anything."""
    names = ("SetOutputFilter", "AddOutputFilter", "FilterProvider", "AddOutputFilterByType")
    return any(
        FILTER.fullmatch(word)
        for name in names
        for each in facts.said(name)
        for word in words(each.text)
    )


def _is_html_compressed(facts: Facts) -> bool:
    """Whether something compresses HTML anywhere; sections that are not followed count as well."""
    for name in ("SetOutputFilter", "AddOutputFilter", "FilterProvider", "FilterDeclare"):
        if any(FILTER.fullmatch(w) for each in facts.said(name) for w in words(each.text)):
            return True
    for reading in facts.said("AddOutputFilterByType"):
        given = words(reading.text)
        if given and FILTER.fullmatch(given[0]) and any(_HTML.fullmatch(k) for k in given[1:]):
            return True
    return False


def _is_by_program(facts: Facts) -> bool:
    """Whether a program inside may compress, which its own settings say."""
    return any(
        _BY_PROGRAM.search(f"{each.name} {each.text}")
        for each in facts.survey.readings
        if is_said(each) and each.name.lower().startswith(("perl", "php_"))
    )


def _by_hand(facts: Facts) -> list[Reading]:
    """Return what chooses compressed files, or calls answers compressed."""
    found = [each for each in facts.said("RewriteCond") if _ACCEPT.search(each.text)]
    found += [
        each
        for each in facts.said("RewriteRule")
        if _PACKED_FILE.search((words(each.text)[1:2] or [""])[0])
    ]
    found += [
        each for each in facts.said("Header") if _header(each)[1:] == ("set", "content-encoding")
    ]
    if has_option(facts, "multiviews"):
        found += [each for each in facts.said("AddEncoding") if "gzip" in each.text.lower()]
    return found


def _header(reading: Reading) -> tuple[str, str, str]:
    """Return condition, what is done, and the header's name, in small letters."""
    given = [word.lower() for word in words(reading.text)]
    condition = given.pop(0) if given[:1] in (["always"], ["onsuccess"]) else ""
    action, name, *_ = [*given, "", ""]
    return condition, action, name


def _unvaried(facts: Facts) -> Iterator[Seen]:
    if is_told_elsewhere(facts):
        return
    vary = [(each, _header(each)) for each in facts.said("Header")]
    taken = [each for each, (_, do, name) in vary if name == "vary" and do in _TAKING]
    taken += [each for each in facts.said("SetEnv") if words(each.text)[:1] == ["force-no-vary"]]
    added = [
        each
        for each, (_, do, name) in vary
        if name == "vary" and do in _ADDING and _NAMES_IT.search(each.text)
    ]
    chosen = [each for each in facts.said("RewriteCond") if _ACCEPT.search(each.text)]
    # A filter says it in each answer of its types, compressed or not.
    is_filtered = _is_filtered(facts)
    if taken and (chosen or is_filtered):
        yield Seen(
            what="answers are compressed, and `Vary` is taken out of them",
            evidence=tuple(map(where, taken)),
        )
    elif chosen and not added and not is_filtered:
        yield Seen(
            what="compressed files are chosen by hand, and nothing says `Vary: Accept-Encoding` to "
            "who takes no compression",
            evidence=tuple(map(where, chosen)),
        )


RULES = (
    Rule(
        name="uncompressed-text",
        kinds=("apache",),
        severity="hint",
        checks="No filter that compresses HTML",
        matters="Text, scripts, JSON and SVG shrink to a third to a tenth. Over a line as visitors "
        "have it that is most of the time of a page; under prefork a slow visitor holds a process "
        "for as long.",
        needs="A configuration that was read whole, without `.htaccess` files, with a folder that "
        "is served by a host that does not pass everything on; neither a filter of mod_deflate or "
        "mod_brotli for text/html, nor prepared files, nor a setting of PHP or Perl that "
        "compresses.",
        do="load `mod_deflate` and `mod_filter` and set `AddOutputFilterByType DEFLATE text/html "
        "text/css text/javascript application/javascript application/json image/svg+xml`",
        risks="CPU for each answer, a multiple of what sending a small file takes; and a secret in "
        "a compressed answer beside what a visitor's request put there can be guessed over TLS "
        "(BREACH)",
        wrong="a proxy or a content delivery network in front compresses, or the application does; "
        "clients are in the same network; only images, archives and video are served; or answers "
        "with secrets repeat what was sent (BREACH)",
        source=f"{BOOK}; {HTTPD}mod/mod_deflate.html#enable; breachattack.com",
        look=_plain,
    ),
    Rule(
        name="no-vary",
        kinds=("apache",),
        severity="doubtful",
        checks="Compression by hand without `Vary: Accept-Encoding`, or `Vary` taken out of "
        "compressed answers",
        matters="A cache between may give a compressed answer to whoever cannot read it, or the "
        "large one to all. mod_deflate and mod_brotli say `Vary` themselves; mod_rewrite says it "
        "where its condition holds, and not in the answer to whoever takes no compression.",
        needs="`RewriteCond` on `Accept-Encoding`, no filter that compresses and no `Header` for "
        "`Vary` anywhere; or `Header unset Vary` or `SetEnv force-no-vary` where something is "
        "compressed. No `.htaccess` files are allowed.",
        do="say it in all answers of these addresses: `Header merge Vary Accept-Encoding`",
        risks="caches keep each answer twice",
        wrong="no cache is between, or what sits behind says `Vary` itself",
        source=f"{BOOK}; {HTTPD}mod/mod_deflate.html#proxies; "
        f"{HTTPD}mod/mod_rewrite.html#rewritecond",
        look=_unvaried,
    ),
)
