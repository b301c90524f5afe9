import os
import pwd

import pytest
from tests.says import says

from httpdyno.errors import AdapterError
from httpdyno.model import FileEntry, ServerSpec, SideCommand, Template
from httpdyno.report.shared.message import text
from httpdyno.servers.render import Variables
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.staging import (
    act,
    environment,
    finish,
    hand_over,
    last_lines,
    stage,
    writable_folders,
)


@pytest.fixture
def place():
    with new_run_root() as root:
        yield root.new_place("x")


@pytest.fixture
def variables(place):
    return Variables(
        knobs={"level": 3, "where": "memory"},
        settings={},
        run=str(place.folder),
        memory=str(place.memory_folder),
        port="1",
        server_user="nobody",
    )


def staged(study, place, variables, extra=None, **fields):
    return stage(ServerSpec(adapter="x", **fields), study, place, variables, extra=extra or {})


def test_files_and_folders_are_copied_from_the_study_and_from_anywhere(
    tmp_path, place, variables, own_folders
):
    (tmp_path / "app" / "deep").mkdir(parents=True)
    (tmp_path / "app" / "deep" / "a.py").write_text("a")
    elsewhere = own_folders / "packaged.txt"
    elsewhere.write_text("p")
    staged(
        tmp_path,
        place,
        variables,
        files=(
            FileEntry(source="app", to="app"),
            FileEntry(source=str(elsewhere), to="app/p.txt"),
            FileEntry(source="app", to="{{ memory }}/copy"),
        ),
    )
    assert (place.folder / "app/deep/a.py").read_text() == "a"
    assert (place.folder / "app/p.txt").read_text() == "p"
    assert (place.memory_folder / "copy/deep/a.py").read_text() == "a"


def test_what_is_excluded_is_left_out_at_any_depth(tmp_path, place, variables):
    for name in ("a.py", "a.log", "node_modules/x.js", "lib/node_modules/y.js", "lib/b.py"):
        (tmp_path / "app" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / name).write_text("")
    files = (FileEntry(source="app", to="app", exclude=("node_modules", "*.log")),)
    staged(tmp_path, place, variables, files=files)
    found = {str(p.relative_to(place.folder)) for p in place.folder.rglob("*") if p.is_file()}
    assert found == {"app/a.py", "app/lib/b.py"}


def test_variables_are_handed_on_by_name_and_a_missing_one_is_an_error(
    place, variables, monkeypatch
):
    spec = ServerSpec(adapter="x", pass_environment=("DATABASE_URL",))
    monkeypatch.setenv("DATABASE_URL", "postgres://here")
    assert environment(spec, variables, place)["DATABASE_URL"] == "postgres://here"
    monkeypatch.delenv("DATABASE_URL")
    with pytest.raises(AdapterError, match="gets `DATABASE_URL` from the environment"):
        environment(spec, variables, place)


def test_templates_and_the_adapters_own_files_are_written(tmp_path, place, variables):
    (tmp_path / "a.j2").write_text("{{ knob.level }}")
    staged(
        tmp_path,
        place,
        variables,
        extra={"own.conf": "own"},
        templates=(Template(source="a.j2", to="conf/{{ knob.where }}.txt"),),
    )
    assert (place.folder / "conf/memory.txt").read_text() == "3"
    assert (place.folder / "own.conf").read_text() == "own"


def test_a_missing_file_is_an_error_that_names_it(tmp_path, place, variables):
    with pytest.raises(AdapterError, match="`gone` of the study cannot be copied"):
        staged(tmp_path, place, variables, files=(FileEntry(source="gone", to="app"),))


def test_a_file_that_leads_out_of_the_place_is_refused(tmp_path, place, variables):
    (tmp_path / "a").write_text("a")
    with pytest.raises(AdapterError, match="leads out of the run folder"):
        staged(tmp_path, place, variables, files=(FileEntry(source="a", to="../../a"),))


def test_prepare_runs_in_the_run_folder_after_the_files_are_there(tmp_path, place, variables):
    (tmp_path / "seed").write_text("seed")
    refusal = staged(
        tmp_path,
        place,
        variables,
        files=(FileEntry(source="seed", to="seed"),),
        prepare=("sh", "-c", 'cp seed "{{ memory }}/{{ knob.level }}"'),
    )
    assert refusal is None
    assert (place.memory_folder / "3").read_text() == "seed"


def test_several_commands_run_in_order_each_with_its_own_time(tmp_path, place, variables):
    commands = [("sh", "-c", f"echo {n} >> {{run}}/order") for n in (1, 2)]
    before = tuple(SideCommand(run=command) for command in commands)
    assert staged(tmp_path, place, variables, before=before) is None
    assert (place.folder / "order").read_text() == "1\n2\n"
    slow = (SideCommand(run=("sleep", "600"), timeout_s=0.05), *before)
    refusal = staged(tmp_path, place, variables, before=slow)
    assert refusal is not None
    assert (refusal.status, text(refusal.detail)) == (
        "hung",
        "`sleep 600` did not end within 0.05 s",
    )


