"""What it takes to apply gunicorn's knobs: each is changed, and read back from a new copy."""

import sys

import pytest
from tests.real.test_command_sites import WSGI, copies

from httpdyno.model import Level, Member, level_text
from httpdyno.servers.gunicorn import Gunicorn
from httpdyno.servers.gunicorn.knob import KNOBS
from httpdyno.servers.sandbox.available import possible

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(possible()[0] != "cell", reason="no cell can be made here"),
]

LEVELS: dict[str, Level] = {
    "workers": 3,
    "worker_class": "gthread",
    "threads": 4,
    "worker_connections": 500,
    "max_requests": 5000,
    "max_requests_jitter": 100,
    "timeout": 17,
    "graceful_timeout": 9,
    "keepalive": 7,
    "backlog": 333,
    "preload_app": True,
    "worker_tmp_dir": "/dev/shm",
    "sendfile": False,
    "reuse_port": True,
    "limit_request_line": 2000,
    "limit_request_fields": 50,
}
"""Knob → a level that is not its default."""


def test_each_knob_is_said_to_take_a_restart_and_has_a_level_here():
    assert {name: info.cost for name, info in KNOBS.items()} == dict.fromkeys(LEVELS, "restart")
    assert all(KNOBS[name].default != level for name, level in LEVELS.items())


def test_a_restart_puts_each_knob_in_force(own_folders):
    (own_folders / "shop.py").write_text(WSGI)
    member = Member(
        name="shop",
        kind="gunicorn",
        command=(sys.executable, "-m", "gunicorn", "shop", "-b", "127.0.0.1:8001"),
        folder=str(own_folders),
    )
    for name, level in LEVELS.items():
        with copies(Gunicorn(), member, {}, {name: level}) as (before, after):
            found = [each[1] for each in (before, after)]
            values = [effective.values.get(name) for effective in found]
            assert values[1] == found[1].asked[name], name
            assert values[0] != values[1], (name, level_text(level))
