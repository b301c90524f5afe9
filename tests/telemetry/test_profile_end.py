"""What is asked of the kernel to tell what descriptors are, and what is said where it is silent."""

from tests.telemetry.waiting_server import PARENT, looked_at, waiting

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import Diagnosis
from httpdyno.reason import because
from httpdyno.telemetry.profile import end
from httpdyno.telemetry.profile.end import Ends


def test_all_connections_are_asked_for_once_for_however_many_processes(monkeypatch):
    asked = []

    class Counted(Diagnosis):
        def connections(self):
            asked.append(self)
            return super().connections()

    monkeypatch.setattr(end, "Diagnosis", Counted)
    # A socket that is not connected is never among them, as one to a collector of statistics.
    spare = "spare = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
    with waiting(f"{spare}\nworkers(12, signal.pause)\n{PARENT}") as (pid, _):
        seen = looked_at(pid, 0.1)
    assert seen.workers == 12.0
    # As it begins and as it ends.
    assert len(asked) <= 2


def test_a_kernel_that_does_not_tell_who_listens_is_named_once(monkeypatch):
    class Silent(Diagnosis):
        def listening(self):
            raise AdapterError("the sockets cannot be told: not supported")

    monkeypatch.setattr(end, "Diagnosis", Silent)
    ends = Ends([""])
    try:
        ends.begin()
        ends.begin()
    finally:
        ends.close()
    assert ends.hidden == (
        because("telemetry.sockets", error="the sockets cannot be told: not supported"),
    )
