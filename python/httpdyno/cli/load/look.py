"""The server of a load test looked at under a little more of the same load."""

from collections.abc import Callable, Sequence

from msgspec import structs

from httpdyno.advice.bottleneck.verdict import bottleneck, of_the_server
from httpdyno.cli.behind_now import behind_now
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import HttpdynoError
from httpdyno.experiment.running_look import MoreLoad, doubt_of, seen_under
from httpdyno.load.plan import LoadPlan
from httpdyno.model import LoadOutcome
from httpdyno.servers.discover.inspection import answering
from httpdyno.servers.discover.machine import this_machine


def with_look(
    outcome: LoadOutcome,
    plan: LoadPlan,
    stretches_s: Sequence[float],
    is_over: Callable[[], bool],
) -> LoadOutcome:
    """Return a test's outcome with a look at the server that it loaded, where that runs here.

    Args:
        outcome: What was measured, which stays as it is but for who was the limit.
        plan: How.
        stretches_s: How long a look may take, and another where that was too short; at least one.
        is_over: Whether an end is asked for: then there is no look.
    """
    load = MoreLoad.of(plan, plan.address, spin_s=plan.spin_s)
    try:
        servers = answering(plan.address, this_machine())
        if not servers:
            nobody = f"no process of this machine listens at `{plan.address}`"
            return structs.replace(outcome, not_looked=nobody)
        roots = [each.root.pid for each in servers if each.root is not None]
        look = seen_under(load, roots, stretches_s, is_over, tell)
    except HttpdynoError as error:
        return structs.replace(outcome, not_looked=str(error))
    except Exception as error:  # what was not seen loses no test, and is told
        words = f"because of a fault of httpdyno's: {error!r}"
        return structs.replace(outcome, not_looked=words)
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
        behind=behind_now(roots, look.backends),
    )
