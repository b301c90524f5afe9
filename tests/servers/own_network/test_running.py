"""What is known of a server is known of it in a network of its own, too."""

from types import SimpleNamespace
from typing import Any

import pytest

from httpdyno.experiment.start_arm import Arm
from httpdyno.experiment.start_limit import limits_of, see_limits
from httpdyno.model import ServerLimits
from httpdyno.servers.limit_group import LimitGroups
from httpdyno.servers.limit_values import limit_values
from httpdyno.servers.own_network.running import InNetwork

GROUPS = LimitGroups(values=limit_values(ServerLimits(memory="32MiB")))
HIT = "it ran into its memory limit of 32.0 MiB: the kernel killed a process of it"


def in_network(**known):
    server: Any = SimpleNamespace(**known)
    network: Any = SimpleNamespace()
    return InNetwork(server, network, {})


@pytest.mark.parametrize(("words", "status"), [(HIT, "infeasible"), ("", "complete")])
def test_whoever_ran_into_its_limit_there_is_infeasible(words, status):
    running = in_network(limits=(GROUPS,), limit_hit=lambda: words)
    assert limits_of(running) == (GROUPS,)
    arm = Arm(running=running)
    see_limits([arm])
    assert (arm.status, arm.detail) == (status, words)


def test_what_knows_of_no_limits_has_none_there():
    running = in_network()
    assert (limits_of(running), running.limit_hit()) == ((), "")
