"""What a server's own log says of its workers, beside what was seen of them; pure.

Source: httpd 2.4, server/mpm/prefork/prefork.c, perform_idle_server_maintenance (AH00161, once in a
life: fewer idle than MinSpareServers, and no place free); event.c (AH00484, AH10159) alike. PHP,
sapi/fpm/fpm/fpm_process_ctl.c: only pools that grow say it.
"""

import re

from msgspec import structs

from httpdyno.model import Bottleneck, LogKind, LogLines

_REACHED = re.compile(
    r"server (?:reached (?:MaxRequestWorkers|(?:pm\.)?max_children)"
    r"|is within MinSpareThreads of MaxRequestWorkers)"
)
_ALSO_IDLE = re.compile(r"MaxRequestWorkers")
_ALONE = (
    "by itself no sign of too few workers: Apache writes it once fewer than MinSpareServers (or "
    "MinSpareThreads) are free, in a small pool while all of them are"
)


def with_own_words(found: Bottleneck, log: LogLines | None) -> Bottleneck:
    """Return a verdict of too few workers with what the server's log says of it.

    It is told as what it is: no verdict comes of it.
    """
    if found.limit != "too_few_workers" or log is None:
        return found
    said = next((each for kind in log.kinds if (each := _REACHED.search(kind.example))), None)
    if said is None:
        return found
    return structs.replace(found, reason=f'{found.reason}; its own log says "{said[0]}"')


def remark_on(kind: LogKind) -> str:
    """Return what should be known of such a line before it is believed; empty for most."""
    said = _REACHED.search(kind.example)
    return _ALONE if said is not None and _ALSO_IDLE.search(said[0]) else ""
