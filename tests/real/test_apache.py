"""Apache for real, against the conformance suite and its own peculiarities."""

import http.client
import os
import pwd
import time

import pytest
from msgspec.structs import replace
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance

from httpdyno.model import Configuration, Effective, FileEntry, ServerSpec, Template
from httpdyno.report.shared.message import joined, text, texts
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import Apache
from httpdyno.servers.apache.made import server_user
from httpdyno.servers.run.folder import new_run_root
from httpdyno.telemetry.status import status

pytestmark = pytest.mark.real_server("apache2")

BASE = """
DocumentRoot "{{ run }}/site"
<Directory "{{ run }}/site">
    Require all granted
    AllowOverride {{ 'All' if knob.htaccess else 'None' }}
</Directory>
"""


@pytest.fixture
def case(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("hello")
    (tmp_path / "base.conf.j2").write_text(BASE)
    (tmp_path / "htaccess.j2").write_text(
        "{% if knob.htaccess %}DirectoryIndex index.html{% endif %}"
    )
    return AdapterCase(
        adapter=Apache(),
        spec=ServerSpec(
            adapter="apache",
            base="base.conf.j2",
            files=(FileEntry(source="site", to="site"),),
            templates=(Template(source="htaccess.j2", to="site/.htaccess"),),
            settings={"modules": "dir mime"},
        ),
        study_folder=tmp_path,
        configuration=Configuration(
            values={"MaxRequestWorkers": 6, "KeepAlive": False, "htaccess": True}
        ),
        nonsense=Configuration(values={"KeepAlive": "perhaps", "htaccess": True}),
        words="KeepAlive must be On or Off",
    )


class TestApache(AdapterConformance):
    pass


def started(case, values, spec=None):
    """Return what came of a start."""
    with new_run_root() as root:
        running = case.stack.spawn(
            spec or case.spec,
            case.study_folder,
            Configuration(values={"htaccess": False, **values}),
            root.new_place("own"),
        )
        assert not isinstance(running, NotRunning)
        try:
            return running.await_ready(READY_S)
        finally:
            running.stop()


def test_spares_that_apache_changes_without_a_word_are_refused(case):
    answer = started(case, {"MinSpareServers": 8, "MaxSpareServers": 6})
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert text(answer.detail) == "MaxSpareServers is 9 where 6 was asked"


def test_workers_over_the_servers_limit_are_refused_in_apaches_words(case):
    answer = started(case, {"MaxRequestWorkers": 300, "ServerLimit": 100})
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert "MaxRequestWorkers is 100 where 300 was asked" in text(answer.detail)
    assert "AH00180" in text(answer.detail)


def test_the_servers_limit_grows_with_the_workers_where_it_is_no_knob(case):
    effective = started(case, {"MaxRequestWorkers": 300})
    assert isinstance(effective, Effective)
    assert effective.values["MaxRequestWorkers"] == effective.values["ServerLimit"] == "300"


def test_a_number_that_is_none_is_refused_though_apache_takes_it_for_0(case):
    answer = started(case, {"Timeout": "soon"})
    assert isinstance(answer, NotRunning)
    assert text(answer.detail) == "Timeout is 0 where soon was asked"


@pytest.mark.parametrize("mpm", ["worker", "event"])
def test_the_threaded_modules_come_up_with_their_own_defaults(case, mpm):
    effective = started(case, {}, replace(case.spec, settings={**case.spec.settings, "mpm": mpm}))
    assert isinstance(effective, Effective)


@pytest.mark.parametrize("mpm", ["prefork", "worker", "event"])
def test_the_module_that_runs_the_processes_may_be_a_knob(case, mpm):
    effective = started(case, {"mpm": mpm})
    assert isinstance(effective, Effective)
    assert effective.values["mpm"] == mpm


def test_a_virtual_host_that_sets_the_knob_otherwise_is_refused(case):
    base = case.study_folder / "base.conf.j2"
    base.write_text(BASE + "<VirtualHost *>\nKeepAlive On\n</VirtualHost>\n")
    answer = started(case, {"KeepAlive": False})
    assert isinstance(answer, NotRunning)
    assert "KeepAlive is Off (On in <VirtualHost *>) where Off was asked" in text(answer.detail)


def test_a_wrong_directive_of_the_base_file_is_refused_in_apaches_words(case):
    (case.study_folder / "base.conf.j2").write_text("KeepAlice On\n")
    answer = started(case, {})
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert "Invalid command 'KeepAlice'" in text(answer.detail)


def test_a_template_that_renders_to_nothing_is_not_written(case):
    with new_run_root() as root:
        for has_htaccess in (True, False):
            place = root.new_place("own")
            running = case.stack.spawn(
                case.spec,
                case.study_folder,
                Configuration(values={"htaccess": has_htaccess}),
                place,
            )
            assert not isinstance(running, NotRunning)
            assert (place.folder / "site" / ".htaccess").exists() == has_htaccess
            running.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up being root")
def test_started_by_root_it_answers_as_another_user_that_may_only_write_where_it_is_told(case):
    with new_run_root() as root:
        place = root.new_place("own")
        spec = replace(case.spec, writable=("state",))
        running = case.stack.spawn(spec, case.study_folder, case.configuration, place)
        assert not isinstance(running, NotRunning)
        assert isinstance(running.await_ready(READY_S), Effective)
        user = pwd.getpwnam(server_user())
        assert user.pw_uid != 0
        assert (place.folder / "state").stat().st_uid == user.pw_uid
        for path in (place.folder, place.memory_folder, *place.folder.rglob("*")):
            assert path.stat().st_uid == (user.pw_uid if path.name == "state" else 0)
            assert path.name in {"state", "tmp"} or not path.stat().st_mode & 0o022
        connection = http.client.HTTPConnection(running.addresses[0])
        connection.request("GET", "/index.html")
        assert connection.getresponse().read() == b"hello"
        connection.close()
        running.stop()


def test_interpreters_that_are_loaded_are_named_as_the_running_server_names_them(case):
    spec = replace(case.spec, settings={"modules": "dir mime perl"})
    if missing := case.stack.missing(spec):
        pytest.skip(joined(missing))
    version = case.stack.version(spec, case.study_folder)
    assert " mod_perl/" in version
    with new_run_root() as root:
        running = case.stack.spawn(
            spec, case.study_folder, case.configuration, root.new_place("perl")
        )
        assert not isinstance(running, NotRunning)
        try:
            assert isinstance(running.await_ready(READY_S), Effective)
            # Its parent says so when its workers are begun: one of them may have answered before.
            until_s, words = time.monotonic() + READY_S, ""
            while f" {version} configured " not in words and time.monotonic() < until_s:
                words = "".join(path.read_text() for path in running.error_logs())
        finally:
            running.stop()
    assert f" {version} configured " in words


def test_a_module_that_is_not_there_is_missing_in_words(case):
    spec = replace(case.spec, settings={"modules": "perl nowhere", "perl_modules": "No::Such"})
    sentences = texts(case.stack.missing(spec))
    assert "Apache's mod_nowhere is not installed: `apt-get install apache2-bin`" in sentences
    assert "the Perl module No::Such is not installed: `apt-get install libno-such-perl`" in (
        sentences
    )


def test_the_status_page_that_a_study_has_is_found_and_none_is_added(case):
    place = "<Location /status>\nSetHandler server-status\n</Location>\n"
    settings = {"modules": "dir mime status"}
    found = []
    with new_run_root() as root:
        for text in (BASE, BASE + place):
            (case.study_folder / "base.conf.j2").write_text(text)
            running = case.stack.spawn(
                replace(case.spec, settings=settings),
                case.study_folder,
                Configuration(values={"htaccess": False, "MaxRequestWorkers": 3}),
                root.new_place("own"),
            )
            assert not isinstance(running, NotRunning)
            try:
                assert isinstance(running.await_ready(READY_S), Effective)
                found.append([status(page.text(READY_S)) for page in running.status_pages()])
            finally:
                running.stop()
    assert found[0] == []
    [said] = found[1]
    assert said is not None
    assert (said.server, sum(said.states.values())) == ("Apache", 3)
