"""What every server adapter must do, tried on the real server.

Subclass `AdapterConformance` in a test module and give it a fixture `case`. Nothing here waits by
sleeping for a while and hoping: everything has a deadline.
"""

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.conformance.server_holder import Held

from httpdyno.errors import HttpdynoError
from httpdyno.host.procfs import ProcessStat, stat_of
from httpdyno.model import Configuration, Effective, ServerSpec
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.adapter import NotRunning, Place, Running
from httpdyno.servers.network.address import connected, host_header
from httpdyno.servers.run.folder import RunRoot, new_run_root
from httpdyno.servers.run.leftovers import reap_leftovers
from httpdyno.servers.run.live_process import members_of, process_info
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.servers.stack.stack import Stack
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.telemetry.log import LogTail

READY_S = 20.0
_DEADLINE_S = 10.0
_POLL_S = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterCase:
    """A server to try, and how."""

    adapter: ServerAdapter | Stack
    """A stack of its own, where it is not made alone from templates."""
    spec: ServerSpec
    study_folder: Path
    configuration: Configuration
    """With at least one knob of the server's own; answers `spec.ready_path`."""
    nonsense: Configuration
    """What the server refuses, or does not do as asked."""
    words: str
    """What the refusal says."""

    @property
    def stack(self) -> Stack:
        """What starts it."""
        return stack_of(self.adapter)


def stack_of(adapter: ServerAdapter | Stack) -> Stack:
    """Return the stack that a server is, or that one of this kind alone is."""
    return adapter if isinstance(adapter, Stack) else TemplateStack(adapter)


def complaint_of(
    adapter: ServerAdapter | Stack,
    spec: ServerSpec,
    study_folder: Path,
    configuration: Configuration,
) -> str:
    """Return what is known to be wrong with a study's files; empty where nothing is."""
    try:
        stack_of(adapter).check(spec, study_folder, configuration)
    except HttpdynoError as error:
        return str(error)
    return ""


class Starter:
    """Starts servers in places of their own and ends them all."""

    def __init__(self, case: AdapterCase, root: RunRoot) -> None:
        self._case = case
        self._root = root
        self._started: list[Running] = []

    def spawn(self, configuration: Configuration | None = None) -> tuple[Running, Place]:
        """Start one; not ready yet."""
        place = self._root.new_place("conformance")
        running = self._case.stack.spawn(
            self._case.spec,
            self._case.study_folder,
            configuration or self._case.configuration,
            place,
        )
        assert not isinstance(running, NotRunning), text(running.detail)
        self._started.append(running)
        return running, place

    def ready(self) -> tuple[Running, Place]:
        """Start one that answers."""
        running, place = self.spawn()
        answer = running.await_ready(READY_S)
        assert isinstance(answer, Effective), answer
        return running, place

    def stop(self) -> None:
        """End them all."""
        for running in self._started:
            running.stop()


