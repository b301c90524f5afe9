"""Apache2::SizeLimit, and what it takes for a process's own memory."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.apache.perl import named_in_perl, perl_lines
from httpdyno.advice.rules.declaration import Rule, Seen
from httpdyno.advice.rules.facts import Facts, WorkerSize
from httpdyno.units import format_bytes

_NAME = re.compile(r"\bApache2::SizeLimit\b")
_LIMIT = re.compile(
    r"\bApache2::SizeLimit(?:->set_max_unshared_size\(|::setmax_unshared\(|::MAX_UNSHARED_SIZE\s*=)"
    r"\s*([\d_]+)\b"
)
"""In KB."""
_WITHOUT_SMAPS = re.compile(r"\bUSE_SMAPS\s*=\s*0\b")
_KB = 1024
_RIGHT = 1.25
"""Up to there the count is right enough."""


def _by_statm(facts: Facts) -> Iterator[Seen]:
    places = list(named_in_perl(facts, _NAME))
    lines = list(perl_lines(facts))
    has_smaps = facts.perl.has_smaps if facts.perl else None
    if any(_WITHOUT_SMAPS.search(line) for line, _ in lines):
        has_smaps = False
    if not places or has_smaps:
        return
    unknown = "" if has_smaps is False else ", unless Linux::Smaps is there, which is not known"
    sizes = facts.pool.sizes if facts.pool and facts.pool.is_uniform else ()
    if not sizes:
        yield Seen(
            what="`Apache2::SizeLimit` counts what the parent has loaded as each process's own"
            f"{unknown}",
            evidence=tuple(places),
        )
        return
    # One that has answered nothing counts for more: it has fewer pages of files to be taken off.
    largest = max(sizes, key=lambda each: each.own_bytes)
    if largest.statm_bytes <= _RIGHT * largest.own_bytes:
        return
    limit_kb = _limit_kb(lines)
    over = [] if limit_kb is None else [each for each in sizes if _is_taken(each, limit_kb)]
    ended = (
        f"; {len(over):,} of {len(sizes):,} are over its limit of {format_bytes(limit_kb * _KB)} "
        "by that count, and not by what is their own"
        if over and limit_kb is not None
        else ""
    )
    yield Seen(
        what=f"`Apache2::SizeLimit` counts {format_bytes(largest.statm_bytes)} of process "
        f"{largest.pid} as unshared, and {format_bytes(largest.own_bytes)} are its own"
        f"{unknown}{ended}",
        evidence=(
            *places[:2],
            f"/proc/{largest.pid}/statm and smaps_rollup, the largest of {len(sizes):,}",
        ),
        severity="bad" if over and has_smaps is False else None,
    )


def _limit_kb(lines: list[tuple[str, str]]) -> int | None:
    """Return the limit that is set last; None where none is, or it is no plain number."""
    found = [match[1] for line, _ in lines for match in _LIMIT.finditer(line)]
    return int(found[-1].replace("_", "")) if found else None


def _is_taken(size: WorkerSize, limit_kb: int) -> bool:
    return bool(limit_kb) and size.own_bytes <= limit_kb * _KB < size.statm_bytes


RULES = (
    Rule(
        name="size-limit-by-statm",
        kinds=("apache",),
        severity="doubtful",
        checks="`Apache2::SizeLimit` without Linux::Smaps",
        matters="Without that module, which Debian does not package, it takes a process's virtual "
        "size less its resident pages of files and shared memory (`/proc/self/statm`) for "
        "unshared. What the parent loaded before the fork is neither: shared in truth, and "
        "counted in each process. A limit below that ends every process at its first check, in a "
        "pool that is healthy.",
        needs="mod_perl is loaded, and `Apache2::SizeLimit` stands in the configuration, in a "
        "`<Perl>` section or in a file that is run at the start. Linux::Smaps is in none of "
        "Perl's usual folders nor in those that are added, where SizeLimit is; where that cannot "
        "be told, the finding says so. Of a server that runs and whose memory may be seen, both "
        "counts, and it says nothing where they agree.",
        do="install Linux::Smaps from CPAN, or set the limit as much higher as both counts differ; "
        "or bound the life of processes by `MaxConnectionsPerChild`",
        risks="Linux::Smaps has the kernel walk all pages of a process at each check: let it check "
        "each tenth request only (`set_check_interval`)",
        wrong="nothing is preloaded, or the limit was set by this count",
        source="metacpan.org/pod/Apache2::SizeLimit#SHARED-MEMORY-OPTIONS",
        look=_by_statm,
    ),
)
