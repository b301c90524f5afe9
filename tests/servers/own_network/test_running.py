"""What is known of a server is known of it in a network of its own, too."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.words import joined

from httpdyno.experiment.trial.arm import Arm, see_limits
from httpdyno.model import Configuration, Effective, PrivateNetwork, ServerLimits, ServerSpec
from httpdyno.servers.adapter import NotRunning, Place, own_words
from httpdyno.servers.limits.limit_group import LimitGroups, limit_values
from httpdyno.servers.own_network import server
from httpdyno.servers.own_network.server import InNetwork

GROUPS = LimitGroups(values=limit_values(ServerLimits(memory="32MiB")))
HIT = "it ran into its memory limit of 32.0 MiB: the kernel killed a process of it"


LOST = own_words("the resolver of its network ended with signal 9")
HUNG = NotRunning(status="hung", detail=own_words("no answer within 20 s"))


def in_network(trouble=None, **known):
    running: Any = SimpleNamespace(**known)
    network: Any = SimpleNamespace(trouble=lambda: trouble)
    return InNetwork(running, network, {})


@pytest.mark.parametrize(("words", "status"), [(HIT, "infeasible"), ("", "complete")])
def test_whoever_ran_into_its_limit_there_is_infeasible(words, status):
    running = in_network(limits=(GROUPS,), limit_hit=lambda: own_words(words) if words else None)
    assert running.limits == (GROUPS,)
    arm = Arm(running=running)
    see_limits([arm])
    assert (arm.status, joined(arm.detail)) == (status, words)


@pytest.mark.parametrize("found", [HUNG, Effective()])
@pytest.mark.parametrize("trouble", [LOST, None])
def test_whatever_came_of_its_start_a_lost_network_was_why(found, trouble):
    running = in_network(trouble, await_ready=lambda _timeout_s: found)
    lost = NotRunning(status="unstable", detail=LOST)
    assert running.await_ready(1.0) == (lost if trouble else found)


@pytest.mark.parametrize("trouble", [LOST, None])
def test_so_it_was_where_the_server_was_not_even_begun(monkeypatch, tmp_path, trouble):
    """As one whose `prepare` waited for a name."""
    closed: list[bool] = []
    network = SimpleNamespace(
        trouble=lambda: own_words("closed") if closed else trouble,
        close=lambda: closed.append(True),
        enclosure=None,
    )
    monkeypatch.setattr(server, "open_network", lambda *_: network)
    adapter: Any = SimpleNamespace(spawn=lambda *_: HUNG)
    spec = ServerSpec(adapter="fake", network=PrivateNetwork())
    place = Place(folder=tmp_path, memory_folder=tmp_path)
    found = server.WithNetwork(adapter).spawn(spec, tmp_path, Configuration(), place)
    assert found == (NotRunning(status="unstable", detail=LOST) if trouble else HUNG)
    assert closed == [True]
