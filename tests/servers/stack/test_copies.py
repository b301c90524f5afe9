"""A toy site in cells of its own: as rendered, as run, as refused."""

import dataclasses
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.adapter import complaint_of
from tests.servers.stack.toy import Toy

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import kept_bytes
from httpdyno.model import Configuration, Effective, Member, ServerLimits, ServerSpec, Site
from httpdyno.report.shared.message import text, texts
from httpdyno.report.study.their_files import patch_text
from httpdyno.servers.adapter import NotRunning, own_words
from httpdyno.servers.difference import difference
from httpdyno.servers.limits.limit_group import limits_complaint
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot

SPEC = ServerSpec(adapter=SITE)
READY_S = 20.0
NO_LIMITS = ServerLimits()
CANNOT = limits_complaint([ServerLimits(memory="any")])
CALLER = """
import socket
try:
    socket.socket(socket.AF_UNIX).connect("/nobody/db.sock")
except OSError:
    pass
"""
TEXT = "# mine\nanswer = 1\nport = 8080\nwrites = {writes}\n"


@pytest.fixture
def theirs(tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "main.toy"
    file.write_text(TEXT.format(writes=tmp_path / "data"))
    return file


def site_of(file, adapter=None, isolation="auto", limits=NO_LIMITS):
    adapter = adapter or Toy()
    member = Member(name="front", kind="toy", main=str(file), limits=limits)
    files = adapter.read(member)
    found = Found(member=member, files=files, survey=adapter.survey(member, files, None))
    site = Site(members=(member,), isolation=isolation)
    snapshot = Snapshot(members={"front": found})
    return CopyStack(site, snapshot, {"toy": adapter}, seat_maker(isolation))


def asked(running, path="/"):
    return ask(
        running.addresses[0],
        path,
        Patience(5),
        body_patience=Patience(5),
        most_bytes=1000,
        network=running.networks[0],
        host="toy.example",
    )


def answer(value):
    return Configuration(values={"front:answer": value})


def test_a_difference_is_one_of_their_own_file(theirs):
    server, folder = site_of(theirs), theirs.parent
    rendered = [server.render(SPEC, folder, answer(value)) for value in ("1", "2")]
    assert difference(*rendered) == (
        f"--- {theirs}\n+++ {theirs}\n@@ -1,4 +1,4 @@\n"
        " # mine\n-answer = 1\n+answer = 2\n port = 8080\n"
        f" writes = {folder / 'data'}\n"
    )


def test_a_difference_names_the_file_that_a_link_leads_to(theirs):
    real = theirs.parent / "available.toy"
    theirs.rename(real)
    theirs.symlink_to("available.toy")
    server, folder = site_of(theirs), theirs.parent
    rendered = [server.render(SPEC, folder, answer(value)) for value in ("1", "2")]
    assert difference(*rendered).startswith(f"--- {real}\n+++ {real}\n@@ -1,4 +1,4 @@\n")


def test_patch_takes_a_difference_whatever_bytes_are_around_it(theirs):
    before = b"caf\xe9\r\n\x0c page\r\nanswer = 1\nport = 8080\nwrites = \xe2\x80\xa8\nno end"
    theirs.write_bytes(before)
    server, folder = site_of(theirs), theirs.parent
    rendered = [server.render(SPEC, folder, answer(value)) for value in ("1", "2")]
    patch = kept_bytes(patch_text(difference(*rendered)))
    command = ["patch", "-p1", "-d", "/"]
    subprocess.run(command, input=patch, check=True, capture_output=True, timeout=10)
    assert theirs.read_bytes() == before.replace(b"answer = 1", b"answer = 2")


def test_knobs_have_whole_names_and_start_as_found(theirs):
    knobs = site_of(theirs).knobs()
    assert {name: info.default for name, info in knobs.items()} == {"front:answer": "1"}


def test_what_cannot_be_set_is_a_complaint(theirs):
    server = site_of(theirs)
    wrong = Configuration(values={"front:colour": "red"})
    assert complaint_of(server, SPEC, theirs.parent, wrong) == "a toy has no colour"
    assert complaint_of(server, SPEC, theirs.parent, answer("2")) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="the cell is made by root here")
