"""The parent of one server: starts it, and stays until nothing that came from it is left.

Run as `python -I -S -c PROGRAM SOCKET`. It is a program of its own because what happens between
fork and exec must not run in a copy of a threaded interpreter, and because it is what the kernel
calls a subreaper: a process whose parent dies becomes the keeper's child, whatever it did to its
session, its environment, its folder and its files. So when the keeper has no child any more,
nothing is left; no look at other processes is needed for that.

Over the socket httpdyno sends the job, then `g` (go: the server stands in the record on disk, so
that there never is one which no record knows), and at last `e` (end all that is left). End of file
instead means that httpdyno is gone, by whatever signal: then the server is asked to end, and what
does not is killed. The keeper says `ready PID` before the go and `exit STATUS` when the server's
first process has ended; its own exit code says whether nothing is left. After the go the server's
process says `calls` with the listener of its calls, or why there is none, where it was asked to.

A server of a copy is in a namespace of processes, where what lost its parent does not come to the
keeper. So the keeper has a minder in there: it starts the server, takes what lost its parent, and
ends when it has no child any more. All that is to be seen and ended stays below the keeper.
"""

import _signal as signal  # what `signal` makes enums of, whose modules are a third of the start
import ctypes
import os
import resource
import select
import time
from _collections_abc import Callable, Sequence  # `collections` takes longer to import
from types import ModuleType

from httpdyno.servers.becoming import (
    CANNOT_RUN,
    NOBODY,
    below,
    children,
    end_with_parent,
    execute,
    forked_into,
    go_into_user_namespace,
    send,
    suppress,
)

_PR_SET_CHILD_SUBREAPER = 36
_STDERR = 2
_PR_SET_PDEATHSIG = 1
_NOT_LAUNCHED = 127
_GRACEFUL_S = 1.0
"""How long a server may take to end by itself when httpdyno is gone."""
_TERM_S = 0.5
_KILL_S = 5.0
_POLL_S = 0.02
"""Between looks for what was forked meanwhile. A process that ends wakes the keeper at once."""
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_RESTORED = (*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)


class Entry:
    """What a process goes into and becomes before it is the server."""

    def __init__(  # noqa: PLR0913 - the fields of a record
        self,
        namespaces: Sequence[str] = (),
        owner: tuple[int, ...] = (),
        limits: Sequence[tuple[int, int, int]] = (),
        mapped: tuple[int, ...] = (),
        told: Sequence[str] = (),
        *,
        processes: str = "",
        users: str = "",
        confined_by: str = "",
    ) -> None:
        self.namespaces = namespaces
        """Their files in `/proc`, in the order in which they are entered."""
        self.owner = owner
        """Its user, group and other groups; empty is as the keeper."""
        self.limits = limits
        """Of resources: which, what is in force and up to what it may be raised."""
        self.mapped = mapped
        """The user and the group that it takes itself for, in a user namespace of its own."""
        self.told = told
        """Kinds of calls that httpdyno is told of, from here on, where it is confined."""
        self.processes = processes
        """The file of the namespace of processes that it is in; empty is the keeper's."""
        self.users = users
        """The file of the user namespace whose root it may be; empty is the keeper's."""
        self.confined_by = confined_by
        """The module by which it gives up what leads out of a copy (`sandbox.confinement`)."""

    def packed(self) -> str:
        """Return it as a text."""
        limits = (":".join(str(n) for n in limit) for limit in self.limits)
        owner, mapped = (map(str, numbers) for numbers in (self.owner, self.mapped))
        lists = (self.namespaces, owner, limits, mapped, self.told)
        texts = (self.processes, self.users, self.confined_by)
        return ";".join([*(" ".join(part) for part in lists), *texts])

    @classmethod
    def read(cls, text: str) -> "Entry":
        """Return what `packed` gave."""
        *lists, processes, users, confined_by = text.split(";")
        namespaces, owner, limits, mapped, told = (part.split() for part in lists)
        each = (limit.split(":") for limit in limits)
        return cls(
            namespaces=namespaces,
            owner=tuple(int(n) for n in owner),
            limits=[(int(kind), int(soft), int(hard)) for kind, soft, hard in each],
            mapped=tuple(int(n) for n in mapped),
            told=told,
            processes=processes,
            users=users,
            confined_by=confined_by,
        )

    def enter(self, control: int) -> None:
        """Go in.

        Args:
            control: The socket to httpdyno, which gets the listener of its calls.

        Raises:
            OSError: It is not there any more, or this process may not.
        """
        # Inside it may not be seen.
        confinement = (
            __import__(self.confined_by, fromlist=["tell_calls"]) if self.confined_by else None
        )
        self._go_in(confinement)
        is_told = False
        if confinement:
            confinement.gain_nothing()
            # While it still may without giving up what programs of another user's rights need.
            is_told = bool(self.told) and confinement.tell_calls(self.told, control)
            confinement.cut_rights()
        # Who came into another user namespace is nobody there yet.
        if owner := self.owner or ((0, 0) if self.users else ()):
            user, group, *others = owner
            os.setgroups(others)
            os.setgid(group)
            os.setuid(user)
        if confinement:
            # At last, since it refuses what is done above as well.
            # Outside of a cell others come to what it writes.
            confinement.refuse_calls(but_told=is_told, gives_none=not self.namespaces)

    def _go_in(self, confinement: ModuleType | None) -> None:
        # All are opened first: the way to them may not be seen from inside.
        files = (*self.namespaces, *([self.users] if self.users else ()))
        handles = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in files]
        for kind, soft, hard in self.limits:
            resource.setrlimit(kind, (soft, hard))
        user = self.owner[0] if self.owner else 0
        if self.users:
            self._give_logs(user or NOBODY)
        if confinement and self.users and not user:
            # While this process is root of the machine: what its own root may not raise any more.
            confinement.raise_limits()
        for handle in handles:
            _enter(handle)
        if self.mapped:
            go_into_user_namespace(*self.mapped)

    def _give_logs(self, user: int) -> None:
        """Let who it becomes open again, as `/dev/stderr`, what it prints to."""
        for handle in (1, 2):
            with suppress(OSError):
                os.fchown(handle, user, -1)


