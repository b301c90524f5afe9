"""Every doubt that is attached to what an experiment found, each made here; pure.

Who sees that something is wrong says so with its own words and numbers; what kind of doubt that is
and how a person reads it stands here. Functions return caveats, none where all is well; what is
called only where something is wrong (`steps_not_tried`, `start_fails`) always returns one.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import structs

from httpdyno.experiment.call_count import few_answers
from httpdyno.experiment.doubt import Doubt, little_doubt
from httpdyno.experiment.memory_shortage import is_short, lack_text, pages_read, wait_ratio
from httpdyno.metrics.totals import SAID_APART, said_apart
from httpdyno.model import Caveat, HostFacts, Method, Site, StartRecord, WindowRecord
from httpdyno.units import format_duration, format_percent

Caveats = tuple[Caveat, ...]

_NOT_THE_CLIENT = {"", "server", "server_or_connections", "rate", "connections"}
"""Verdicts of the load engine on who was the limit that cast no doubt on the server's figures."""

_MOST_STOLEN = 0.05
"""Of a core that the machine's host may take."""

_MOST_SHORT = 0.1
"""Of the windows, in which a server lacked memory."""

_MOST_THROTTLED = 0.01
"""Of the periods of a CPU limit, that end with the server standing still."""

_MOST_AT_LIMIT = 0.1
"""Of the windows, in which a server met its memory limit."""

_LITTLE = "little"
"""The kind of a doubt by Little's law of which the size is known: intervals have it in them."""

_UNSIZED = "little_unsized"
"""The kind of one that says nothing of a size."""


def instances_only(n_instances: int) -> Caveats:
    """Return that servers which ran already were compared, and not their configurations."""
    words = (
        f"this is about these {n_instances} instances as they run now, not about their "
        "configurations: none was started anew, so what its one start gave it is part of the "
        "difference; `httpdyno compare STUDY` tells the two apart"
    )
    return (Caveat(kind="instances_only", message=words),)


def unchecked_periods(n_periods: int, n_fewest: int) -> Caveats:
    """Return that nobody saw whether periods hang together; none where there are no periods."""
    if not n_periods:
        return ()
    words = (
        f"{n_periods} periods are too few to see whether they hang together, which {n_fewest} "
        "would show; they are taken as independent"
    )
    return (Caveat(kind="unchecked_periods", message=words),)


def outside_tree(servers: Iterable[tuple[str, Sequence[str]]]) -> Caveats:
    """Return which processes of a server's unit are in no figure of it.

    Args:
        servers: URL of each, with such processes by name and pid.
    """
    words = (
        f"{', '.join(beside)} of the unit of {url} {'is' if len(beside) == 1 else 'are'} not below "
        "its first process, and not in its CPU per request"
        for url, beside in servers
        if beside
    )
    return tuple(Caveat(kind="outside_tree", message=each) for each in words)


def one_process() -> Caveats:
    """Return that two of the servers are one process."""
    words = "two of the URLs lead to the same process, so its CPU time is not told apart"
    return (Caveat(kind="one_process", message=words),)


def window_caveats(starts: Sequence[StartRecord]) -> Caveats:
    """Return the doubts that the windows of these starts raise."""
    windows = [window for start in starts for window in start.windows]
    return (
        *_unsteady(starts),
        *_starved_users(windows),
        *_client_limited(windows),
        *_unverified_knobs(starts),
        *_uncompared(starts),
        *_tried(starts),
        *_steal(windows),
        *_missed_cpu(windows),
        *_short_memory(starts),
        *_said_apart(windows),
        *_few_calls(starts),
        *_throttled(windows),
        *_at_memory_limit(windows),
    )


def within(where: str, caveats: Iterable[Caveat]) -> Caveats:
    """Return the same caveats, saying of which part of the run they are.

    Args:
        where: Such as `in the calibration`.
        caveats: Of that part.
    """
    return tuple(structs.replace(each, message=f"{where}: {each.message}") for each in caveats)


def is_unsteady(caveats: Iterable[Caveat]) -> bool:
    """Tell whether nobody knows how far Little's law is broken, so that figures prove nothing.

    Where that is known, intervals of throughput have it in them, and prove what they say.
    """
    return any(caveat.kind == _UNSIZED for caveat in caveats)


def dropped_starts(reasons: Sequence[str]) -> Caveats:
    """Return the doubt that starts of a comparison were tried again.

    Args:
        reasons: Why each was not used, in order.
    """
    if not reasons:
        return ()
    times = "once" if len(reasons) == 1 else f"{len(reasons)} times"
    return _one("dropped_starts", f"a start was tried again {times}, because {reasons[-1]}")


def unused_starts(n_starts: int) -> Caveats:
    """Return the doubt that a run which went on has starts of comparisons that it no longer makes.

    Args:
        n_starts: Of all such comparisons.
    """
    if not n_starts:
        return ()
    starts = "1 stored start is" if n_starts == 1 else f"{n_starts} stored starts are"
    return _one(
        "unused_starts",
        f"{starts} not used: with more time the run decided otherwise before them, and compares "
        "something else now",
    )


