"""What a run read, and that it is told when that is not what it was."""

import hashlib
import os

import pytest
from msgspec import structs
from tests.beside import beside
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.report.sample_figures import HOST

from httpdyno.experiment.design.inputs import changed_names, changes_since, input_digests
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.model import (
    FileEntry,
    PrivateNetwork,
    Replay,
    RequestSpec,
    ServerSpec,
    Template,
    Workload,
)
from httpdyno.report.shared import message
from httpdyno.servers.own_network import network

READ = {
    "study.toml": "a study",
    "app/views.py": "an application",
    "app/deep/model.py": "more of it",
    "base.conf": "a base",
    "session.j2": "a template",
    "form.txt": "a body",
    "access.log": '::1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5\n',
}


@pytest.fixture
def filed(study, tmp_path):
    """A study that reads all kinds of files."""
    for name, text in {**READ, "app/__pycache__/views.pyc": "", "notes.txt": "unread"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return structs.replace(
        study,
        folder=str(tmp_path),
        file="study.toml",
        server=ServerSpec(
            adapter="fake",
            base="base.conf",
            files=(FileEntry(source="app", to="site"),),
            templates=(Template(source="session.j2", to="session.conf"),),
        ),
        workload=Workload(
            requests=(RequestSpec(body_file=str(tmp_path / "form.txt")),),
            arrival=Replay(log=str(tmp_path / "access.log")),
        ),
    )


def test_all_that_is_read_has_a_digest_and_nothing_else(filed):
    names = {name for name in input_digests(filed) if not name.startswith("$")}
    assert names == set(READ)


def test_a_folder_that_a_program_runs_in_is_one_thing_that_may_have_changed(filed, tmp_path):
    (tmp_path / "their" / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "their" / "lib" / "server.js").write_text("one")
    study = structs.replace(filed, server=structs.replace(filed.server, folder="their"))
    before = input_digests(study)
    (tmp_path / "their" / "lib" / "__pycache__" / "x.pyc").write_text("compiled")
    assert input_digests(study) == before
    (tmp_path / "their" / "lib" / "server.js").write_text("another")
    assert changed_names(before, input_digests(study)) == ["their/"]


def test_a_variable_that_is_handed_on_is_compared_and_its_value_stored_nowhere(filed, monkeypatch):
    study = structs.replace(
        filed, server=structs.replace(filed.server, pass_environment=("DATABASE_URL",))
    )
    monkeypatch.setenv("DATABASE_URL", "hunter2")
    before = input_digests(study)
    assert "hunter2" not in str(before)
    assert hashlib.sha256(b"hunter2").hexdigest() not in before.values()
    assert input_digests(study) == before
    monkeypatch.setenv("DATABASE_URL", "hunter3")
    assert changed_names(before, input_digests(study)) == ["$DATABASE_URL"]


def test_what_companions_read_and_inherit_is_compared_too(filed, tmp_path, monkeypatch):
    (tmp_path / "db").mkdir()
    (tmp_path / "db/schema.sql").write_text("a schema")
    (tmp_path / "front").mkdir()
    (tmp_path / "front/main.js").write_text("a program that runs in place")
    monkeypatch.setenv("PROXY_KEY", "a secret")
    db = ServerSpec(adapter="command", files=(FileEntry(source="db", to="db", exclude=("*.tmp",)),))
    front = ServerSpec(adapter="command", folder="front", pass_environment=("PROXY_KEY",))
    companions = beside(db, name="db"), beside(front, name="front")
    study = structs.replace(filed, server=structs.replace(filed.server, companions=companions))
    before = input_digests(study)
    (tmp_path / "db/left.tmp").write_text("left out")
    assert input_digests(study) == before
    (tmp_path / "db/schema.sql").write_text("another schema")
    (tmp_path / "front/main.js").write_text("another program")
    monkeypatch.setenv("PROXY_KEY", "another secret")
    changed = changed_names(before, input_digests(study))
    assert changed == ["$PROXY_KEY", "db/schema.sql", "front/"]


@pytest.mark.parametrize("named", ["conf.py", "file:conf.py"])
def test_a_configuration_that_is_read_in_place_is_compared_of_a_companion_too(
    filed, tmp_path, named
):
    (tmp_path / "conf.py").write_text("workers = 1")
    application = ServerSpec(adapter="gunicorn", settings={"config": named})
    companions = (beside(application, name="application"),)
    study = structs.replace(filed, server=structs.replace(filed.server, companions=companions))
    before = input_digests(study)
    (tmp_path / "conf.py").write_text("workers = 2")
    assert changed_names(before, input_digests(study)) == ["conf.py"]


def test_what_is_left_out_of_a_folder_is_not_read(filed):
    [app] = filed.server.files
    files = (structs.replace(app, exclude=("deep", "*.txt")),)
    study = structs.replace(filed, server=structs.replace(filed.server, files=files))
    names = {name for name in input_digests(study) if not name.startswith("$")}
    assert names == set(READ) - {"app/deep/model.py"}


@pytest.mark.parametrize("name", READ)
def test_a_changed_file_is_named(filed, name, tmp_path):
    before = input_digests(filed)
    (tmp_path / name).write_text("another", encoding="utf-8")
    assert changed_names(before, input_digests(filed)) == [name]


def test_what_came_and_what_went_is_named(filed, tmp_path):
    before = input_digests(filed)
    (tmp_path / "app" / "new.py").touch()
    (tmp_path / "base.conf").unlink()
    assert changed_names(before, input_digests(filed)) == ["app/new.py", "base.conf"]


def test_an_inherited_variable_is_named_by_its_name_alone(filed, monkeypatch):
    before = input_digests(filed)
    monkeypatch.setenv("TZ", "Antarctica/Troll")
    after = input_digests(filed)
    assert changed_names(before, after) == ["$TZ"]
    assert "Troll" not in str(after)


def test_what_a_network_of_its_own_has_of_the_machine_is_compared(filed, tmp_path, monkeypatch):
    """But not where the machine looks names up, which is another place in there."""
    here = tmp_path / "nsswitch.conf"
    monkeypatch.setattr(network, "SERVICES", str(here))
    study = structs.replace(filed, server=structs.replace(filed.server, network=PrivateNetwork()))
    none = input_digests(study)
    here.write_text("passwd: files\nhosts: files dns\n")
    before = input_digests(study)
    assert changed_names(none, before) == ["/etc/nsswitch.conf"]
    here.write_text("passwd: files\nhosts: files mdns4_minimal dns\n")
    assert changed_names(before, input_digests(study)) == []
    here.write_text("passwd: files systemd\nhosts: files dns\n")
    assert changed_names(before, input_digests(study)) == ["/etc/nsswitch.conf"]
    assert "/etc/nsswitch.conf" not in input_digests(filed)


def test_another_place_for_servers_is_another_disk_and_depth(filed, monkeypatch):
    monkeypatch.delenv("HTTPDYNO_RUN_DIR", raising=False)
    before = input_digests(filed)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", "/dev/shm/deep/in/memory")
    assert changed_names(before, input_digests(filed)) == ["$HTTPDYNO_RUN_DIR"]
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", "/tmp/no/memory")
    assert "$HTTPDYNO_MEMORY_DIR" in changed_names(before, input_digests(filed))


def test_links_are_followed_and_one_that_leads_back_ends(filed, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "tools.py").write_text("a tool", encoding="utf-8")
    (tmp_path / "app" / "lib").symlink_to(tmp_path / "shared")
    (tmp_path / "app" / "up").symlink_to(tmp_path / "app")
    before = input_digests(filed)
    (tmp_path / "shared" / "tools.py").write_text("another", encoding="utf-8")
    assert changed_names(before, input_digests(filed)) == ["app/lib/tools.py"]


def test_what_is_no_file_is_not_opened(filed, tmp_path):
    os.mkfifo(tmp_path / "app" / "pipe")
    assert input_digests(filed)["app/pipe"] == "no file"


def test_another_machine_and_another_server_are_named_with_both_values(filed):
    plan = make_plan(filed, seed=1)
    now = structs.replace(HOST, kernel="Linux 7.0", server="Apache/2.6", load_average=(9, 9, 9))
    assert message.texts(changes_since(plan, HOST, now)) == (
        "the kernel: Linux 6.1.0-26-amd64 is now Linux 7.0",
        "the server: Apache/2.4.62 (Debian) mod_perl/2.0.12 Perl/v5.36.0 is now Apache/2.6",
    )


def test_a_plan_without_digests_says_nothing_of_files_and_one_with_them_does(filed, tmp_path):
    plan = make_plan(filed, seed=1)
    assert changes_since(plan, HOST, HOST) == []
    plan = structs.replace(plan, inputs=input_digests(filed))
    assert changes_since(plan, HOST, HOST) == []
    (tmp_path / "session.j2").write_text("another", encoding="utf-8")
    [changed] = changes_since(plan, HOST, HOST)
    assert message.text(changed) == "`session.j2` was changed"


def test_a_file_that_is_changed_while_it_is_measured_with_is_a_caveat(filed, tmp_path):
    class Editing(FakeBench):
        def measure_start(self, request, save):
            if request.comparison == 1:
                (tmp_path / "app" / "views.py").write_text("edited", encoding="utf-8")
            return super().measure_start(request, save)

    plan = structs.replace(make_plan(filed, seed=1), inputs=input_digests(filed))
    bench = Editing(throughput_per_s=lambda _values: 400.0)
    store = MemoryStore()
    outcome = run_plan(plan, bench=bench, store=store, run_id="1", watch=lambda _event: None)
    [warning] = [c for c in outcome.warnings if c.code == "experiment.changed_amid_run"]
    assert "`app/views.py`" in message.text(warning.reason)


def test_what_enforces_limits_is_compared(filed):
    one, two = (structs.replace(HOST, limits_by={"memory": version}) for version in (1, 2))
    plan = make_plan(filed, seed=1)
    assert changes_since(plan, one, one) == []
    [told] = changes_since(plan, one, two)
    assert message.text(told).startswith(
        "the control groups that limit the server: memory 1 is now"
    )
