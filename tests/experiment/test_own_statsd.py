"""gunicorns heard while somebody looks at them; packets here are sent by the test."""

import os
import socket
from contextlib import closing
from typing import Any, cast

import pytest
from tests.experiment.test_own_account import SEEN, Onlooking
from tests.words import words

from httpdyno.experiment.trial.look import Hearing
from httpdyno.reason import because
from httpdyno.servers.gunicorn import statsd
from httpdyno.servers.gunicorn.statsd import (
    NO_STATSD,
    KeptPlace,
    OwnStatsd,
    own_statsd,
    place_to_hear,
)

ANOTHER = because("gunicorn.statsd_taken", peer="127.0.0.1:9125")
ANSWER = (
    b"gunicorn.request.duration:20.5|ms",
    b"gunicorn.requests:1|c|@1.0",
    b"gunicorn.request.status.200:1|c|@1.0",
)


def bound():
    place = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    place.bind(("127.0.0.1", 0))
    return place


@pytest.fixture
def sender():
    """A socket that sends to a port of loopback where nobody is."""
    with closing(bound()) as place, closing(bound()) as found:
        port = place.getsockname()[1]
        place.close()
        found.connect(("127.0.0.1", port))
        yield found


def kept(sender):
    peer = f"127.0.0.1:{sender.getpeername()[1]}"
    place = place_to_hear(os.getpid(), peer)
    place.setblocking(False)
    return KeptPlace(peer=peer, ports=frozenset({sender.getsockname()[1]}), place=place)


class Server:
    """One that listens at the port that it sends to, or at another one."""

    root_pids = (os.getpid(),)

    def __init__(self, sender, *, is_own=True):
        port = sender.getpeername()[1]
        self.addresses = (f"127.0.0.1:{port if is_own else port - 1}", "unix:/run/shop.sock")

    def companions(self):
        return {}


def looked(statsd, *packets, sender):
    """Look while these are sent."""
    hearing = Hearing(Onlooking(), statsd)
    hearing.start()
    for packet in packets:
        sender.send(packet)
    return hearing.stop()


def test_what_it_sends_is_added_up(sender):
    with closing(OwnStatsd(places=(kept(sender),), untold=(ANOTHER,))) as statsd:
        look = looked(
            statsd, *ANSWER, ANSWER[1], b"gunicorn.request.duration:10.5|ms", sender=sender
        )
    [account] = look.own
    assert (account.server, account.of, account.n_answers) == ("gunicorn", "workers", 2)
    assert account.answer_s == pytest.approx(0.0155)
    assert account.requests_per_s is not None
    assert account.requests_per_s > 0
    assert look.hidden == (*SEEN.hidden, ANOTHER)


def test_what_came_before_is_of_windows_and_what_others_send_is_theirs(sender):
    with closing(OwnStatsd(places=(kept(sender),))) as statsd:
        for _ in range(50):
            sender.send(ANSWER[1])  # nobody reads, and it is not refused
        hearing = Hearing(Onlooking(), statsd)
        hearing.start()
        sender.send(ANSWER[1])
        with closing(bound()) as other:
            other.sendto(ANSWER[1], sender.getpeername())
        [account] = hearing.stop().own
    assert account.n_answers == 1


def test_packets_that_there_was_no_room_for_leave_the_rate_untold(sender):
    class Overrun:
        """A place whose buffer ran over between two packets."""

        peer = "127.0.0.1:8125"

        def __init__(self):
            self._left = [[], [(ANSWER[1], 4), (ANSWER[0], 4), (ANSWER[1], 11)]]

        def packets(self):
            return self._left.pop(0) if self._left else []

    look = looked(OwnStatsd(places=(Overrun(),)), sender=sender)  # type: ignore[arg-type]
    [account] = look.own
    assert (account.requests_per_s, account.answer_s) == (None, pytest.approx(0.0205))
    assert account.remarks == (because("telemetry.packets_lost", n=7),)


def test_one_that_sends_nothing_is_told(sender):
    with closing(OwnStatsd(places=(kept(sender),))) as statsd:
        place = statsd.places[0].peer
        look = looked(statsd, b"gunicorn.workers:4|g", sender=sender)
        assert (look.own, look.hidden) == ((), SEEN.hidden)
        look = looked(statsd, sender=sender)
    *before, none_came = look.hidden
    assert before == [*SEEN.hidden]
    assert words(none_came) == f"what it sends by statsd to {place}: none came"


def test_only_places_of_a_studys_own_are_taken(sender, monkeypatch):
    peer = f"127.0.0.1:{sender.getpeername()[1]}"
    assert own_statsd(cast(Any, Server(sender))) == NO_STATSD, "it is no gunicorn"
    monkeypatch.setattr(statsd, "_NAME", b"")
    with closing(own_statsd(cast(Any, Server(sender)))) as found:
        assert [(each.peer, each.ports) for each in found.places] == [
            (peer, frozenset({sender.getsockname()[1]}))
        ]
        sender.send(ANSWER[1])
        sender.send(ANSWER[1])
        taken = own_statsd(cast(Any, Server(sender)))
        assert taken.untold == (because("gunicorn.statsd_taken", peer=peer),)
    machines = own_statsd(cast(Any, Server(sender, is_own=False)))
    assert machines.places == ()
    assert machines.untold == (because("gunicorn.statsd_elsewhere", peer=peer),)


def test_a_companion_is_not_heard(sender, monkeypatch):
    monkeypatch.setattr(statsd, "_NAME", b"")

    class Behind(Server):
        def companions(self):
            return {"cache": self}

    assert own_statsd(cast(Any, Behind(sender))) == NO_STATSD
