"""How many processes or threads wait idle, as one knob: narrow, as found, wide. Pure."""

from collections.abc import Mapping

from httpdyno.model import Survey
from httpdyno.servers.apache.setting import is_threaded, number_of

FOUND = "found"


def spare_names(survey: Survey) -> tuple[str, str, str]:
    """Return the directives that the knob writes: at first, fewest and most that are idle."""
    what = "Threads" if is_threaded(survey) else "Servers"
    return "StartServers", f"MinSpare{what}", f"MaxSpare{what}"


def spare_values(survey: Survey, level: str, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the directives of a level; none for the one that was found.

    Between starts what the middle of the band as found is, and changes nothing else. Narrow keeps
    as little idle as Apache takes; wide starts half of what there may be and ends none. Under
    threaded modules the most has to be a whole process above the fewest, else Apache makes it so
    without a word.

    Args:
        survey: What is in force as found.
        level: `found`, `between`, `narrow` or `wide`.
        numbers: What else is asked, such as `MaxRequestWorkers`.
    """
    if level == FOUND:
        return {}
    workers = numbers.get("MaxRequestWorkers", number_of(survey, "MaxRequestWorkers"))
    threads = 1
    if is_threaded(survey):
        threads = numbers.get("ThreadsPerChild", number_of(survey, "ThreadsPerChild"))
    threads = max(1, threads)
    processes = max(1, workers // threads)
    if level == "between":
        first, *band = spare_names(survey)
        fewest, most = (number_of(survey, name) for name in band)
        start = max(-(-fewest // threads), (fewest + max(fewest, most)) // 2 // threads)
        return {first: max(1, min(start, processes))}
    if level == "narrow":
        start, fewest, most = 1, threads, 2 * threads
    else:
        start = max(1, processes // 2)
        fewest = max(threads, workers // 2)
        most = max(workers, fewest + threads)
    return dict(zip(spare_names(survey), (start, fewest, most), strict=True))