def shared_cores(host: HostFacts) -> Caveats:
    """Return the doubt that client and server took cores from each other, or that cores are few."""
    if host.client_cpus and host.server_cpus and not {*host.client_cpus} & {*host.server_cpus}:
        if len(host.server_cpus) > 1:
            return ()
        return _one(
            "one_core",
            f"the server had 1 of {host.n_cpus} cores, since the study keeps the load client on "
            "another one: what more than one core would make of a change is not seen",
        )
    return _one(
        "shared_cores",
        f"the load client and the server shared {host.n_cpus} cores: throughput is lower than with "
        "a client elsewhere, and its ratios are, if anything, nearer to 1",
    )


def fresh_servers(method: Method) -> Caveats:
    """Return the doubt that servers were measured in their first seconds alone.

    None where a study says in phases what is asked: those are told each by each.
    """
    if method.phases or not method.is_fresh:
        return ()
    first = format_duration(method.blocks_per_start * method.window_s)
    return _one(
        "fresh_servers",
        f"each server was measured in its first {first} under load alone, as the study asks: "
        "throughput and latencies are of these, and in the long run their ratios may be other",
    )


def unlike_the_site(site: Site | None) -> Caveats:
    """Return the doubts that private copies are not in all what the site is."""
    words = () if site is None else site.caveats
    return tuple(Caveat(kind="unlike_the_site", message=each) for each in words)


def changed_amid_run(names: Collection[str]) -> Caveats:
    """Return the doubt that files were changed while they were measured with."""
    words = f"changed while the run was at it: {', '.join(f'`{name}`' for name in names)}"
    return _one("changed_amid_run", words) if names else ()


def accepted_changes(changes: Sequence[str]) -> Caveats:
    """Return the doubt that a resumed run went on although things had changed, and somebody knew.

    Args:
        changes: In words.
    """
    words = f"the run went on with something else than it had begun with: {'; '.join(changes)}"
    return _one("accepted_changes", words) if changes else ()


def steps_not_tried(words: str) -> Caveats:
    """Return the doubt that there was no time for all steps.

    Args:
        words: Which, and how much more time they take.
    """
    return _one("steps_not_tried", words)


def start_fails(status: str, detail: str, *, of: str = "level", best: str = "knee") -> Caveats:
    """Return the doubt that what was found has nothing to be compared with.

    Args:
        status: How the start came out.
        detail: In the server's words.
        of: What the start is one of.
        best: What would be compared with it.
    """
    return _one(
        "start_fails",
        f"the start itself is no {of} that will do ({status}: {detail}): "
        f"there is nothing to compare the {best} with",
    )


def start_breaks_limit(broken: str) -> Caveats:
    """Return the doubt that the configuration at the start is beyond the objective's limits.

    Args:
        broken: How, in words; empty where it is not.
    """
    words = f"the starting configuration itself breaks a limit: {broken}"
    return _one("start_breaks_limit", words) if broken else ()


def final_breaks_limit(broken: str) -> Caveats:
    """Return the doubt that the final configuration is beyond the objective's limits.

    Args:
        broken: How, in words; empty where it is not.
    """
    words = f"the configuration measured at last breaks a limit: {broken}"
    return _one("final_breaks_limit", words) if broken else ()


def _one(kind: str, message: str) -> Caveats:
    return (Caveat(kind=kind, message=message),)


def _unsteady(starts: Sequence[StartRecord]) -> Caveats:
    """Return the doubt about the throughput of all arms of these starts that never failed."""
    n_arms = max((len(start.statuses) for start in starts), default=0)
    ran = [a for a in range(n_arms) if all(each.statuses[a] == "complete" for each in starts)]
    doubt = little_doubt(starts, ran) if len(starts) > 1 else Doubt()
    words = (
        f"{doubt.words}: the load was not steady, {doubt.means(n_arms)}; "
        "a longer `method.lead_in` and `method.window` give it time to settle"
    )
    kind = _UNSIZED if doubt.is_unbounded else _LITTLE
    return _one(kind, words) if doubt.words else ()


def _starved_users(windows: Sequence[WindowRecord]) -> Caveats:
    starved = [each.measurement.cycles for each in windows if each.measurement.cycles]
    starved = [cycles for cycles in starved if cycles.n_starved]
    if not starved:
        return ()
    most = max(starved, key=lambda cycles: cycles.n_starved)
    return _one(
        "starved_users",
        f"in {len(starved)} of {len(windows)} windows some users, up to {most.n_starved} of "
        f"{most.n_users}, got no answer at all: the server kept them waiting for the others",
    )


def _client_limited(windows: Sequence[WindowRecord]) -> Caveats:
    limits = Counter(window.measurement.limited_by for window in windows)
    return tuple(
        Caveat(
            kind="client_limited",
            message=f"in {n} of {len(windows)} windows {_who(limit)} was the limit, not the "
            "server; the true ratio may be larger",
        )
        for limit, n in sorted(limits.items())
        if limit not in _NOT_THE_CLIENT and n > len(windows) / 10
    )


