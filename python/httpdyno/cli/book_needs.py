"""Whether an experiment of the book can run here, and why not."""

import shutil

from httpdyno.book.declared import way_of
from httpdyno.book.experiment import Arithmetic, Count, Experiment, Stat
from httpdyno.cli.find_study import open_study
from httpdyno.registry import load_target


def reason_not(each: Experiment) -> str:
    """Return why it cannot be run; empty where it can."""
    one = way_of(each)
    way = one.way
    if way is None:
        return one.reason
    if isinstance(way, Arithmetic):
        return ""
    if isinstance(way, Stat):
        return "" if shutil.which("perl") else "there is no perl"
    if isinstance(way, Count) and shutil.which("strace") is None:
        return "strace is not installed"
    study = open_study(way.study)
    return "; ".join(load_target(study).missing(study.server))
