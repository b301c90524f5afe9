"""What looks at a server tell as they come, of made-up looks."""

from dataclasses import replace

from tests.report.watch.test_watch import ROOT_PID, look, worker

from httpdyno.cli.watch import Watching
from httpdyno.reason import because
from httpdyno.telemetry.profile.counters import Disk
from httpdyno.telemetry.watched import ServerSample, Watcher


class MadeUp(Watcher):
    """A server whose disk transfers may not be seen, for three looks."""

    def __init__(self) -> None:
        self._left = [0.0, 1.0, 2.0]
        self.were_last: list[bool] = []

    def look(self, *, is_last: bool = False) -> ServerSample | None:
        self.were_last.append(is_last)
        if not self._left:
            return None
        hidden = Disk(
            at_s=0.0,
            seconds=0.0,
            moved=None,
            hidden=because("telemetry.disk", why=because("telemetry.not_visible")),
        )
        now = look(self._left.pop(0), worker(ROOT_PID))
        return replace(now, disk=hidden)


def test_what_may_not_be_seen_is_told_once_and_in_no_line(capsys):
    Watching(watcher=MadeUp(), title="x", every_s=0.001).lines(None)
    out, err = capsys.readouterr()
    assert err.count("disk reads and writes not visible without root") == 1
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "1.0 s",
        "2.0 s",
        "the server has ended, after 2 s",
    ]
    assert "disk" not in out


def test_the_last_of_so_many_looks_is_known_as_that(capsys):
    watcher = MadeUp()
    Watching(watcher=watcher, title="x", every_s=0.001).lines(1)
    assert watcher.were_last == [False, True]
    watcher = MadeUp()
    assert Watching(watcher=watcher, title="x", every_s=0.001).twice()
    assert watcher.were_last == [False, True]
    watcher = MadeUp()
    Watching(watcher=watcher, title="x", every_s=0.001).lines(None)
    assert not any(watcher.were_last)