class AdapterConformance:
    """Needs the fixture `case`, an `AdapterCase`."""

    @pytest.fixture
    def starter(self, case: AdapterCase) -> Iterator[Starter]:
        """Start servers that end with the test."""
        with new_run_root() as root:
            starter = Starter(case, root)
            yield starter
            starter.stop()

    def test_knobs_are_declared_whole(self, case: AdapterCase) -> None:
        knobs = case.stack.knobs()
        # An adapter without any takes knobs of all names.
        assert not knobs or set(case.configuration.values) & set(knobs)
        for name, info in knobs.items():
            assert info.name == name
            assert info.summary
            assert info.source
            assert info.default is None or info.takes(info.default)

    def test_nothing_is_missing_where_it_runs(self, case: AdapterCase) -> None:
        assert case.stack.missing(case.spec) == ()
        assert case.stack.version(case.spec, case.study_folder)

    def test_rendering_is_the_same_each_time_and_names_no_start(self, case: AdapterCase) -> None:
        first, second = (
            case.stack.render(case.spec, case.study_folder, case.configuration) for _ in range(2)
        )
        assert first.files == second.files
        assert any(name in text for text in first.files.values() for name in ("RUN", "PORT"))

    def test_it_starts_and_answers(self, case: AdapterCase, starter: Starter) -> None:
        running, _ = starter.ready()
        assert running.is_alive()
        assert running.addresses
        assert all(status < http.client.INTERNAL_SERVER_ERROR for status in _said(running, case))

    def test_its_error_logs_are_files_and_what_comes_into_them_is_told(
        self, starter: Starter
    ) -> None:
        running, _ = starter.ready()
        files = [path for path in running.error_logs() if path.is_file()]
        assert files
        tail = LogTail(running.error_logs())
        with files[-1].open("a") as log:
            log.write("ERROR: an end of the world\n")
        found = tail.lines()
        assert found is not None
        assert "an end of the world" in [kind.form for kind in found.kinds]

    def test_its_processes_are_leaders_of_sessions_of_their_own(self, starter: Starter) -> None:
        running, _ = starter.ready()
        assert running.root_pids
        assert all(os.getsid(pid) == pid for pid in running.root_pids)
        assert {*running.root_pids} <= {process.pid for process in _members(running.root_pids)}

    def test_its_keepers_and_groups_are_its_own(self, starter: Starter) -> None:
        running, _ = starter.ready()
        parents = [info.parent for pid in running.root_pids if (info := process_info(pid))]
        assert running.keeper_pids in {(), tuple(parents)}
        held = [
            int(pid)
            for group in running.groups
            for pid in (group / "cgroup.procs").read_text().split()
        ]
        assert {*running.root_pids} <= {*held} or not running.groups
        assert not {os.getpid(), *parents} & {*held}

    def test_two_run_at_once(self, case: AdapterCase, starter: Starter) -> None:
        one, _ = starter.ready()
        other, _ = starter.ready()
        places = [{*zip(each.networks, each.addresses, strict=True)} for each in (one, other)]
        assert not places[0] & places[1]
        said = [*_said(one, case), *_said(other, case)]
        assert all(status < http.client.INTERNAL_SERVER_ERROR for status in said)

    def test_what_is_in_force_is_what_was_asked(self, case: AdapterCase, starter: Starter) -> None:
        running, _ = starter.spawn()
        effective = running.await_ready(READY_S)
        assert isinstance(effective, Effective), effective
        own = set(case.configuration.values) & set(case.stack.knobs())
        assert own <= set(effective.asked)
        assert effective.asked == {name: effective.values[name] for name in effective.asked}
        assert effective.sources

    def test_nonsense_is_refused_in_the_servers_words(
        self, case: AdapterCase, starter: Starter
    ) -> None:
        running, _ = starter.spawn(case.nonsense)
        answer = running.await_ready(READY_S)
        assert isinstance(answer, NotRunning), answer
        assert answer.status == "refused"
        assert case.words in text(answer.detail)

    def test_stopping_leaves_no_process_no_port_and_no_file(self, starter: Starter) -> None:
        running, place = starter.ready()
        members = _members(running.root_pids)
        assert members
        running.stop()
        assert _alive(members) == []
        assert not running.is_alive()
        assert not any(map(_accepts, running.addresses))
        assert not place.folder.exists()
        assert not place.memory_folder.exists()
        running.stop()

    def test_stopping_works_from_another_thread(self, starter: Starter) -> None:
        running, place = starter.ready()
        threads = [threading.Thread(target=running.stop) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_DEADLINE_S)
        assert not running.is_alive()
        assert not place.folder.exists()

    def test_one_that_was_never_ready_can_be_stopped(self, starter: Starter) -> None:
        running, place = starter.spawn()
        running.stop()
        assert not running.is_alive()
        assert not place.folder.exists()

    def test_a_crash_is_seen_and_its_children_end_with_it(self, starter: Starter) -> None:
        running, _ = starter.ready()
        members = _members(running.root_pids)
        os.kill(running.root_pids[0], signal.SIGKILL)
        _wait_for(lambda: not running.is_alive())
        answer = running.await_ready(READY_S)
        assert isinstance(answer, NotRunning)
        assert answer.status == "crashed"
        running.stop()
        assert _alive(members) == []
        assert not any(map(_accepts, running.addresses))

    def test_a_server_that_does_not_answer_is_hung(self, starter: Starter) -> None:
        running, _ = starter.ready()
        # The roots first, and only then the rest: they may still be starting workers.
        for pid in running.root_pids:
            _suspend(pid)
        members = _members(running.root_pids)
        for process in members:
            _suspend(process.pid)
        answer = running.await_ready(0.2)
        assert isinstance(answer, NotRunning)
        assert answer.status == "hung"
        running.stop()
        assert _alive(members) == []

    def test_what_a_killed_owner_left_is_ended_and_removed(self, case: AdapterCase) -> None:
        with _holder(case) as (holder, held):
            folder = Path(held.folder)
            assert not any(folder.name in each for each in texts(reap_leftovers())), "it lives"
            members = _members(held.root_pids)
            # Stopped, neither can follow the news that their owner is dead.
            servers = [process_info(pid) for pid in held.root_pids]
            for server in servers:
                assert server is not None
                _suspend(server.parent)
                _suspend(server.pid)
            holder.kill()
            holder.wait(_DEADLINE_S)
        done = texts(reap_leftovers())
        # A copy's sandbox ends with its owner, and takes them along: there may be none to end.
        if case.spec.adapter != "site":
            assert any("ended" in sentence for sentence in done), done
        assert any(folder.name in sentence for sentence in done), done
        assert _alive(members) == []
        assert not any(map(_accepts, held.addresses))
        assert not folder.exists()
        assert not any(folder.name in sentence for sentence in texts(reap_leftovers()))

    def test_it_ends_by_itself_when_its_owner_is_killed(self, case: AdapterCase) -> None:
        with _holder(case) as (holder, held):
            members = _members(held.root_pids)
            holder.kill()
            holder.wait(_DEADLINE_S)
        _wait_for(lambda: not _alive(members))
        # Of a program with threads the first one may be gone while others still hold the sockets.
        _wait_for(lambda: not any(map(_accepts, held.addresses)))
        reap_leftovers()