class Job:
    """What is to be started, as httpdyno sends it: `packed` makes it, the keeper reads it."""

    def __init__(  # noqa: PLR0913 - the fields of a record
        self,
        command: list[str],
        environment: dict[str, str],
        cpus: list[int],
        group: str,
        *,
        folder: str = "",
        stop: int = signal.SIGTERM,
        entry: Entry | None = None,
        is_module: bool = False,
    ) -> None:
        self.command = command
        self.environment = environment
        self.cpus = cpus
        """Where its processes may run; empty is anywhere."""
        self.group = group
        """Folder of the control group that it runs in; empty is none. A net more, not a need."""
        self.limits: list[str] = []
        """Those of the groups that limit it: without them it is not run."""
        self.folder = folder
        """Where it runs; empty is where the keeper was started."""
        self.stop = stop
        """The signal that asks it to end."""
        self.entry = entry or Entry()
        self.is_module = is_module
        """Whether the command is a module of httpdyno, whose `main` gets the other words."""

    def texts(self) -> list[str]:
        """Return all texts of it; none may hold a NUL."""
        return [*self.command, self.folder, *self.environment, *self.environment.values()]

    def packed(self) -> bytes:
        """Return it with its length before it."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        cpus = ",".join(str(cpu) for cpu in self.cpus)
        entry = self.entry.packed()
        numbers = [int(self.stop), int(self.is_module), len(variables)]
        head = [cpus, self.group, "\n".join(self.limits), self.folder, entry, *map(str, numbers)]
        fields = [*head, *variables, *self.command]
        body = b"\0".join(os.fsencode(field) for field in fields)
        return len(body).to_bytes(8, "little") + body

    @classmethod
    def read(cls, handle: int) -> "Job | None":
        """Read one; None when httpdyno is gone."""
        length = _exactly(handle, 8)
        body = length and _exactly(handle, int.from_bytes(length, "little"))
        if not body:
            return None
        fields = (os.fsdecode(field) for field in body.split(b"\0"))
        cpus, group, limits, folder, entry, stop, is_module, n, *rest = fields
        pairs = (variable.partition("=") for variable in rest[: int(n)])
        job = cls(
            command=rest[int(n) :],
            environment={name: value for name, _, value in pairs},
            cpus=[int(cpu) for cpu in cpus.split(",") if cpu],
            group=group,
            folder=folder,
            stop=int(stop),
            entry=Entry.read(entry),
            is_module=bool(int(is_module)),
        )
        job.limits = limits.split("\n") if limits else []
        return job


class _Keeper:
    def __init__(self, control: int, job: Job) -> None:
        self._control = control
        self._job = job
        self._wakes, wakes_up = os.pipe()
        for end in (self._wakes, wakes_up):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes_up)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._child = 0
        """The server's first process, or its minder."""
        self._has_minder = self._is_lost = False
        self._told, self._tells = os.pipe()
        """By which a minder tells how the server's first process ended."""
        os.set_blocking(self._told, False)
        self._is_over = False
        """Whether the server's first process has ended."""

    def keep(self) -> int:
        """Start the server, wait until its end is asked for; return the exit code."""
        go_read, go_write = os.pipe()
        if processes := self._job.entry.processes:
            self._has_minder = True
            try:
                # For its children: this process stays where it is.
                _enter(os.open(processes, os.O_RDONLY | os.O_CLOEXEC))
            except OSError as error:
                _say_not_run(self._job, error)
                return _NOT_LAUNCHED
        # A minder is in no group: it ends last.
        self._child, is_in_group = forked_into("" if self._has_minder else self._job.group)
        if self._child == 0:
            # Where the keeper is gone, there is to be no other end of it.
            os.close(go_write)
            if self._has_minder:
                os._exit(_mind(self._job, self._control, go_read, self._tells))
            os._exit(_become(self._job, self._control, go_read, is_in_group=is_in_group))
        os.close(go_read)
        _let_go_of_files()
        while (said := self._heard()) not in (b"e", b""):
            if said == b"g":
                _write_to(go_write, b"g")
                os.close(go_write)
        if said == b"" and not self._is_over:
            send(children(self._child) if self._has_minder else [self._child], self._job.stop)
            self._wait(lambda: self._is_over, _GRACEFUL_S)
        is_clean = self._end_all() and not self._is_lost
        for group in (self._job.group, *self._job.limits):
            if group:
                _remove_group(group)
        return 0 if is_clean else 1

    def _heard(self) -> bytes:
        """Return what httpdyno said, empty when it is gone; reap meanwhile."""
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._wakes, select.POLLIN)
        poller.register(self._told, select.POLLIN)
        while True:
            handles = [handle for handle, _ in poller.poll()]
            self._has_children()
            if self._control in handles:
                try:
                    return os.read(self._control, 1)
                except OSError:
                    return b""

    def _end_all(self) -> bool:
        """End all that is left; return whether nothing is."""
        asked: set[int] = set()

        def ask() -> bool:
            new = [pid for pid in self._below() if pid not in asked]
            asked.update(new)
            send(new, signal.SIGTERM)
            return not self._has_children()

        def kill() -> bool:
            if self._job.group:
                _write(f"{self._job.group}/cgroup.kill", b"1")
            send(self._below(), signal.SIGKILL)
            return not self._has_children()

        return self._wait(ask, _TERM_S) or self._wait(kill, _KILL_S)

    def _wait(self, is_done: Callable[[], bool], patience_s: float) -> bool:
        deadline_s = time.monotonic() + patience_s
        while not is_done():
            if time.monotonic() > deadline_s:
                return False
            select.select([self._wakes, self._told], [], [], _POLL_S)
            self._has_children()
        return True

    def _below(self) -> list[int]:
        """Return all that came from it, without a minder: it ends when it is the last."""
        return [pid for pid in below() if not (self._has_minder and pid == self._child)]

    def _has_children(self) -> bool:
        """Reap those that ended; return whether there are others."""
        with suppress(BlockingIOError):
            while os.read(self._wakes, 1024):
                pass
        with suppress(BlockingIOError):
            if told := os.read(self._told, 64):
                self._tell_end(int(told))
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child and not self._has_minder:
                self._tell_end(status)
            elif pid == self._child and os.WIFSIGNALED(status):
                # What it minded is nobody's now.
                self._is_lost = True

    def _tell_end(self, status: int) -> None:
        self._is_over = True
        _write_to(self._control, f"exit {status}\n".encode())


