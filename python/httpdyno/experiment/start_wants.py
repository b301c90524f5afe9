"""What is looked at and counted of the servers of some starts, when their windows are over."""

from collections.abc import Mapping, Sequence
from functools import partial

from httpdyno.experiment.arm_load import Place
from httpdyno.experiment.look_cost import header_cost
from httpdyno.experiment.looks_afterwards import Wanted
from httpdyno.experiment.own_account import looking_at
from httpdyno.experiment.start_arm import Arm
from httpdyno.experiment.watches import watches_of
from httpdyno.metrics import sources
from httpdyno.model import Study
from httpdyno.servers.adapter import Running


def start_wants(
    study: Study,
    starts: Sequence[Sequence[Arm]],
    running: Mapping[Place, Running],
    looks: Mapping[int, bool],
) -> Wanted:
    """Return what these servers are wanted for, after what a study claims and what is to be seen.

    Args:
        study: Theirs.
        starts: All arms of starts that are side by side.
        running: Those that are up.
        looks: By the arm's number, those that nobody looked at yet, and whether the system calls
            of such a one are to be counted as well. The first start has the looks.
    """
    watches = watches_of(study.objective)
    roots = {place: each.root_pids for place, each in running.items()}
    seen = [place for place in running if place.start == 0 and place.arm in looks]
    return Wanted(
        onlookers={
            place: partial(looking_at, running[place], starts[place.start][place.arm].statsd)
            for place in seen
        },
        traced={place: roots[place] for place in seen if looks[place.arm]},
        counted=roots if "system calls" in sources(study.objective.named) else {},
        watches=watches,
        watched=roots if watches else {},
        header=header_cost(study),
    )