class TestInCells:
    def test_two_copies_at_one_port_each_with_its_own_answer(self, theirs):
        server = site_of(theirs)
        with new_run_root() as root:
            arms = [
                server.spawn(SPEC, theirs.parent, answer(value), root.new_place("arm"))
                for value in ("1", "2")
            ]
            try:
                for arm, value in zip(arms, ("1", "2"), strict=True):
                    ready = arm.await_ready(READY_S)
                    assert isinstance(ready, Effective), ready
                    assert ready.values == {"front:answer": value}
                    assert ready.evidence == {"front:answer": "read"}
                    assert arm.addresses == ("127.0.0.1:8080",)
                    assert asked(arm).body == f"{value} toy.example".encode()
            finally:
                for arm in arms:
                    arm.stop()
        assert "answer = 1" in theirs.read_text()

    def test_two_copies_at_one_unix_socket_each_with_its_own_answer(self, theirs):
        path = theirs.parent / "data/front.sock"
        theirs.write_text(f"{theirs.read_text()}unix = {path}\n")
        server = site_of(theirs)
        with socket.socket(socket.AF_UNIX) as others, new_run_root() as root:
            others.bind(str(path))  # as theirs, which runs
            others.listen()
            arms = [
                server.spawn(SPEC, theirs.parent, answer(value), root.new_place("arm"))
                for value in ("1", "2")
            ]
            try:
                for arm, value in zip(arms, ("1", "2"), strict=True):
                    ready = arm.await_ready(READY_S)
                    assert isinstance(ready, Effective), ready
                    assert asked(arm).body == f"{value} toy.example".encode()
            finally:
                for arm in arms:
                    arm.stop()
            paths = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
            assert not any("front.sock" in each for each in paths)

    def test_what_a_copy_writes_stays_in_its_cell(self, theirs):
        server = site_of(theirs)
        with new_run_root() as root:
            place = root.new_place("arm")
            running = server.spawn(SPEC, theirs.parent, answer("1"), place)
            try:
                assert isinstance(running.await_ready(READY_S), Effective)
                assert asked(running, "/write").status == 200
                assert running.seat.written() == (str(theirs.parent / "data/written"),)
            finally:
                running.stop()
            assert not place.folder.exists()
        assert list((theirs.parent / "data").iterdir()) == []

    def test_what_it_tries_to_reach_once_it_is_up_is_told(self, theirs):
        with new_run_root() as root:
            running = site_of(theirs).spawn(SPEC, theirs.parent, answer("1"), root.new_place("arm"))
            try:
                assert isinstance(running.await_ready(READY_S), Effective)
                assert asked(running).status == 200
                before = running.tried()
                assert asked(running, "/call").status == 200
                said = running.seat.run([sys.executable, "-I", "-S", "-c", CALLER], environment={})
                tried = running.tried()
            finally:
                running.stop()
        assert (before, said.exit_code) == ((), 0)
        assert texts(tried) == ("unix:/nobody/db.sock", "TCP addresses that nobody listens at")

    def test_a_file_that_an_include_would_have_later_is_in_no_copy(self, theirs):
        class Including(Toy):
            def read(self, member):
                pattern = f"{theirs.parent}/conf.d/*"
                return dataclasses.replace(super().read(member), patterns=(pattern,))

        (theirs.parent / "conf.d").mkdir()
        server = site_of(theirs, Including())
        (theirs.parent / "conf.d" / "later").write_text("")
        with new_run_root() as root:
            running = server.spawn(SPEC, theirs.parent, answer("1"), root.new_place("arm"))
            try:
                said = running.seat.run(["/bin/ls", f"{theirs.parent}/conf.d"], environment={})
            finally:
                running.stop()
        assert (said.exit_code, said.output) == (0, "")

    def test_a_refusal_is_an_outcome_in_its_own_words(self, theirs):
        server = site_of(theirs)
        with new_run_root() as root:
            place = root.new_place("arm")
            running = server.spawn(SPEC, theirs.parent, answer("none"), place)
            try:
                ready = running.await_ready(READY_S)
            finally:
                running.stop()
            assert ready == NotRunning(
                status="refused", detail=own_words("toy: answer is no number: none")
            )
            assert not place.folder.exists()

    def test_a_value_that_cannot_be_set_leaves_no_place_behind(self, theirs):
        server = site_of(theirs)
        with new_run_root() as root:
            place = root.new_place("arm")
            wrong = Configuration(values={"front:colour": "red"})
            with pytest.raises(AdapterError, match="a toy has no colour"):
                server.spawn(SPEC, theirs.parent, wrong, place)
            assert not place.folder.exists()


@pytest.mark.skipif(CANNOT is not None, reason=str(CANNOT))
@pytest.mark.parametrize("memory", ["256MiB", "4MiB"])
def test_a_member_runs_within_its_limits_or_is_told_why_it_does_not(theirs, memory):
    server = site_of(theirs, limits=ServerLimits(memory=memory))
    with new_run_root() as root:
        running = server.spawn(SPEC, theirs.parent, answer(1), root.new_place("x"))
        assert not isinstance(running, NotRunning)
        try:
            found = running.await_ready(READY_S)
            [limits] = running.limits
            [pid] = running.root_pids
            if isinstance(found, NotRunning):
                assert memory == "4MiB"
                assert found.status == "infeasible"
                assert text(found.detail).startswith("it ran into its memory limit of 4.00 MiB")
            else:
                assert memory == "256MiB"
                assert found.values["front:limits.memory"] == "256 MiB"
                assert str(pid) in (limits.folders[0] / "cgroup.procs").read_text().split()
        finally:
            running.stop()
