"""Whom the requests of servers go on to that were loaded, as it is when the load is over."""

from collections.abc import Collection, Sequence
from contextlib import suppress

from msgspec import structs

from httpdyno.cli.standard_streams import tell
from httpdyno.errors import UsageError
from httpdyno.experiment.turns import TurnsPlan
from httpdyno.model import Behind, TurnsOutcome
from httpdyno.registry import site_adapters
from httpdyno.servers.discover.find import Found, find
from httpdyno.servers.discover.inspection import behind, looked_at
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.servers.discover.source import ProcessSource


def behind_now(pids: Sequence[int], asked: Collection[str] = ()) -> tuple[Behind, ...]:
    """Return whom the requests of one server go on to; empty where it is gone, or none is known.

    Whom it asked under load it is mostly still connected to, by processes that may have come since.

    Args:
        pids: The processes whose trees it is.
        asked: Where it was seen to wait for an answer under the load.
    """
    try:
        return _behind(pids, asked, this_machine(site_adapters()))
    except Exception as error:  # what was not seen loses no measurement, and is told
        tell(f"who is behind the server was not seen: {error!r}")
        return ()


def turns_with_behind(outcome: TurnsOutcome, plan: TurnsPlan) -> TurnsOutcome:
    """Return the outcome with whom each server's requests go on to, where its process is known."""
    instances = []
    for instance, server in zip(outcome.instances, plan.servers, strict=True):
        look = instance.summary.look
        places = (
            behind_now([server.root_pid], look.backends if look else ()) if server.root_pid else ()
        )
        instances.append(structs.replace(instance, behind=places))
    return structs.replace(outcome, instances=tuple(instances))


def _behind(pids: Sequence[int], asked: Collection[str], machine: Machine) -> tuple[Behind, ...]:
    servers: list[Found] = []
    for pid in pids:
        with suppress(UsageError):  # it has ended
            servers += find(ProcessSource(pid), machine)
    own = [each.pid for found in servers for each in (found.root, *found.below) if each]
    seen = [looked_at(each, machine) for each in servers]
    places = (place for each in seen for place in behind(each, machine, besides=own, asked=asked))
    return tuple(dict.fromkeys(places))
