"""Which worker served how many requests, as status pages of Apache and php-fpm say it. Pure.

Source: Apache 2.4's mod_status (`ExtendedStatus On`, modules/generators/mod_status.c): in the table
of its page in HTML, not in `?auto`, the second figure of `Acc` counts the requests of this child.
PHP's sapi/fpm/fpm/fpm_status.c: `?full` has a part for each child, as text or with `&json`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping

_APACHE = re.compile(
    r"<tr><td><b>\d+-\d+</b></td><td>(?P<pid>\d+)</td>\s*<td>\d+/(?P<served>\d+)/\d+"
)
_PHP_FPM = re.compile(
    r"^pid: +(?P<pid>\d+)\r?$(?:\n(?!pid:).*)*?\nrequests: +(?P<served>\d+)\r?$", re.MULTILINE
)


def served_by_pid(page: str) -> Mapping[int, int]:
    """Return requests by process; empty where the page has none.

    A child with threads has a place for each, which are added up.
    """
    found: Counter[int] = Counter()
    for pid, served in _told(page):
        found[pid] += served
    return dict(found)


def _told(page: str) -> Iterator[tuple[int, int]]:
    if page.lstrip().startswith("{"):
        yield from _of_json(page)
        return
    for pattern in (_APACHE, _PHP_FPM):
        for each in pattern.finditer(page):
            yield int(each["pid"]), int(each["served"])


def _of_json(page: str) -> Iterator[tuple[int, int]]:
    try:
        document = json.loads(page)
    except (ValueError, RecursionError):
        return
    processes = document.get("processes") if isinstance(document, dict) else None
    for each in processes if isinstance(processes, list) else ():
        if not isinstance(each, dict):
            continue
        pid, served = each.get("pid"), each.get("requests")
        if type(pid) is int and type(served) is int:  # true is no number
            yield pid, served
