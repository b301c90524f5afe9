"""A gunicorn of a study that sends statsd, as its configuration says, and is heard in looks."""

import sys
import urllib.request

import pytest

from httpdyno.experiment.trial.arm import Arm
from httpdyno.experiment.trial.look import looking_at
from httpdyno.model import Configuration, Effective, FileEntry, ServerSpec
from httpdyno.servers.command.server import Command
from httpdyno.servers.gunicorn.server import Gunicorn
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.templates import TemplateStack

pytestmark = pytest.mark.real_server

N_REQUESTS = 40
APPLICATION = """
import time

def application(environ, start_response):
    time.sleep(0.01)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
OWN = ServerSpec(
    adapter="gunicorn",
    base="base.py",
    files=(FileEntry(source="hello.py", to="hello.py"),),
    settings={"application": "hello:application"},
)
COMMAND = ServerSpec(
    adapter="command",
    files=(FileEntry(source="hello.py", to="hello.py"),),
    command=(
        *(sys.executable, "-m", "gunicorn", "--chdir", "{run}", "--bind", "{address}"),
        *("--no-control-socket", "--statsd-host", "{address}", "hello"),
    ),
)


def refused(arm):
    """Return how often its log says that nobody was there."""
    return sum(log.read_text().count("Error sending") for log in arm.running.error_logs())


def asked(arm, n):
    for _ in range(n):
        urllib.request.urlopen(f"http://{arm.running.addresses[0]}", timeout=10).close()


@pytest.mark.parametrize(("adapter", "spec"), [(Gunicorn(), OWN), (Command(), COMMAND)])
def test_it_is_heard_in_looks_and_refused_nowhere(adapter, spec, tmp_path):
    (tmp_path / "hello.py").write_text(APPLICATION)
    (tmp_path / "base.py").write_text('statsd_host = "127.0.0.1:{{ port }}"\n')
    root = new_run_root()
    stack = TemplateStack(adapter)
    arm = Arm.of(stack.spawn(spec, tmp_path, Configuration(), root.new_place("it")))
    try:
        arm.await_ready()
        assert isinstance(arm.effective, Effective)
        assert arm.status == "complete", arm.detail
        assert arm.running is not None
        before = refused(arm)
        asked(arm, N_REQUESTS)  # as in windows: nobody reads
        looking = looking_at(arm.running, arm.statsd)
        looking.start()
        asked(arm, N_REQUESTS)
        [account] = looking.stop().own
        # What was refused last, before it was ready, it learns when it sends again.
        assert refused(arm) <= before + 1
    finally:
        arm.statsd.close()
        if arm.running is not None:
            arm.running.stop()
        root.release()
    assert account.server == "gunicorn"
    # An answer is told when it was sent: one may be too late, as the one before the look.
    assert N_REQUESTS - 1 <= account.n_answers <= N_REQUESTS + 1
    assert account.answer_s is not None
    assert 0.01 <= account.answer_s < 1
