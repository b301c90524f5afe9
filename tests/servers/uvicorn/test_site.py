from pathlib import Path

import pytest
from tests.servers.nginx.seats import OpenSeat

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Configuration, Member
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.uvicorn import Uvicorn

NOTHING = MemberFiles(texts={})


def surveyed(*more, **fields):
    command = ("uvicorn", "shop:app", *more)
    member = Member(name="shop", kind="uvicorn", command=command, folder="/srv", **fields)
    return Uvicorn().survey(member, NOTHING, None)


def test_settings_are_as_its_command_line_has_them():
    survey = surveyed("--workers", "3", "--no-access-log", "--port=9000")
    knobs = Uvicorn().knobs(survey)
    as_found = {name: knobs[name].default for name in ("workers", "access_log", "loop", "backlog")}
    assert as_found == {"workers": 3, "access_log": False, "loop": "auto", "backlog": 2048}
    assert [each.address for each in survey.listeners] == ["127.0.0.1:9000"]
    assert surveyed("--uds", "/run/s").listeners[0].address == "unix:/run/s"
    assert surveyed("--uds", "s").listeners[0].address == "unix:/srv/s"
    assert surveyed("--host", "localhost").listeners[0].address == "127.0.0.1:8000"
    assert surveyed("--host", "::1").listeners[0].address == "[::1]:8000"


def test_a_socket_that_nobody_hands_a_copy_is_refused_with_the_way_out():
    refused = surveyed("--fd", "0")
    assert isinstance(refused, NotRunning)
    assert "its socket is file descriptor 0" in text(refused.detail)
    assert "`--port 8000`" in text(refused.detail)


def test_workers_of_a_variable_that_may_not_be_read_are_not_guessed(monkeypatch):
    monkeypatch.delenv("WEB_CONCURRENCY", raising=False)
    assert "workers" not in Uvicorn().knobs(surveyed(environment_names=("WEB_CONCURRENCY",)))


def test_workers_of_a_variable_are_what_it_says_but_for_a_flag(monkeypatch):
    monkeypatch.setenv("WEB_CONCURRENCY", "3")
    names = ("WEB_CONCURRENCY",)
    for more, n in (((), 3), (("--workers", "2"), 2)):
        knobs = Uvicorn().knobs(surveyed(*more, environment_names=names))
        assert knobs["workers"].default == n


def test_changes_are_flags_at_the_end():
    survey = surveyed("--limit-concurrency", "9")
    changes = Uvicorn().change_set(survey, NOTHING, {"workers": 2, "loop": "auto"})
    assert changes == ChangeSet(arguments=("--workers", "2"))
    with pytest.raises(AdapterError, match="no flag takes limit_concurrency back to none"):
        Uvicorn().change_set(survey, NOTHING, {"limit_concurrency": 0})
    with pytest.raises(AdapterError, match="expected at least 1"):
        Uvicorn().change_set(survey, NOTHING, {"workers": 0})


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("--host", "0.0.0.0"), ["--host", "127.0.0.9", "--port", "9"]),
        (("--uds", "/run/s"), ["--uds", "/seat/s"]),
    ],
)
def test_outside_of_a_cell_it_is_told_where_to_listen(words, flags):
    command = ("uvicorn", "shop:app", *words)
    member = Member(name="shop", kind="uvicorn", command=command, folder="/srv")
    survey = surveyed(*words)
    ports = {"0.0.0.0:8000": "127.0.0.9:9", "unix:/run/s": "unix:/seat/s"}
    seat = OpenSeat(folder=Path("/seat"), ports=ports)
    launch = Uvicorn().launch(member, survey, seat, Configuration(), ChangeSet())
    assert launch.command == [*command, *flags]
