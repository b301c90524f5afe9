"""Whether an experiment of the book can run here, and why not."""

import shutil

from httpdyno.book.declared import way_of
from httpdyno.book.experiment import Arithmetic, Clients, Count, Experiment, Stat
from httpdyno.catalog import open_study
from httpdyno.errors import AdapterError
from httpdyno.host.runnable import said_by
from httpdyno.model import Study
from httpdyno.registry import load_target
from httpdyno.servers.limits.limit_group import limits_complaint
from httpdyno.servers.staging import clean_environment

_HAS_LWP = 'exit !grep { -e "$_/LWP/UserAgent.pm" } @INC'


def reason_not(each: Experiment) -> str:
    """Return why it cannot be run; empty where it can."""
    one = way_of(each)
    way = one.way
    if way is None:
        return one.reason
    if isinstance(way, Arithmetic):
        return ""
    if isinstance(way, Stat):
        return "" if shutil.which("perl") else "there is no perl (Debian: perl)"
    if isinstance(way, Count) and shutil.which("strace") is None:
        return "strace is not installed (Debian: strace)"
    study = open_study(way.study)
    missing = list(load_target(study).missing(study.server))
    if isinstance(way, Clients):
        missing += _missing_clients()
    return "; ".join(missing)


def reason_not_study(study: Study) -> str:
    """Return why a study cannot be run; empty where it can."""
    missing = list(load_target(study).missing(study.server))
    if complaint := limits_complaint(limits for _, limits in study.limits):
        missing.append(complaint)
    return "; ".join(missing)


def _missing_clients() -> list[str]:
    missing = [] if shutil.which("ab") else ["ab is not installed (Debian: apache2-utils)"]
    try:
        has_lwp = said_by(["perl", "-e", _HAS_LWP], environment=clean_environment()).exit_code == 0
    except AdapterError:
        has_lwp = False
    if not has_lwp:
        missing.append("there is no LWP::UserAgent for perl (Debian: libwww-perl)")
    return missing
