"""The server of a load test looked at under a little more of the same load."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import HttpdynoError
from httpdyno.experiment.looking import looks_in, wants_longer
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.plan import LoadPlan
from httpdyno.load.target import UNIX
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import LoadOutcome, Look
from httpdyno.servers.source.answering import answering
from httpdyno.servers.source.find import Found
from httpdyno.servers.source.machine import this_machine
from httpdyno.telemetry.look.onlooker import Onlooker
from httpdyno.units import format_duration

Seconds = Sequence[float]


def with_look(
    outcome: LoadOutcome,
    plan: LoadPlan,
    stretches_s: Seconds,
    is_over: Callable[[], bool],
    *,
    is_asked: bool,
) -> LoadOutcome:
    """Return a test's outcome with a look at the server that it loaded, where that runs here.

    Args:
        outcome: What was measured, which stays as it is.
        plan: How.
        stretches_s: How long a look may take, and another where that was too short; at least one.
        is_over: Whether an end is asked for: then there is no look.
        is_asked: Whether somebody wants one: then it is said why there is none.
    """
    try:
        servers = answering(plan.address, this_machine())
        if not servers:
            nobody = f"no process of this machine listens at `{plan.address}`"
            return structs.replace(outcome, not_looked=nobody) if is_asked else outcome
        look = _longest_look(plan, servers, stretches_s, is_over)
    except HttpdynoError as error:
        return structs.replace(outcome, not_looked=str(error))
    except Exception as error:  # what was not seen loses no test, and is told
        words = f"because of a fault of httpdyno's: {error!r}"
        return structs.replace(outcome, not_looked=words)
    if look is None:
        return outcome
    if doubt := _doubt(look, plan.address, servers, is_longest=len(stretches_s) > 1):
        return structs.replace(outcome, not_looked=doubt)
    return structs.replace(outcome, look=look, bottleneck=bottleneck(look))


def _longest_look(
    plan: LoadPlan, servers: Sequence[Found], stretches_s: Seconds, is_over: Callable[[], bool]
) -> Look | None:
    """Return what was seen, for longer where that is to be; None where an end is asked for."""
    roots = [each.root.pid for each in servers if each.root is not None]
    look = None
    for load_s in stretches_s:
        more = format_duration(load_s)
        tell(f"{more} more of the same load, in no figure, to look at the server meanwhile")
        look = _looked(plan, roots, load_s, is_over)
        if look is None or is_over():
            return None
        if not wants_longer(look):
            break
    return look


def _looked(
    plan: LoadPlan, roots: Sequence[int], load_s: float, is_over: Callable[[], bool]
) -> Look | None:
    window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=load_s)
    start = partial(_start, plan, window)
    return looks_in([Onlooker(roots)], [window], start, [plan.workload], is_over).get(0)


def _start(plan: LoadPlan, window: WindowPlan, on_edge: Edge) -> LoadHandle:
    return start_load(
        plan.workload,
        [plan.address],
        [window],
        threads=plan.threads,
        cpus=plan.cpus,
        seed=plan.seed,
        spin_s=plan.spin_s,
        on_edge=on_edge,
    )


def _doubt(look: Look, address: str, servers: Sequence[Found], *, is_longest: bool) -> str:
    """Return why a look says nothing of who answered; empty where it does."""
    # A container's port is forwarded by the kernel, while a proxy of it listens there too.
    if not (look.cpu_s or look.connections or address.startswith(UNIX)):
        names = " and ".join(map(str, servers))
        return f"{names} listens at `{address}` and was idle, so somebody else answers for it"
    if wants_longer(look) and not is_longest:
        return (
            f"its workers come and go, or are so many, that {format_duration(look.seconds)} say "
            "nothing; `--look` takes longer"
        )
    return ""