@contextmanager
def _holder(case: AdapterCase) -> "Iterator[tuple[subprocess.Popen[bytes], Held]]":
    """Have a process of its own start the server and hold it."""
    kind = type(case.adapter)
    command = [sys.executable, "-m", "tests.conformance.server_holder"]
    with subprocess.Popen(
        [*command, f"{kind.__module__}:{kind.__qualname__}", str(case.study_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdin.write(msgspec.json.encode(case.spec) + b"\n")
        holder.stdin.write(msgspec.json.encode(case.configuration) + b"\n")
        holder.stdin.flush()
        try:
            yield holder, msgspec.json.decode(holder.stdout.readline(), type=Held)
        except BaseException:
            # What was stopped for a test cannot end by itself, whatever ends the test.
            holder.kill()
            holder.wait(_DEADLINE_S)
            reap_leftovers()
            raise


def _members(leaders: Iterable[int]) -> list[ProcessStat]:
    found = (process_info(leader) for leader in leaders)
    return members_of((each.pid, each.started_ticks) for each in found if each is not None)


def _alive(processes: list[ProcessStat]) -> list[int]:
    """Return those that still are the same live process."""
    now = ((process, process_info(process.pid)) for process in processes)
    return [p.pid for p, info in now if info and info.started_ticks == p.started_ticks]


def _suspend(pid: int) -> None:
    """Stop it, as `kill -STOP` does, and wait until it is."""
    os.kill(pid, signal.SIGSTOP)
    _wait_for(lambda: (now := stat_of(pid)) is not None and now.state == "stopped")


def _said(running: Running, case: AdapterCase) -> list[int]:
    """Return the status of the answer at each address."""
    places = zip(running.addresses, running.networks, strict=True)
    return [_status(address, case.spec.ready_path, network) for address, network in places]


def _status(address: str, path: str, network: str) -> int:
    with connected(address, _DEADLINE_S, network) as connection:
        host = host_header(address)
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status


def _accepts(address: str) -> bool:
    try:
        connected(address, _DEADLINE_S).close()
    except OSError:
        return False
    return True


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(_POLL_S)
