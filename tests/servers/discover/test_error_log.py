"""Which files a server that runs writes its errors to, by a made-up /proc and by its settings."""

import os
from pathlib import Path

import pytest

from httpdyno.host.runnable import user_name
from httpdyno.model import Member, Reading, Survey
from httpdyno.servers.discover.error_log import error_logs
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.servers.discover.process import ProcessFacts

PID, DAEMON_PID = 812, 900
OWNER = user_name(os.geteuid())
APPENDS, READS = 0o102001, 0o100000


def inspected(survey: Survey | None = None, **more: object) -> Inspected:
    root = ProcessFacts(pid=PID, parent=1, name="x", started_at_s=0.0)
    told: dict[str, object] = {"member": Member(name="x", kind="x"), "root": root}
    return Inspected(found=Found(**{**told, **more}), survey=survey)  # type: ignore[arg-type]


def surveyed(*errors: str) -> Survey:
    readings = (Reading(name="ErrorLog", scope=f"{n}", text=text) for n, text in enumerate(errors))
    return Survey(version="x", readings=tuple(readings))


@pytest.fixture
def open_files(tmp_path):
    """Return what makes up which files the process has open, and how."""

    def add(number: int, path: str, flags: int, pid: int = PID) -> None:
        folder = tmp_path / "proc" / str(pid)
        for name in ("fd", "fdinfo"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        os.symlink(path, folder / "fd" / f"{number}")  # noqa: PTH211 - the number first
        (folder / "fdinfo" / f"{number}").write_text(f"pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t1\n")

    return add


def test_stderr_and_what_is_called_so_are_found_once_each(open_files, tmp_path):
    proc, logs = tmp_path / "proc", {}
    for name in ("error.log", "shop.err", "access.log", "errors.html", "berries", "configured"):
        logs[name] = tmp_path / name
        logs[name].touch()
    (tmp_path / "link").symlink_to(logs["configured"])
    open_files(1, "/dev/null", APPENDS)
    open_files(2, str(logs["error.log"]), APPENDS)
    open_files(3, "pipe:[7]", APPENDS)
    open_files(9, str(logs["error.log"]), APPENDS)
    open_files(10, str(logs["shop.err"]), APPENDS)
    open_files(11, str(logs["access.log"]), APPENDS)
    open_files(13, str(logs["berries"]), APPENDS)
    open_files(12, str(logs["errors.html"]), READS)
    survey = surveyed(
        f'"{logs["configured"]}"', f"{logs['error.log']} info", "logs/mine", "/dev/stderr"
    )
    expected = [logs[name] for name in ("error.log", "shop.err", "configured")]
    assert list(error_logs([inspected(survey)], proc)) == expected


def test_several_that_are_taken_as_one_have_each_file_once(open_files, tmp_path):
    logs = [tmp_path / name for name in ("error.log", "agent.log")]
    for log in logs:
        log.touch()
    (tmp_path / "link").symlink_to(logs[0])
    open_files(2, str(logs[0]), APPENDS)
    open_files(2, str(logs[1]), APPENDS, DAEMON_PID)
    both = [inspected(), inspected(surveyed(f"{tmp_path / 'link'}"))]
    assert error_logs(both, tmp_path / "proc") == (logs[0],)
    left = error_logs(both, tmp_path / "proc", besides=[DAEMON_PID])
    assert left == (logs[0], logs[1])


def test_only_the_very_file_that_is_open_is_found_by_its_path(open_files, tmp_path):
    (tmp_path / "error.log").touch()
    open_files(2, str(tmp_path / "error.log"), APPENDS)
    server = inspected(is_elsewhere=True)
    seen = Path(f"{tmp_path}/proc/{PID}/root{tmp_path}/error.log")
    assert error_logs([server], tmp_path / "proc") == ()
    seen.parent.mkdir(parents=True)
    seen.touch()
    assert error_logs([server], tmp_path / "proc") == ()
    seen.unlink()
    seen.hardlink_to(tmp_path / "error.log")
    assert error_logs([server], tmp_path / "proc") == (seen,)


def test_a_users_server_names_logs_of_that_user_only(tmp_path):
    (tmp_path / "error.log").touch()
    survey = surveyed(f"{tmp_path / 'error.log'}", f"{tmp_path / 'later.log'}")

    def of(user: str) -> tuple[str, ...]:
        root = ProcessFacts(pid=PID, parent=1, name="x", started_at_s=0.0, user=user)
        return tuple(path.name for path in error_logs([inspected(survey, root=root)], tmp_path))

    # What root runs may write anywhere, and what is this user's he could read anyway.
    assert of("root") == of(OWNER) == ("error.log", "later.log")
    assert of("40001") == ()
    if os.geteuid() == 0:
        os.chown(tmp_path / "error.log", 40_001, 40_001)
        assert of("40001") == ("error.log",)


def test_what_may_not_be_seen_leaves_what_is_configured(tmp_path):
    missing = tmp_path / "error.log"
    assert error_logs([inspected(surveyed(f"{missing}"))], tmp_path) == (missing,)
    assert error_logs([inspected(surveyed(f"{missing}"), root=None)], tmp_path) == ()
    assert error_logs([inspected()], tmp_path) == ()


def test_a_containers_files_are_seen_through_its_process(tmp_path):
    server = inspected(surveyed("/var/log/error.log"), is_elsewhere=True)
    own = error_logs([server], tmp_path)
    assert own == (tmp_path / f"{PID}" / "root" / "var/log/error.log",)