def test_all_commands_after_a_start_are_run_and_a_failure_is_loud(place, variables):
    commands = [("sh", "-c", "echo no; exit 3"), ("sh", "-c", "echo $A > {run}/cleared")]
    spec = ServerSpec(adapter="x", finish=tuple(SideCommand(run=run) for run in commands))
    with pytest.raises(AdapterError, check=says(r"server.finish failed: .* ended with 3: no")):
        finish(spec, variables, place, {"A": "in order", "PATH": "/bin:/usr/bin"})
    assert (place.folder / "cleared").read_text() == "in order\n"


def test_a_prepare_command_that_fails_says_so_in_its_own_words(tmp_path, place, variables):
    words = "echo no seeds today; exit {{ knob.level }}"
    refusal = staged(tmp_path, place, variables, prepare=("sh", "-c", words))
    assert refusal.status == "refused"
    assert text(refusal.detail).endswith("` ended with 3: no seeds today")


def test_words_of_a_start_are_the_same_in_the_next_one(tmp_path, place, variables):
    """Its folders have another path each time, and are gone when somebody reads of them."""
    failing = ("sh", "-c", "echo {run}/cache is not {memory}/cache; exit {knob.level}")
    words = (
        "`sh -c echo {run}/cache is not {memory}/cache; exit 3` ended with 3: "
        "{run}/cache is not {memory}/cache"
    )
    wrong = act(variables, place, {"PATH": "/bin"}, SideCommand(run=failing))
    assert wrong is not None
    assert text(wrong) == words
    refusal = staged(tmp_path, place, variables, prepare=failing)
    assert text(refusal.detail) == words


def test_a_prepare_command_may_not_take_for_ever(tmp_path, place, variables, monkeypatch):
    monkeypatch.setattr("httpdyno.servers.staging._PREPARE_S", 0.05)
    refusal = staged(tmp_path, place, variables, prepare=("sleep", "600"))
    assert refusal.status == "hung"
    assert text(refusal.detail) == "`sleep 600` did not end within 0.05 s"


def test_the_environment_is_small_and_has_the_studys_rendered(place, variables, monkeypatch):
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--workers 99")
    monkeypatch.setenv("PERL5LIB", "/somewhere")
    spec = ServerSpec(adapter="x", environment={"LEVEL": "{{ knob.level }}", "LANG": "C"})
    found = environment(spec, variables, place)
    assert found["LEVEL"] == "3"
    assert found["LANG"] == "C"
    assert found["TMPDIR"].startswith(str(place.folder))
    assert "GUNICORN_CMD_ARGS" not in found
    assert "PERL5LIB" not in found
    assert "PATH" in found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_only_what_is_writable_is_handed_over_and_never_what_links_lead_to(
    tmp_path, place, variables, own_folders
):
    outside = own_folders / "outside"
    outside.write_text("mine")
    spec = ServerSpec(adapter="x", writable=("state", "{{ memory }}/deep/er"))
    stage(spec, tmp_path, place, variables, extra={"own.conf": "own", "lib/a": "a"})
    environment(spec, variables, place)
    (place.folder / "own.conf").chmod(0o777)
    (place.folder / "state" / "file").write_text("x")
    (place.folder / "state" / "link").symlink_to(outside)
    hand_over(place, "nobody", writable_folders(spec, variables))
    theirs = pwd.getpwnam("nobody").pw_uid
    given = {
        str(path.relative_to(home))
        for home in (place.folder, place.memory_folder)
        for path in (home, *home.rglob("*"))
        if path.lstat().st_uid == theirs
    }
    assert given == {"state", "state/file", "state/link", "deep/er"}
    assert outside.stat().st_uid == 0
    modes = {
        path.name: oct(path.stat().st_mode & 0o7777)
        for path in (place.folder, place.folder / "own.conf", place.folder / "tmp")
    }
    assert modes == {place.folder.name: "0o750", "own.conf": "0o750", "tmp": "0o1770"}


@pytest.mark.parametrize("name", [".", "{{ memory }}", "conf", "../elsewhere"])
def test_what_root_reads_cannot_be_writable(tmp_path, place, variables, name):
    with pytest.raises(AdapterError, match=r"cannot be writable|leads out of the run folder"):
        staged(tmp_path, place, variables, extra={"conf/own.conf": "own"}, writable=(name,))


def test_last_words_are_few_and_short():
    text = "\n".join(["first", "", *(f"line {n}" for n in "abcdefghi"), "x" * 999, ""])
    lines = last_lines(text).splitlines()
    assert lines[:4] == ["line f", "line g", "line h", "line i"]
    assert lines[4] == "x" * 300
    assert last_lines("\n \n") == ""
    again = "09:21:17 *297 connect() failed\n09:21:17 ready\n09:21:18 *299 connect() failed"
    assert last_lines(again) == "09:21:17 ready\n09:21:18 *299 connect() failed"
