"""`Options` by which Apache looks at each part of a path whether it is a link. Pure.

Without `FollowSymLinks`, and with `SymLinksIfOwnerMatch`, each request asks the kernel for each
folder down to what it asks for (`lstat`). Only what counts on the way to a document root is
changed: a folder below, in which others may write, keeps what it says. What says nothing of links
has them from the folders above: of `/` that is each such folder of the machine.

Source: httpd.apache.org/docs/2.4/mod/core.html#options, /docs/2.4/misc/perf-tuning.html#symlinks.
"""

import posixpath
import re
from collections import Counter

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, Reading, Survey
from httpdyno.servers.apache.lines import words
from httpdyno.servers.apache.overrides import is_below
from httpdyno.servers.stack.adapter import MemberFiles

OPTIONS = "Options"
_FOLLOW, _OWNER = "followsymlinks", "symlinksifownermatch"
_FOLDER = re.compile(r"(?:(?P<host>[^\s/]+) )?(?P<path>/[^\s*?\[]*)")
_SECTIONS = frozenset(
    {"location", "locationmatch", "files", "filesmatch", "directorymatch", "proxy", "proxymatch"}
    | {"if", "elseif", "else", "limit", "limitexcept"}
)


def is_checking(text: str) -> bool:
    """Whether these options have links looked for: their own, or what they change in others."""
    given = [word.lower() for word in words(text)]
    if any(word[:1] not in "+-" for word in given):
        follows = not {_FOLLOW, f"+{_FOLLOW}", "all"}.isdisjoint(given)
        return not follows or _OWNER in given or f"+{_OWNER}" in given
    return f"-{_FOLLOW}" in given or f"+{_OWNER}" in given


def followed(text: str) -> str:
    """Return the same options with links followed."""
    given = words(text)
    kept = [word for word in given if word.lower().lstrip("+-") not in (_FOLLOW, _OWNER)]
    if all(word[:1] in "+-" for word in given):
        return " ".join([*kept, "+FollowSymLinks", "-SymLinksIfOwnerMatch"])
    return " ".join([*(word for word in kept if word.lower() != "none"), "FollowSymLinks"])


def checking(survey: Survey) -> tuple[Reading, ...]:
    """Return the `Options` on the way to document roots that have links looked for.

    None at all where one of them cannot be changed, or where a scope has several.
    """
    own = [each for each in survey.readings if each.name.lower() == OPTIONS.lower()]
    n_in_scope = Counter(each.scope for each in own)
    roots = [
        posixpath.normpath((words(each.text) or [""])[0])
        for each in survey.readings
        if each.name.lower() == "documentroot"
    ]
    found = tuple(each for each in own if is_checking(each.text) and _counts(each.scope, roots))
    is_clear = all(n_in_scope[each.scope] == 1 and _is_in_file(each) for each in found)
    return found if is_clear else ()


def following(survey: Survey, files: MemberFiles) -> tuple[Edit, ...]:
    """Return the edits with which links are followed.

    Raises:
        AdapterError: A file of the configuration is not there to be changed.
    """
    edits = []
    for each in checking(survey):
        origin = each.origin
        if origin is None or origin.file not in files.texts:
            raise AdapterError(
                f"`{OPTIONS}` of `{each.scope}` stands in no file that can be changed"
            )
        edits.append(
            Edit(file=origin.file, start=origin.start, end=origin.end, text=followed(each.text))
        )
    return tuple(edits)


def _counts(scope: str, roots: list[str]) -> bool:
    """Whether a scope is a host, or a named folder on the way to a root."""
    match = _FOLDER.fullmatch(scope)
    if match is None:
        return " " not in scope and "/" not in scope
    if (match["host"] or "").lower() in _SECTIONS:
        return False
    return any(is_below(root, posixpath.normpath(match["path"])) for root in roots)


def _is_in_file(reading: Reading) -> bool:
    return reading.origin is not None and reading.origin.start < reading.origin.end
