"""Running servers that were loaded in turns, looked at one by one when all turns are done."""

from collections.abc import Callable

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.experiment.looking import stretches_within_s
from httpdyno.experiment.running_look import MoreLoad, doubt_of, seen_under
from httpdyno.experiment.turns import Server, TurnsPlan
from httpdyno.model import Instance, TurnsOutcome


def looks_s(plan: TurnsPlan) -> float:
    """Return how much of the time of a plan its looks take at most."""
    looked_at, stretches_s = _looks_of(plan)
    return len(looked_at) * sum(stretches_s)


def with_looks(
    outcome: TurnsOutcome,
    plan: TurnsPlan,
    is_over: Callable[[], bool],
    say: Callable[[str], None],
) -> TurnsOutcome:
    """Return the outcome with a look at each server whose processes are known.

    Nobody looks where that took long beside the turns, or at two URLs of one process, which
    could not be told apart.

    Args:
        outcome: What the turns came to, which stays as it is.
        plan: Theirs.
        is_over: Whether an end is asked for: those that come after it are not looked at.
        say: Told of each stretch of load before it begins.
    """
    looked_at, stretches_s = _looks_of(plan)
    if not stretches_s:
        return outcome

    def seen(instance: Instance, server: Server) -> Instance:
        if server.root_pid not in looked_at or is_over() or not instance.summary.throughput_per_s:
            return instance
        load = MoreLoad.of(plan, server.address)
        try:
            look = seen_under(load, [server.root_pid], stretches_s, is_over, say)
        except Exception as error:  # what was not seen loses no comparison, and is told
            say(f"`{server.url}` was not looked at: {error!r}")
            return instance
        if look is None or doubt_of(look, server.address, stretches_s):
            return instance
        summary = structs.replace(instance.summary, look=look, bottleneck=bottleneck(look))
        return structs.replace(instance, summary=summary)

    return structs.replace(outcome, instances=tuple(map(seen, outcome.instances, plan.servers)))


def _looks_of(plan: TurnsPlan) -> tuple[list[int], tuple[float, ...]]:
    """Return the processes that are looked at, and how long each look takes."""
    pids = [each.root_pid for each in plan.servers if each.root_pid]
    looked_at = [each for each in pids if pids.count(each) == 1]
    return looked_at, stretches_within_s(plan.duration_s, len(looked_at)) if looked_at else ()
