"""Servers that were loaded, seen afterwards: what limited them, whom their requests go on to."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck, of_the_server
from httpdyno.errors import HttpdynoError, UsageError
from httpdyno.experiment.trial.look import MoreLoad, doubt_of, seen_under
from httpdyno.load.plan import LoadPlan
from httpdyno.model import Behind, LoadOutcome, TurnsOutcome
from httpdyno.reason import Reason, because
from httpdyno.servers.discover.find import Found, find
from httpdyno.servers.discover.inspection import answering, behind, looked_at
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.source import ProcessSource

MachineNow = Callable[[], Machine]
"""Looks at this machine anew: what a `Machine` has seen it keeps."""


def behind_now(
    pids: Sequence[int],
    machine: MachineNow,
    tell: Callable[[Reason], None],
    asked: Collection[str] = (),
) -> tuple[Behind, ...]:
    """Return whom the requests of one server go on to; empty where it is gone, or none is known.

    Whom it asked under load it is mostly still connected to, by processes that may have come since.

    Args:
        pids: The processes whose trees it is.
        machine: Looks at the machine where they run.
        tell: Takes what went wrong.
        asked: Where it was seen to wait for an answer under the load.
    """
    try:
        return _behind(pids, asked, machine())
    except Exception as error:  # what was not seen loses no measurement, and is told
        tell(because("inspection.behind_not_seen", error=repr(error)))
        return ()


def turns_with_behind(
    outcome: TurnsOutcome, machine: MachineNow, tell: Callable[[Reason], None]
) -> TurnsOutcome:
    """Return the outcome with whom each server's requests go on to, where its process is known."""
    instances = []
    for instance, summary in outcome.arms:
        asked = summary.look.backends if summary.look else ()
        pids = [instance.root_pid]
        places = behind_now(pids, machine, tell, asked) if instance.root_pid else ()
        instances.append(structs.replace(instance, behind=places))
    plan = structs.replace(outcome.plan, instances=tuple(instances))
    return structs.replace(outcome, plan=plan)


def _behind(pids: Sequence[int], asked: Collection[str], machine: Machine) -> tuple[Behind, ...]:
    servers: list[Found] = []
    for pid in pids:
        with suppress(UsageError):  # it has ended
            servers += find(ProcessSource(pid), machine)
    own = [each.pid for found in servers for each in (found.root, *found.below) if each]
    seen = [looked_at(each, machine) for each in servers]
    places = (place for each in seen for place in behind(each, machine, besides=own, asked=asked))
    return tuple(dict.fromkeys(places))


def with_look(  # noqa: PLR0913 - a test, and all that a look takes
    outcome: LoadOutcome,
    plan: LoadPlan,
    stretches_s: Sequence[float],
    is_over: Callable[[], bool],
    *,
    machine: MachineNow,
    tell: Callable[[Reason], None],
) -> LoadOutcome:
    """Return a test's outcome with a look at the server that it loaded, where that runs here.

    Args:
        outcome: What was measured, which stays as it is but for who was the limit.
        plan: How.
        stretches_s: How long a look may take, and another where that was too short; at least one.
        is_over: Whether an end is asked for: then there is no look.
        machine: Looks at the machine where the server may run.
        tell: Takes what is done.
    """
    load = MoreLoad(
        address=plan.address,
        workload=plan.workload,
        threads=plan.threads,
        cpus=plan.cpus,
        seed=plan.seed,
        spin_s=plan.spin_s,
    )
    try:
        servers = answering(plan.address, machine())
        if not servers:
            nobody = because("load.nobody_listens", address=plan.address)
            return structs.replace(outcome, not_looked=nobody)
        roots = [each.root.pid for each in servers if each.root is not None]
        look = seen_under(load, roots, stretches_s, is_over, tell)
    except HttpdynoError as error:
        return structs.replace(outcome, not_looked=error.reason)
    except Exception as error:  # what was not seen loses no test, and is told
        fault = because("load.fault_of_httpdyno", words=repr(error))
        return structs.replace(outcome, not_looked=fault)
    if look is None:
        return outcome
    if doubt := doubt_of(look, plan.address, stretches_s):
        return structs.replace(outcome, not_looked=doubt)
    limited_by, found = of_the_server(outcome.measurement.limited_by, bottleneck(look))
    measurement = outcome.measurement
    if limited_by != measurement.limited_by:
        measurement = structs.replace(measurement, limited_by=limited_by)
    return structs.replace(
        outcome,
        measurement=measurement,
        look=look,
        bottleneck=found,
        behind=behind_now(roots, machine, tell, look.backends),
    )
