"""What the kernel tells of processes, by /proc: read here, and taken apart here alone.

A process may vanish while it is read. Its files are empty then, its record is None, and it has no
children. A keeper imports this: standard library only, and little of it.

Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_task(5); proc(5) for `mountinfo` and
`cgroup`; the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cgroups.rst.
"""

import os
from _collections_abc import (  # as in `servers.keeper`
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from _signal import SIGCHLD

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STATES = {
    b"R": "running",
    b"S": "sleeping",
    b"D": "disk sleep",
    b"T": "stopped",
    b"t": "traced",
    b"Z": "zombie",
    b"X": "dead",
    b"x": "dead",
    b"I": "idle",
}
ZOMBIE = "zombie"
DEAD = "dead"
KERNEL_LISTS_CHILDREN = os.path.exists("/proc/thread-self/children")  # noqa: PTH110
"""Only with CONFIG_PROC_CHILDREN, which most distributions' kernels have."""
_PROCESS_CLOCK = 2
"""Of clock numbers of processes: `CPUCLOCK_SCHED`, what the scheduler has given it, exactly."""
_CHILD_SIGNAL = 1 << (SIGCHLD - 1)

Read = Callable[[int, bytes], bytes]
"""Returns the content of a file below /proc/PID, empty where there is none: `of_process`, or what
keeps such files open."""
ChildrenOf = Callable[..., list[int]]
"""Returns the children of a process, by its number; takes what `listed_children` takes."""


def content(path: bytes) -> bytes:
    """Return a /proc file's content; empty when the process is gone, or may not be read."""
    try:
        return readable(path)
    except OSError:
        return b""


def readable(path: bytes) -> bytes:
    """Return a /proc file's content.

    Raises:
        OSError: The process is gone, or may not be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # The kernel gives at most a page at a time.
        whole = b""
        while piece := os.read(handle, 65_536):
            whole += piece
    finally:
        os.close(handle)
    return whole


def of_process(pid: int, name: bytes) -> bytes:
    """Return the content of a file below /proc/PID, as `content`."""
    return content(b"/proc/%d/%s" % (pid, name))


def _number(place: int) -> int:
    """Return what reads a number of a `ProcessStat` when it is asked for, which few of them are."""
    return property(lambda stat: int(stat.fields[place]))  # type: ignore[return-value]


class ProcessStat:
    """A line of /proc/PID/stat, or of a thread's."""

    __slots__ = ("fields", "started_ticks", "state", "text")

    parent = _number(1)
    session = _number(3)
    terminal = _number(4)
    """0 is none."""
    minor_faults = _number(7)
    reaped_minor_faults = _number(8)
    """Of children that it waited for, and of theirs; as all that are called so."""
    major_faults = _number(9)
    """Those for which a disk had to be read."""
    reaped_major_faults = _number(10)
    n_threads = _number(17)

    def __init__(self, text: bytes) -> None:
        """Take a line apart.

        Args:
            text: The whole of it.
        """
        self.text = text
        # The second field is the name in parentheses, which may itself contain anything.
        self.fields = text[text.rindex(b")") + 2 :].split(None, 22)
        """From the third on, the state."""
        self.state = _STATES.get(self.fields[0], "unknown")
        """`running`, `sleeping`, `disk sleep`, `zombie` and so on."""
        self.started_ticks = int(self.fields[19])
        """Clock ticks from boot to its start: with the pid it names one process."""

    @property
    def pid(self) -> int:
        """Its number."""
        return int(self.text[: self.text.index(b" ")])

    @property
    def name(self) -> str:
        """As the kernel calls it: 15 bytes at most."""
        text = self.text
        return text[text.index(b"(") + 1 : text.rindex(b")")].decode(errors="replace")

    @property
    def has_ended(self) -> bool:
        """Whether it is a zombie, or less."""
        return self.state in (ZOMBIE, DEAD)

    @property
    def user_s(self) -> float:
        """CPU time, in ticks of mostly 10 ms."""
        return int(self.fields[11]) / _TICKS_PER_S

    @property
    def system_s(self) -> float:
        """CPU time in the kernel, likewise."""
        return int(self.fields[12]) / _TICKS_PER_S

    @property
    def reaped_s(self) -> float:
        """CPU time, both kinds, of children that it waited for, and of theirs."""
        return (int(self.fields[13]) + int(self.fields[14])) / _TICKS_PER_S

    @property
    def rss_bytes(self) -> int:
        """Of its memory what is there; since Linux 6.2 to some dozen pages."""
        return int(self.fields[21]) * _PAGE_BYTES


def stat_of(pid: int, read: Read = of_process) -> ProcessStat | None:
    """Return what the kernel says of a process, or of a thread; None where it is gone."""
    text = read(pid, b"stat")
    return ProcessStat(text) if text else None


def thread_state(pid: int, thread: int) -> str:
    """Return the state of a thread of a process; `dead` where it is gone."""
    text = of_process(pid, b"task/%d/stat" % thread)
    return ProcessStat(text).state if text else DEAD


def process_clock(pid: int) -> int:
    """Return the number of the clock that all CPU time of a process is read from.

    Source:
        Linux, include/linux/posix-timers_types.h: `(~pid << 3) | clock`; clock_getcpuclockid(3).
    """
    return (~pid << 3) | _PROCESS_CLOCK


def status_words(status: bytes, name: bytes) -> list[bytes]:
    """Return the words of a line of /proc/PID/status; none where it has none of that name."""
    _, _, tail = status.partition(b"\n%s:" % name)
    return tail.partition(b"\n")[0].split()


def context_switches(status: bytes) -> tuple[int, int] | None:
    """Return the voluntary and involuntary ones in /proc/PID/status; None where it has none."""
    # They are the last two of some sixty lines.
    _, found, tail = status.rpartition(b"\nvoluntary_ctxt_switches:")
    numbers = tail.replace(b"nonvoluntary_ctxt_switches:", b"").split() if found else []
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None  # noqa: PLR2004


def page_table_bytes(status: bytes) -> int | None:
    """Return what the kernel's tables of its pages take, by /proc/PID/status; None of a zombie."""
    _, found, tail = status.partition(b"\nVmPTE:")
    return int(tail.split(None, 1)[0]) * 1024 if found else None


def ignores_children(status: bytes) -> bool:
    """Whether a process ignores SIGCHLD, by /proc/PID/status: its children are reaped unasked."""
    _, found, tail = status.partition(b"\nSigIgn:")
    return bool(found) and bool(int(tail.split(None, 1)[0], 16) & _CHILD_SIGNAL)


def thread_ids(pid: int) -> tuple[int, ...]:
    """Return the threads of a process; none where it is gone."""
    try:
        return tuple(map(int, os.listdir(f"/proc/{pid}/task")))  # noqa: PTH208 - hot
    except OSError:
        return ()


def children_now() -> ChildrenOf:
    """Return a look-up of children, to be used at once and then forgotten."""
    return listed_children if KERNEL_LISTS_CHILDREN else scanned_children()


def listed_children(
    pid: int, *, has_one_thread: bool = False, read: Read = of_process
) -> list[int]:
    """Return the children as the kernel lists them: each hangs on the thread that forked it.

    Args:
        pid: The process; of one that is gone there are none.
        has_one_thread: Whether that is all that it has.
        read: May keep the list of one open that has none, so that it is cheap to see that.
    """
    if has_one_thread:
        return [int(child) for child in read(pid, b"task/%d/children" % pid).split()]
    return [
        int(child)
        for thread in thread_ids(pid)
        for child in of_process(pid, b"task/%d/children" % thread).split()
    ]


def scanned_children() -> ChildrenOf:
    """Return a look-up of children made from all of this machine's processes."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - hot
    seen = ((pid, stat_of(pid)) for pid in pids)
    return children_among({pid: stat.parent for pid, stat in seen if stat is not None})


def children_among(parents: Mapping[int, int]) -> ChildrenOf:
    """Return a look-up of children among processes that are known.

    Args:
        parents: The parent of each.
    """
    by_parent: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        by_parent.setdefault(parent, []).append(pid)
    return lambda pid, **_: by_parent.get(pid, [])


def walk(roots: Iterable[int], below: Callable[[int], Sequence[int]]) -> list[int]:
    """Walk trees, each process once; return all that were met, each after what it is below.

    Args:
        roots: Where to begin: the next is asked for when all below the one before is seen.
        below: Sees to a process, and returns those below it to go on with.
    """
    met: dict[int, None] = {}
    for root in roots:
        waiting = [root]
        while waiting:
            pid = waiting.pop()
            if pid not in met:
                met[pid] = None
                waiting += reversed(below(pid))
    return list(met)


def group_folders(mounts: str, groups: str, controller: str) -> Iterator[tuple[str, int]]:
    """Yield the folders of a process's control group and of those above, each with its version.

    Args:
        mounts: /proc/self/mountinfo.
        groups: /proc/PID/cgroup.
        controller: `memory`, `cpu` and so on; version 2 has all of them in one.
    """
    named = [(*line.split(":", 2), "", "")[1:3] for line in groups.splitlines()]
    for line in mounts.splitlines():
        mount, _, system = line.partition(" - ")
        root, mounted_at = mount.split()[3:5]
        kind, _, options = (*system.split(), "", "", "")[:3]
        if kind == "cgroup2":
            group, version = next((path for names, path in named if not names), None), 2
        elif kind == "cgroup" and controller in options.split(","):
            held = (path for names, path in named if controller in names.split(","))
            group, version = next(held, None), 1
        else:
            continue
        if group is None or not f"{group}/".startswith(f"{root.rstrip('/')}/"):
            continue  # another part of the tree is mounted here
        names = [each for each in group[len(root.rstrip("/")) :].split("/") if each]
        for n in range(len(names), -1, -1):
            yield "/".join([mounted_at.rstrip("/"), *names[:n]]) or "/", version