def main(control: int) -> int:
    """Keep what the socket says; return the exit code."""
    os.set_inheritable(control, False)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    job = Job.read(control)
    return _NOT_LAUNCHED if job is None else _Keeper(control, job).keep()


def _mind(job: Job, control: int, go: int, tells: int) -> int:
    """Start the server, and take what it leaves, until nothing is left; return the exit code."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # What it minds is asked to end by that, and comes to the namespace's first process.
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    root, is_in_group = forked_into(job.group)
    if root == 0:
        os.close(tells)
        return _become(job, control, go, is_in_group=is_in_group)
    os.close(control)
    os.close(go)
    _let_go_of_files()
    # It is to be seen in there, and with it where it is.
    with suppress(OSError):
        for handle in [os.open(path, os.O_RDONLY) for path in job.entry.namespaces]:
            _enter(handle)
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return 0
        if pid == root:
            _write_to(tells, b"%d" % status)


def _become(job: Job, control: int, go: int, *, is_in_group: bool) -> int:
    """Become the server; return an exit code when that cannot be."""
    keeper = os.getppid()
    os.setsid()
    end_with_parent()
    signal.set_wakeup_fd(-1)
    for number in _RESTORED:
        signal.signal(number, signal.SIG_DFL)
    # Who shields his clean-up from signals blocks them, and a server must not inherit that.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        if job.cpus:
            os.sched_setaffinity(0, job.cpus)
        _enter_groups(job, entered=job.group if is_in_group else "")
        # Before the go, while httpdyno still makes what it needs.
        module = __import__(job.command[0], fromlist=["main"]) if job.is_module else None
        # Its number where httpdyno is: in a namespace of processes it has another one.
        pid = os.readlink("/proc/self") if job.entry.processes else str(os.getpid())  # noqa: PTH115
        _write_to(control, f"ready {pid}\n".encode())
        if os.read(go, 1) == b"" or os.getppid() != keeper:
            return _NOT_LAUNCHED
        job.entry.enter(control)
        # The kernel forgets it when the user changes; so it is also asked again who the parent is.
        end_with_parent()
        if os.getppid() != keeper:
            return _NOT_LAUNCHED
        if job.folder:
            os.chdir(job.folder)
        if module:
            # It needs no interpreter of its own, which would take longer than what it does. But it
            # has the environment that a program would have, and keeps nothing of this one's open.
            os.environ.clear()
            os.environ.update(job.environment)
            for handle in os.listdir("/proc/self/fd"):  # noqa: PTH208
                with suppress(OSError):
                    os.close(int(handle) if int(handle) > _STDERR else -1)
            return int(module.main(*job.command[1:]))
        execute(job.command, job.environment)
    except OSError as error:
        _say_not_run(job, error)
    return _NOT_LAUNCHED


def _say_not_run(job: Job, error: OSError) -> None:
    where = f" in {job.folder}" if job.folder else ""
    os.write(_STDERR, f"{CANNOT_RUN}{job.command[0]}{where}: {error.strerror}\n".encode())


def _enter(namespace: int) -> None:
    """Go into a namespace that is open, and close it.

    Raises:
        OSError: This process may not.
    """
    failed = ctypes.CDLL(None, use_errno=True).setns(namespace, 0) != 0
    number = ctypes.get_errno()
    os.close(namespace)
    if failed:
        raise OSError(number, os.strerror(number))


def _enter_groups(job: Job, *, entered: str) -> None:
    """Go into the job's control groups, before anything of it is run.

    Args:
        entered: The one that this process was made in; empty is none.

    Raises:
        OSError: The kernel does not let this process into one that limits it.
    """
    for group in (each for each in job.limits if each != entered):
        try:
            with open(f"{group}/cgroup.procs", "wb", buffering=0) as file:  # noqa: PTH123
                file.write(b"0")
        except OSError as error:
            raise OSError(error.errno, f"cannot go into {group}: {error.strerror}") from error
    if job.group not in {"", entered, *job.limits}:
        _write(f"{job.group}/cgroup.procs", b"0")


def _let_go_of_files() -> None:
    """Hold nothing of the server's: neither its log nor its folder."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in range(3):
        os.dup2(nothing, handle)
    os.close(nothing)
    os.chdir("/")


def _remove_group(group: str) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106


def _exactly(handle: int, n: int) -> bytes:
    found = b""
    while len(found) < n:
        piece = os.read(handle, n - len(found))
        if not piece:
            return b""
        found += piece
    return found


def _write(path: str, content: bytes) -> None:
    with suppress(OSError), open(path, "wb", buffering=0) as file:  # noqa: PTH123
        file.write(content)


def _write_to(handle: int, content: bytes) -> None:
    with suppress(OSError):  # who should read it is gone
        os.write(handle, content)
