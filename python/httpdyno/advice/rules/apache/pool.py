"""The numbers of Apache's pool beside each other: bands, starts, limits that clip."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.mpm import PREFORK, in_force, most_workers, mpm, threads_each
from httpdyno.advice.rules.declaration import BOOK, HTTPD, Proposed, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, number, place

_WRITTEN = "MaxRequestWorkers as written"
"""The reading of what stands in the file, where Apache says that it takes another number."""
_MPM = f"{HTTPD}mod/mpm_common.html"


def _names(facts: Facts) -> tuple[str, str]:
    what = "Servers" if mpm(facts) == PREFORK else "Threads"
    return f"MinSpare{what}", f"MaxSpare{what}"


def _places(facts: Facts, *names: str) -> tuple[str, ...]:
    """Return where these are set, `NAME N, FILE:LINE`; those that nothing sets with their number.

    Args:
        facts: Of the server.
        names: Directives of the module.
    """
    found = []
    for name in names:
        reading = facts.reading(name)
        text = reading.text if reading else str(in_force(facts, name))
        found.append(f"{name} {text}, {place(reading) if reading else 'compiled in'}")
    return tuple(found)


def _band(facts: Facts) -> tuple[int, int, int] | None:
    """Return the fewest idle, the most idle as written, and the most that Apache takes at least."""
    fewest, most = (in_force(facts, name) for name in _names(facts))
    threads = threads_each(facts)
    if threads is None or fewest is None or most is None:
        return None
    return fewest, most, fewest + threads


def _inverted(facts: Facts) -> Iterator[Seen]:
    band = _band(facts)
    if band is None or not any(facts.said(name) for name in _names(facts)):
        return
    fewest, most, taken = band
    if most < taken:
        low, high = _names(facts)
        yield Seen(
            what=f"`{high}` {most:,} is not above `{low}` {fewest:,} by a process: Apache takes "
            f"{taken:,} without a word",
            evidence=_places(facts, low, high),
            # Not `wide`: it forks half of all that may be, and whether memory holds these is not
            # known here.
            proposes=(Proposed(knob="spare_servers", value="narrow"),),
        )


def _start(facts: Facts) -> Iterator[Seen]:
    band, start = _band(facts), facts.reading("StartServers")
    n = in_force(facts, "StartServers")
    if band is None or start is None or n is None:
        return
    fewest, most, taken = band
    each = taken - fewest
    low, high = _names(facts)
    unit = "" if each == 1 else f" × {each} threads"
    if n * each < fewest:
        words = f"below `{low}` {fewest:,}: after a start processes are made once a second"
    elif n * each > max(most, taken):
        words = f"above `{high}` {max(most, taken):,}: the idle ones are ended one a second"
    else:
        return
    yield Seen(
        what=f"`StartServers` {n:,}{unit} is {words}",
        evidence=_places(facts, "StartServers", low, high),
        proposes=(Proposed(knob="spare_servers", value="between"),),
    )


def _clipped(facts: Facts) -> Iterator[Seen]:
    most, threads = most_workers(facts), threads_each(facts)
    reading = facts.reading("MaxRequestWorkers")
    if reading is None or most is None or not threads:
        return
    # Where Apache itself was asked, its number is what it takes already.
    is_as_written = reading.evidence == "read"
    written = reading if is_as_written else facts.reading(_WRITTEN)
    asked = number(written.text) if written else None
    # Of threads Apache takes whole processes only, whatever the limit is.
    processes = 0 if asked is None else asked // threads
    if asked is None or processes * threads <= most:
        return
    names = ("ServerLimit", *(["ThreadsPerChild"] if threads > 1 else []))
    unit = "" if threads == 1 else f" × {threads} threads"
    n_fit = facts.pool.n_fit if facts.pool else None
    yield Seen(
        what=f"`MaxRequestWorkers` {asked:,} is cut to {most:,} by `ServerLimit` "
        f"{most // threads:,}{unit}",
        evidence=(f"MaxRequestWorkers {asked}, {place(reading)}", *_places(facts, *names)),
        do=f"set `ServerLimit` to {processes:,} and restart, or ask for {most:,}",
        # What is asked takes the limit along.
        proposes=(Proposed(knob="MaxRequestWorkers", value=processes * threads),)
        if n_fit is None or processes <= n_fit
        else (),
    )


RULES = (
    Rule(
        name="inverted-spares",
        kinds=("apache",),
        severity="bad",
        checks="Most idle servers not above the fewest",
        matters="The parent looks once a second: below the fewest it forks, above the most it ends "
        "one. With the two in the wrong order Apache puts the most a process above the fewest, "
        "and makes and ends processes for ever.",
        needs="One known module, and at least one of the two numbers written somewhere.",
        do="set the most to at least twice the fewest",
        risks="idle processes keep their memory",
        wrong="never: it does not do what it says",
        source=f"{BOOK}; {HTTPD}mod/prefork.html#maxspareservers",
        look=_inverted,
        proposes=(
            Proposes(knob="spare_servers", value="narrow: a process idle at least, two at most"),
        ),
    ),
    Rule(
        name="start-outside-spares",
        kinds=("apache",),
        severity="hint",
        checks="`StartServers` below or above the band of idle servers",
        matters="What the start does not make is made once a second under the first load, 1, 2, 4 "
        "… at a time; what it makes too many of is ended one a second.",
        needs="One known module, and `StartServers` written somewhere.",
        do="start as many as lie between the fewest and the most idle",
        risks="a start forks more, and takes longer where much is preloaded",
        wrong="the server starts rarely and its load comes slowly",
        source=f"{BOOK}; {_MPM}#startservers",
        look=_start,
        proposes=(Proposes(knob="spare_servers", value="between: a start in the band's middle"),),
    ),
    Rule(
        name="clipped-workers",
        kinds=("apache",),
        severity="bad",
        checks="`MaxRequestWorkers` over what `ServerLimit` allows",
        matters="Apache starts with fewer workers than are asked for, and says so once, in its "
        "error log. All requests beyond wait.",
        needs="One known module, and `MaxRequestWorkers` written somewhere.",
        do="raise `ServerLimit` too, which takes a restart",
        risks="each process has memory: see whether as many fit",
        wrong="never: it does not do what it says",
        source=f"{_MPM}#serverlimit",
        look=_clipped,
        proposes=(
            Proposes(
                knob="MaxRequestWorkers",
                value="what is asked for, with a `ServerLimit` that allows it, where memory is not "
                "known to hold fewer",
            ),
        ),
    ),
)