def _who(limit: str) -> str:
    if told := {"network": "the network stack", "machine_cpu": "others on the CPUs"}.get(limit):
        return told
    return f"the load client ({limit.replace('_', ' ')})"


def _unverified_knobs(starts: Sequence[StartRecord]) -> Caveats:
    names = sorted({n for s in starts for each in s.effective for n in each.unverified})
    words = (
        f"not read back from the running application: {', '.join(names)}; "
        "the study has no `effective_path`"
    )
    return _one("unverified_knobs", words) if names else ()


def tried_words(tried: Iterable[str]) -> str:
    """Return in words that private copies were refused what they tried to reach.

    Args:
        tried: What, as starts tell it; not empty.
    """
    what = ", ".join(dict.fromkeys(tried))
    return f"private copies tried to reach {what}, and were refused: it is in no figure"


def _tried(starts: Sequence[StartRecord]) -> Caveats:
    tried = [each for start in starts for each in start.tried]
    return _one("tried_outside", tried_words(tried)) if tried else ()


def _uncompared(starts: Sequence[StartRecord]) -> Caveats:
    notes = dict.fromkeys(note for start in starts for note in start.uncompared)
    return tuple(Caveat(kind="uncompared_answers", message=each) for each in notes)


def _steal(windows: Sequence[WindowRecord]) -> Caveats:
    total_s = math.fsum(window.measurement.total_s for window in windows)
    stolen_s = math.fsum(window.telemetry.steal_s for window in windows)
    if total_s <= 0 or stolen_s / total_s <= _MOST_STOLEN:
        return ()
    share = 100 * stolen_s / total_s
    return _one("steal", f"the machine's host took {share:.0f} % of a core during the windows")


def _missed_cpu(windows: Sequence[WindowRecord]) -> Caveats:
    missing = {window.arm for window in windows if window.telemetry.misses_cpu}
    others = {window.arm for window in windows} - missing
    words = (
        "some processes of the server ignore how their children end, so the kernel adds what these "
        "used to no other process's time, and the server is in no control group of its own, which "
        "would count them: CPU per request is too low by as much as they took"
    )
    if others:
        words += ". That is so of some configurations and not of others, so its ratio may be wrong"
    return _one("missed_cpu", words) if missing else ()


def _said_apart(windows: Sequence[WindowRecord]) -> Caveats:
    ratio = said_apart(windows)
    if ratio is None or abs(ratio - 1) <= SAID_APART:
        return ()
    return _one(
        "said_apart",
        f"the program itself says that it took {ratio:.2f} times the CPU time that the kernel "
        "counted for it while it was asked: what it does besides the bodies is in its figures, or "
        "some of their work is not",
    )


def _few_calls(starts: Sequence[StartRecord]) -> Caveats:
    words = few_answers(starts)
    return _one("few_calls", words) if words else ()


def _short_memory(starts: Sequence[StartRecord]) -> Caveats:
    """Return the doubt that servers lacked memory which no configuration alone is to blame for."""
    windows = [w for s in starts for w in s.windows if s.statuses[w.arm] == "complete"]
    short = [window for window in windows if is_short(window)]
    if len(short) <= len(windows) * _MOST_SHORT:
        return ()
    what = lack_text(sum(map(pages_read, short)), wait_ratio(short))
    return _one(
        "short_memory",
        f"in {len(short)} of {len(windows)} windows memory was short ({what}), and no one "
        "configuration is proven to be the cause: these are figures of a machine that lacks "
        "memory; end what else runs, or have fewer servers up at the same time",
    )


def _throttled(windows: Sequence[WindowRecord]) -> Caveats:
    """Return that a CPU limit was what bounded the figures, as the study asks."""
    shares = []
    for arm in sorted({window.arm for window in windows}):
        seen = [window.telemetry for window in windows if window.arm == arm]
        n_periods = sum(each.n_cpu_periods for each in seen)
        shares.append(sum(each.n_throttled for each in seen) / n_periods if n_periods else 0.0)
    if max(shares, default=0.0) <= _MOST_THROTTLED:
        return ()
    stood_s = math.fsum(window.telemetry.throttled_s for window in windows)
    each_share = ", ".join(format_percent(share) for share in shares)
    return _one(
        "cpu_limit",
        f"the server had used up its CPU limit in {each_share} of the limit's periods, "
        f"by configuration, and then stood still, for {format_duration(stood_s)} of CPU time in "
        "all: throughput and latencies are of that limit",
    )


def _at_memory_limit(windows: Sequence[WindowRecord]) -> Caveats:
    """Return that a memory limit was met which took nothing but pages of files."""
    at_it = [window.telemetry for window in windows if window.telemetry.n_at_memory_limit]
    if len(at_it) <= len(windows) * _MOST_AT_LIMIT:
        return ()
    times = sum(each.n_at_memory_limit for each in at_it)
    return _one(
        "memory_limit",
        f"in {len(at_it)} of {len(windows)} windows the server met its memory limit, {times:,} "
        "times in all, and the kernel took pages of files back from it: memory and throughput are "
        "of that limit",
    )
