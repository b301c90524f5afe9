"""What `httpdyno adopt` says: of what was found, of what would be done, of what came of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from httpdyno.adopt.adopt import Adopted
from httpdyno.adopt.discover import Gathered
from httpdyno.adopt.study_text import described
from httpdyno.advice.proposal import Proposals
from httpdyno.cli.standard_streams import say, tell
from httpdyno.model import Site, level_text
from httpdyno.report.shared.message import text
from httpdyno.servers.stack.snapshot import version_of


def tell_found(gathered: Gathered, notes: Sequence[str] = ()) -> None:
    """Say on stderr what the site is made of, and what was noticed of it, before any start."""
    for found in gathered.members:
        member = found.member
        files = f", {_counted(len(found.files.texts), 'file')}" if found.files.texts else ""
        what = member.main or " ".join(member.command) or member.name
        tell(f"{version_of(found.survey)}: {what}{files}")
    for words in (*notes, *_noticed(gathered)):
        tell(f"note: {words}")
    for words in gathered.caveats:
        tell(f"caveat: {words}")
    for backend in gathered.outside:
        where = f" ({backend.origin.file}:{backend.origin.line})" if backend.origin else ""
        tell(f"out of reach for a copy: {backend.to}{where}: {gathered.why_outside[backend.to]}")


def _noticed(gathered: Gathered) -> Iterator[str]:
    """Yield what the owner should know of the configuration, and where it stands."""
    yield from gathered.notes
    for found in gathered.members:
        for notice in found.survey.notices:
            at = notice.origin
            yield f"{notice.words} ({at.file}:{at.line})" if at else notice.words


def show_plan(gathered: Gathered, site: Site, folder: Path) -> None:
    """Print what would be read, copied and reached."""
    say(f"would write  {folder}/ (study.toml, snapshot, rehearsal.json, rehearsal-answers.json)")
    for found in gathered.members:
        say(f"member       {found.member.name}: {version_of(found.survey)}")
        for path in found.files.texts:
            say(f"  copies     {path}")
        for path in found.files.unreadable:
            say(f"  cannot read {path}")
        for backend in found.survey.backends:
            say(f"  reaches    {backend.to}")
    for words in _noticed(gathered):
        say(f"note         {words}")
    say(f"loads        {site.listener}{f' as {site.host}' if site.host else ''}, in a copy")
    for backend in gathered.outside:
        say(f"out of reach {backend.to}: {gathered.why_outside[backend.to]}")


def show_adopted(adopted: Adopted, gathered: Gathered) -> None:
    """Print what the rehearsal showed, what is proposed, and what comes next."""
    report, proposals = adopted.report, adopted.proposals
    for each in report.wrong:
        say(f"not as expected: GET {each.path}: {each.words}")
    for line in told_attempts(report.refused, report.reached, report.isolation):
        say(line)
    if report.unnamed:
        say(f"not all that its copy tries is named: {report.unnamed}")
    for words in adopted.remarks:
        say(f"note: {words}")
    parts = [
        f"{_counted(len(gathered.members), 'member')} ({described(adopted.site.members)})",
        f"{_counted(adopted.n_files, 'file')} read",
        f"{_counted(len(proposals.tried), 'knob')} proposed",
    ]
    if proposals.listed:
        parts.append(f"{len(proposals.listed)} more listed with the reason")
    say(f"wrote {adopted.folder}/: {', '.join(parts)}")
    for line in told_proposals(proposals):
        say(line)
    if report.wrong:
        say(f"mend that first: what is asked for stands in {adopted.folder}/study.toml")
    elif proposals.tried:
        say(f"next: httpdyno tune {adopted.folder}")
    else:
        say(
            f"next: put a `[[knobs]]` into {adopted.folder}/study.toml, or serve its copy: "
            f"httpdyno study serve {adopted.folder}"
        )


def told_proposals(proposals: Proposals) -> Iterator[str]:
    """Yield lines for what is tried, and for what is not because memory does not hold it."""
    for each in proposals.tried:
        levels = ", ".join(level_text(level) for level in each.levels)
        why = text(each.why) if each.why else ""
        yield f"  {each.name}  {level_text(each.start)} → {levels}: {why}"
        if each.memory:
            yield f"    {text(each.memory)}"
    for each in proposals.listed:
        if each.memory and each.memory == each.blocked:
            yield f"  {each.name}  {level_text(each.start)} stays: {text(each.memory)}"


def told_attempts(refused: Sequence[str], reached: Sequence[str], isolation: str) -> Iterator[str]:
    """Yield a line for each thing that a copy tried: what it may not, and what got out."""
    yield from map(_refused_text, refused)
    for attempt in reached:
        yield f"its copy reached {attempt}: a {isolation} does not keep it from that"


def _refused_text(attempt: str) -> str:
    """Return what the copy may not, and what there is to do about it."""
    kind, _, where = attempt.partition(" ")
    if kind == "write":
        return f"its copy may not write {where}: in a cell that would be its own"
    return f"its copy may not reach {attempt}: {_way_out(attempt)}"


def _way_out(attempt: str) -> str:
    if attempt.startswith("unix:/"):
        return "a door would lead there, `[[site.doors]]` in its study"
    if attempt.startswith("unix:"):
        return "no door leads there"
    where = attempt.partition(" ")[2].partition(" ")[0]
    if where.rpartition(":")[2] == "53":
        return "a copy asks no name server"
    member = f"`--with :{where.rpartition(':')[2]}`"
    return f"where that is of this machine, name it as a member, {member}; no door leads there"


def _counted(n_things: int, what: str) -> str:
    return f"{n_things} {what}{'s' * (n_things != 1)}"


def plan_json(gathered: Gathered, site: Site, folder: Path) -> dict[str, Any]:
    """Return what `show_plan` prints, in built-in types."""
    return {
        "folder": str(folder),
        "site": msgspec.to_builtins(site),
        "copies": {f.member.name: list(f.files.texts) for f in gathered.members},
        "unreadable": {f.member.name: list(f.files.unreadable) for f in gathered.members},
        "out_of_reach": [each.to for each in gathered.outside],
    }


def adopted_json(adopted: Adopted) -> dict[str, Any]:
    """Return what was adopted, in built-in types."""
    return {
        "folder": str(adopted.folder),
        "site": msgspec.to_builtins(adopted.site),
        "remarks": list(adopted.remarks),
        "rehearsal": msgspec.to_builtins(adopted.report),
        "tried": msgspec.to_builtins(adopted.proposals.tried),
        "listed": msgspec.to_builtins(adopted.proposals.listed),
    }
