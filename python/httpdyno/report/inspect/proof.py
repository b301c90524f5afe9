"""How what findings propose is proven: a private copy of the server is tuned. Pure.

`adopt` runs the same rules on the configuration, so it proposes what they say of that by itself.
What only the running server showed is named to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.advice.proposal import allowance
from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.declaration import Proposed, findings_of
from httpdyno.model import level_text
from httpdyno.report.inspect.facts import Surroundings, facts_of
from httpdyno.report.inspect.page import Page, Server

_FRONT = "FRONT"
"""The source of a server that a person has to name."""
_BEHIND = frozenset({"php-fpm"})
"""Kinds that do not speak HTTP: what is adopted is the server in front, and they with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """How what is proposed of a server is proven."""

    command: tuple[str, ...]
    """That makes a study of it, an argument each."""
    tried: tuple[Proposed, ...]
    """By that study, before all else."""


def proofs(page: Page) -> tuple[Proof, ...]:
    """Return how what is proposed of each server is proven; none where nothing is."""
    return tuple(proof for each in page.servers if (proof := _proof(each, page.servers)))


def _proof(server: Server, servers: Sequence[Server]) -> Proof | None:
    knobs = server.seen.knobs
    tried = tuple(dict.fromkeys(each for f in server.findings for each in f.proposes))
    if not tried or server.seen.found.is_elsewhere:
        return None
    allowed = sorted({allowance(each.knob, knobs[each.knob]) for each in tried} - {""})
    own = _at_rest(server)
    named = [each for each in tried if each not in own]
    return Proof(
        command=(
            *("httpdyno", "adopt"),
            *(["--allow", ",".join(allowed)] if allowed else []),
            *(word for each in _levels(server, named) for word in ("--knob", each)),
            *_sources(server, servers),
        ),
        tried=tried,
    )


def _at_rest(server: Server) -> frozenset[Proposed]:
    """Return what the rules propose of its configuration, whether it runs or not."""
    facts = facts_of(server.seen, None, Surroundings(n_cpus=server.surroundings.n_cpus))
    found = findings_of(facts, all_rules()) if facts else ()
    return frozenset(proposed for each in found for proposed in each.proposes)


def _levels(server: Server, proposed: Sequence[Proposed]) -> list[str]:
    """Return each knob with all that is proposed of it: named twice, the last would count."""
    member = server.seen.found.member.name
    found: dict[str, list[str]] = {}
    for each in proposed:
        found.setdefault(f"{member}:{each.knob}", []).append(level_text(each.value))
    return [f"{name}={','.join(levels)}" for name, levels in found.items()]


def _sources(server: Server, servers: Sequence[Server]) -> tuple[str, ...]:
    own = _source(server)
    if server.seen.found.member.kind not in _BEHIND:
        return own
    front = next((each for each in servers if _is_front(each, server)), None)
    words = (_FRONT,) if front is None else _source(front)
    return ("--with", " ".join(own), *words)


def _is_front(front: Server, server: Server) -> bool:
    root = server.seen.found.root
    name = f"{server.seen.found.member.kind} {root.pid}" if root else ""
    return any(name and name in by.split(", ") for _, by in front.backends)


def _source(server: Server) -> tuple[str, ...]:
    """Return the words that mean this server and no other one."""
    found = server.seen.found
    if found.root is not None:
        return (f"pid:{found.root.pid}",)
    return (found.member.main,) if found.member.main else ("--", *found.member.command)
