import socket

import pytest
from msgspec.structs import replace

from httpdyno.host import process_identity
from httpdyno.host.process_identity import ProcessIdentity
from httpdyno.store.run_store import held_by, may_be_at_it

ME = ProcessIdentity.me()


@pytest.mark.parametrize(
    ("owner", "is_shared", "may_be"),
    [
        (ME, False, True),
        (replace(ME, start_ticks=1), False, False),
        (replace(ME, boot="another"), False, False),
        (replace(ME, host="another", start_ticks=1), True, True),
        (replace(ME, host="another", start_ticks=1), False, False),
        (replace(ME, pid_namespace="pid:[1]", start_ticks=1), False, True),
    ],
)
def test_who_cannot_be_looked_for_counts_as_alive(owner, is_shared, may_be, monkeypatch):
    monkeypatch.setattr(process_identity, "_FIRST_PID_NAMESPACE", "not ours")
    assert may_be_at_it(owner, is_shared=is_shared) == may_be


def test_who_may_be_at_it_is_named_and_what_to_do(monkeypatch):
    monkeypatch.setattr(process_identity, "_FIRST_PID_NAMESPACE", "not ours")
    who = f"process {ME.pid} on {socket.gethostname()}"
    error = held_by(ME, "7")
    assert str(error) == f"run 7 is still being measured by {who}"
    assert "stop it" in error.hint
    error = held_by(replace(ME, pid_namespace="pid:[1]"), "7")
    assert str(error) == f"run 7 may still be measured by {who}, which cannot be seen from here"
    assert "on the host" in error.hint
