"""Every kind of misbehaving server: the right word, in bounded time, and nothing left of it."""

import os

import pytest
from benches.faults.misbehaving import KINDS, UP
from benches.faults.servers import SLACK_S, tried

from httpdyno.servers import ready
from httpdyno.servers.run.folder import new_run_root


@pytest.mark.parametrize("name", KINDS)
def test_it_is_told_rightly_and_leaves_nothing(name, monkeypatch):
    kind = KINDS[name]
    if kind.needs_root and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for wait in ("_LAST_TRY_S", "_BODY_S"):
        monkeypatch.setattr(ready, wait, 0.1)
    with new_run_root() as root:
        found = tried(kind, root, f"misbehaving-{os.getpid()}-{name.replace(' ', '-')}")
    assert found.complaint(kind) == ""
    assert found.left == []
    assert found.took_s < SLACK_S + kind.timeout_s * (found.said != UP)
