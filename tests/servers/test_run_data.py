"""What is made once for a run: who sees it, how often it is made, that it is cleared away."""

import pytest
from tests.says import says

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, ServerSpec, SideCommand
from httpdyno.servers.render import Variables, render_argument
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run_data import RunData


def shell(script):
    return SideCommand(run=("sh", "-c", script), each="run")


@pytest.fixture
def root():
    with new_run_root() as root:
        yield root


def test_it_is_made_once_and_all_later_places_are_told(root, tmp_path):
    spec = ServerSpec(
        adapter="command",
        before=(shell("echo made >> {shared}/data"), SideCommand(run=("false",))),
        finish=(shell(f"cat {{shared}}/data >> {tmp_path}/cleared"),),
    )
    with RunData(spec, root) as data:
        assert data.make()
        assert not data.make()
        shared = root.new_place("start").shared
        assert shared is not None
        assert (shared / "data").read_text() == "made\n"
        assert shared.stat().st_mode & 0o777 == 0o700
        data.clear()
    assert (tmp_path / "cleared").read_text() == "made\n"


def test_nothing_is_made_where_nothing_is_asked_for(root):
    with RunData(ServerSpec(adapter="command", prepare=("false",)), root) as data:
        assert not data.make()
        assert root.new_place("start").shared is None


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_it_is_cleared_away_whatever_ends_the_run(root, tmp_path, end):
    spec = ServerSpec(adapter="command", finish=(shell(f"echo x >> {tmp_path}/cleared"),))
    data = RunData(spec, root)
    data.make()
    with pytest.raises(end), data:
        raise end
    assert (tmp_path / "cleared").read_text() == "x\n"


def test_what_fails_says_so_and_is_cleared_away(root, tmp_path):
    spec = ServerSpec(
        adapter="command",
        before=(shell("echo no seed; exit 3"),),
        finish=(shell(f"touch {tmp_path}/cleared"),),
    )
    with (
        pytest.raises(AdapterError, check=says(r"run once, failed: .* ended with 3: no seed")),
        RunData(spec, root) as data,
    ):
        data.make()
    assert (tmp_path / "cleared").exists()


def test_what_does_not_clear_away_is_an_error(root):
    with (
        pytest.raises(AdapterError, match=r"server\.finish, which is run once, failed"),
        RunData(ServerSpec(adapter="command", finish=(shell("exit 1"),)), root) as data,
    ):
        data.make()


def test_the_name_is_there_only_where_something_is_made():
    known = {"server_user": "nobody"}
    without = ServerSpec(adapter="command")
    made = ServerSpec(adapter="command", before=(shell("true"),))
    nothing, something = (
        Variables.placeholders(spec, Configuration(), **known) for spec in (without, made)
    )
    assert render_argument("{shared}/a", something, source="run") == "SHARED/a"
    assert render_argument("{{ shared }}/a", something, source="run") == "SHARED/a"
    with pytest.raises(AdapterError, match="nothing is made once for a run"):
        render_argument("{shared}/a", nothing, source="run")
