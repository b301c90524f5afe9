"""Which worker served how many requests, as Apache's status page says it. Pure.

Source: Apache 2.4's mod_status (`ExtendedStatus On`, modules/generators/mod_status.c): in the table
of its page in HTML, not in `?auto`, the second figure of `Acc` counts the requests of this child.
"""

import re
from collections.abc import Mapping

_ROW = re.compile(r"<tr><td><b>\d+-\d+</b></td><td>(?P<pid>\d+)</td>\s*<td>\d+/(?P<served>\d+)/\d+")


def served_by_pid(page: str) -> Mapping[int, int]:
    """Return requests by process; empty where the page has no such table.

    A child with threads has a place for each, which are added up.
    """
    found: dict[int, int] = {}
    for row in _ROW.finditer(page):
        pid = int(row["pid"])
        found[pid] = found.get(pid, 0) + int(row["served"])
    return found
