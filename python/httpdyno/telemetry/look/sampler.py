"""Looks at all threads of a server once, and tells what each is at."""

import os
import platform
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from httpdyno.host.procfs import DEAD, content, status_words, thread_state
from httpdyno.telemetry.look import file_lock
from httpdyno.telemetry.look.call import Call, call, kinds
from httpdyno.telemetry.look.end import End, Ends
from httpdyno.telemetry.look.roster import Member, Roster
from httpdyno.telemetry.look.tally import ProcessSeen
from httpdyno.telemetry.look.wait import Lock, Seen, by_state, seen
from httpdyno.telemetry.proc_file import BESIDE_A_LOAD, KeptFiles, descriptors_to_keep
from httpdyno.telemetry.worker import NOT_TOLD, not_visible

_KERNEL_TELLS_CALLS = Path("/proc/self/syscall").exists()
"""Only with CONFIG_HAVE_ARCH_TRACEHOOK."""
_LOCKS = "/proc/locks"


class Sampler:
    """Looks again and again. Not for several threads at once."""

    def __init__(self, roster: Roster, ends: Ends) -> None:
        self._roster = roster
        self._ends = ends
        self._files = KeptFiles(descriptors_to_keep(BESIDE_A_LOAD))
        self._kind_of = kinds(platform.machine()) if _KERNEL_TELLS_CALLS else {}
        self._refused = False
        self._holders: dict[file_lock.FileId, int] | None = None
        self._unsure: list[tuple[Member, int, Call]] = []
        self._by_own_number: dict[int, int] = {}
        """Threads in a namespace of processes of their own, by what they are called there."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """What was not seen, and why."""
        if not _KERNEL_TELLS_CALLS:
            return (f"what workers wait for: {NOT_TOLD}",)
        if not self._kind_of:
            return (f"what workers wait for: not known for {platform.machine()}",)
        return (f"what workers wait for: {not_visible()}",) if self._refused else ()

    def sample(self) -> dict[int, ProcessSeen]:
        """Return what all threads are at, by process."""
        self._roster.update()
        self._files.keep_only(self._roster.members)
        self._ends.begin()
        self._holders, self._unsure = None, []
        found: dict[int, dict[int, Seen]] = {}
        parents: dict[int, int] = {}
        for member in list(self._roster.members.values()):
            parents[member.pid] = member.stat.parent
            found[member.pid] = self._process(member)
        self._look_again(found)
        self._ask_who_serves(found)
        return {
            pid: ProcessSeen(parent=parents[pid], threads=threads)
            for pid, threads in found.items()
            if threads
        }

    def _look_again(self, found: dict[int, dict[int, Seen]]) -> None:
        """Look at those again of whom it was not clear what they wait for.

        First at what they were in, since their connections may be known by now. If they are not,
        they are gone, and what waited for them waits no more: so at what they are in now.
        """
        unsure, self._unsure = self._unsure, []
        if self._ends.ask():
            for member, thread, at in unsure:
                found[member.pid][thread] = seen(at, self._eyes(member, thread))
        self._ends.look_anew()
        for member, thread, _ in unsure:
            if found[member.pid][thread].doing == "other":
                now = self._thread(member, thread)
                if now is None:
                    del found[member.pid][thread]
                else:
                    found[member.pid][thread] = now

    def _ask_who_serves(self, found: Mapping[int, dict[int, Seen]]) -> None:
        """Find out of one that waits for each lock whether it has a client."""
        asked: set[str] = set()
        for pid, threads in found.items():
            for thread, at in threads.items():
                lock = at.lock
                # Of several threads it could be any that has one.
                if lock and lock.scope == "process" and len(threads) == 1 and lock.key not in asked:
                    asked.add(lock.key)
                    is_serving = self._ends.holds_client(pid)
                    threads[thread] = at._replace(lock=lock._replace(is_serving=is_serving))

    def _process(self, member: Member) -> dict[int, Seen]:
        if member.is_zombie:
            # Nobody is told when it is reaped.
            self._roster.look_at([member.pid])
            return {member.pid: Seen("zombie")} if member.pid in self._roster.members else {}
        found: dict[int, Seen] = {}
        for thread in member.threads:
            at = self._thread(member, thread)
            if at is not None:
                found[thread] = at
        if len(found) < len(member.threads):
            self._roster.look_at([member.pid])
        return found

    def _thread(self, member: Member, thread: int) -> Seen | None:
        """Return what a thread is at; None where it is gone."""
        eyes = self._eyes(member, thread)
        if self._kind_of:
            try:
                text = self._files.readable(member.pid, b"task/%d/syscall" % thread)
            except PermissionError:
                self._refused = True
            except OSError:
                return None
            else:
                in_call = call(text, self._kind_of)
                at = seen(in_call, eyes)
                if at.doing == "other":
                    self._unsure.append((member, thread, in_call))
                return _alive(at, member, thread)
        state = eyes.state()
        return _alive(by_state(state), member, thread) if state != DEAD else None

    def _eyes(self, member: Member, thread: int) -> "_ThreadEyes":
        return _ThreadEyes(self, self._ends, member, thread)

    def holder(self, file: file_lock.FileId) -> int | None:
        """Return who has a lock on a file, as it was when this sample first asked."""
        if self._holders is None:
            self._holders = file_lock.holders(content(_LOCKS.encode()).decode())
        return self._holders.get(file)

    def thread_numbered(self, member: Member, number: int) -> int:
        """Return the thread that a process knows by a number, as a futex has it."""
        if _n_names(member.pid) == 1:
            return number
        if number not in self._by_own_number:
            self._by_own_number = {
                _names(each.pid, thread)[-1]: thread
                for each in self._roster.members.values()
                for thread in each.threads
            }
        return self._by_own_number.get(number, number)


def _names(pid: int, thread: int) -> list[int]:
    """Return what a thread is called in each namespace of processes, from here inwards."""
    status = content(b"/proc/%d/task/%d/status" % (pid, thread))
    return [int(name) for name in status_words(status, b"NSpid")] or [thread]


@lru_cache(maxsize=1024)
def _n_names(pid: int) -> int:
    return len(_names(pid, pid))


def _alive(at: Seen, member: Member, thread: int) -> Seen | None:
    """Leave out a first thread that has ended before the others."""
    is_first_of_many = thread == member.pid and len(member.threads) > 1
    return None if at.doing == "zombie" and is_first_of_many else at


class _ThreadEyes:
    """On one thread."""

    __slots__ = ("_ends", "_member", "_sampler", "_thread")

    def __init__(self, sampler: Sampler, ends: Ends, member: Member, thread: int) -> None:
        self._sampler = sampler
        self._ends = ends
        self._member = member
        self._thread = thread

    @property
    def has_children(self) -> bool:
        return self._member.has_children

    def state(self) -> str:
        return thread_state(self._member.pid, self._thread)

    def end(self, descriptor: int) -> End:
        return self._ends.of(self._member.pid, descriptor)

    def memory(self, address: int, n_bytes: int) -> bytes:
        try:
            handle = os.open(f"/proc/{self._member.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.pread(handle, n_bytes, address)
        except (OSError, OverflowError):
            return b""
        finally:
            os.close(handle)

    def file_lock(self, descriptor: int) -> Lock:
        try:
            status = os.stat(f"/proc/{self._member.pid}/fd/{descriptor}")  # noqa: PTH116 - as it is
        except OSError:
            return Lock(f"file {self._member.pid}:{descriptor}")
        file = (os.major(status.st_dev), os.minor(status.st_dev), status.st_ino)
        return Lock(f"file {file}", holder=self._sampler.holder(file))

    def thread_numbered(self, number: int) -> int:
        return self._sampler.thread_numbered(self._member, number)
