"""What a member that is root tries, to get out of its copy. Run by itself: the standard library.

Prints a JSON object: way → how it ended, `OUT` or what it was told. Where trying would do harm to
the machine if it worked, only the door is tried: a file is opened and not written.
"""

import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
outside = json.loads(sys.argv[1])
PID, CANARY, MARK = outside["pid"], outside["canary"], outside["mark"]
DISK = outside["device"]
AT = -100


def code(number):
    return errno.errorcode.get(number or 0, "refused")


def told(result):
    return "OUT" if result >= 0 else code(ctypes.get_errno())


def opened(path, flags=os.O_RDONLY):
    """OUT where it is the file outside: what stands at its path may be the copy's own."""
    handle = os.open(path, flags | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "no file"
        return "OUT" if os.pread(handle, 64, 0) == MARK.encode() else "another file"
    finally:
        os.close(handle)


def writes(path):
    os.close(os.open(path, os.O_WRONLY))
    return "OUT"


def anybody(name):
    """By any process that is to be seen, its own parents too."""
    found = "nobody to be seen"
    for pid in (*filter(str.isdigit, os.listdir("/proc")), "1", str(os.getppid()), str(PID)):
        if int(pid) == os.getpid():
            continue
        try:
            if opened(f"/proc/{pid}/{name}") == "OUT":
                return "OUT"
            found = "another file"
        except OSError as error:
            found = code(error.errno)
    return found


def descriptors():
    return anybody(f"fd/{outside['descriptor']}")


def setns():
    worst = "ESRCH"
    for pid in ("1", str(os.getppid()), str(PID)):
        for kind in ("mnt", "pid", "net", "user", "ipc"):
            try:
                handle = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            except OSError as error:
                worst = code(error.errno)
                continue
            if told(libc.setns(handle, 0)) == "OUT":
                return "OUT"
            os.close(handle)
    return worst


def traced(call):
    results = {call(pid) for pid in (PID, 1, os.getppid())}
    return "OUT" if "OUT" in results else sorted(results)[0]


def ptrace(pid):
    done = told(libc.ptrace(0x4206, pid, 0, 0))  # PTRACE_SEIZE stops nobody
    if done == "OUT":
        libc.ptrace(17, pid, 0, 0)
    return done


def read_memory(pid):
    into = ctypes.create_string_buffer(8)
    vector = struct.pack("@PN", ctypes.addressof(into), 8)
    theirs = struct.pack("@PN", outside["address"], 8)
    return told(libc.process_vm_readv(pid, vector, 1, theirs, 1, 0))


def take_descriptor(pid):
    handle = libc.syscall(434, pid, 0)
    return told(-1 if handle < 0 else libc.syscall(438, handle, outside["descriptor"], 0))


def device():
    path = f"{outside['folder']}/device"
    if libc.mknod(path.encode(), 0o60600, DISK) != 0:
        return told(-1)
    os.close(os.open(path, os.O_RDONLY))
    return "OUT"


def disks():
    found = "none to be seen"
    for folder, _, names in os.walk("/dev"):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.stat(f"{folder}/{name}")
                if status.st_rdev == DISK and status.st_mode & 0o170000 == 0o060000:
                    found = "EACCES"
                    os.close(os.open(f"{folder}/{name}", os.O_RDONLY))
                    return "OUT"
    return found


def mounted(target=b"/mnt"):
    return told(libc.mount(b"none", target, b"tmpfs", 0, b""))


def remounted():
    return told(libc.mount(b"none", b"/proc/sys", None, ctypes.c_ulong(0x1020), None))


def control_group():
    tried = {told(libc.mount(b"cgroup", b"/mnt", b"cgroup", 0, b"pids"))}
    for folder, _, names in os.walk("/sys/fs/cgroup"):
        for name in {"release_agent", "cgroup.procs"} & set(names):
            try:
                tried.add(writes(f"{folder}/{name}"))
            except OSError as error:
                tried.add(code(error.errno))
        break_off = len(tried) > 3
        if break_off:
            break
    return "OUT" if "OUT" in tried else sorted(tried)[0]


def kernel_files():
    tried = set()
    for path in (
        *("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger"),
        *("/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ):
        try:
            tried.add(writes(path))
        except OSError as error:
            tried.add(code(error.errno))
    return "OUT" if "OUT" in tried else sorted(tried)[0]


def keys():
    number = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[os.uname().machine]
    into = ctypes.create_string_buffer(64)
    tried = [
        libc.syscall(number[2], 11, outside["key"], into, 64, 0),
        libc.syscall(number[1], b"user", outside["key_name"].encode(), None, 0),
    ]
    return told(max(tried))


def abstract():
    with socket.socket(socket.AF_UNIX) as connecting:
        connecting.connect("\0" + outside["abstract"])
    return "OUT"


def inherited():
    theirs = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the list
            to = os.readlink(f"/proc/self/fd/{number}")
            # Its own pipe, and what it was started with.
            theirs += [to] if int(number) > 2 and not to.startswith("pipe:") else []
    return f"OUT: {theirs}" if theirs else "none"


def others_networks():
    found = "nobody to be seen"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/unix") as file:
            if outside["abstract"] in file.read():
                return "OUT"
            found = "its own"
    return found


def listened():
    """By a listener of its own to calls: the last one decides."""
    allow = struct.pack("=HBBI", 6, 0, 0, 0x7FFF_0000)
    content = ctypes.create_string_buffer(allow, 8)
    filter_ = struct.pack("@HP", 1, ctypes.addressof(content))
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    libc.prctl(38, 1, 0, 0, 0)
    return told(libc.syscall(number, 1, 1 << 3, filter_))


def network():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300) as listening:
        listening.bind(("lo", 0))
    return "OUT"


def out_of_chroot():
    """By a folder above the root: what is there is the host's where the copy hides it."""
    os.makedirs(f"{outside['folder']}/jail", exist_ok=True)
    above = os.open("/", os.O_RDONLY)
    os.chroot(f"{outside['folder']}/jail")
    os.fchdir(above)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    return "OUT" if os.path.exists(outside["hidden"]) else "the copy's own root"


def signalled():
    try:
        os.kill(PID, 0)
    except ProcessLookupError:
        return "ESRCH"
    return "OUT"


def new_users():
    done = told(libc.unshare(0x1002_0000))
    return done if done != "OUT" else mounted()


def cloned_users():
    pid = libc.syscall({"x86_64": 56, "aarch64": 220}[os.uname().machine], 0x1000_0011, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
    return told(pid)


def called(number, *arguments):
    return lambda: told(libc.syscall(number, *arguments))


def old_numbering():
    """`mount` by the numbering of 32-bit pointers on 64 bits."""
    return told(libc.syscall(0x4000_0000 + 165, b"none", b"/mnt", b"tmpfs", 0, b""))


def terminal():
    import fcntl

    handle = os.open("/dev/tty", os.O_RDWR)
    fcntl.ioctl(handle, 0x5412, b"#")
    return "OUT"


NUMBERS = {
    "x86_64": {"bpf": 321, "perf": 298, "kexec": 246, "module": 313, "handle": 304, "log": 103},
    "aarch64": {"bpf": 280, "perf": 241, "kexec": 104, "module": 273, "handle": 265, "log": 116},
}[os.uname().machine]

WAYS = {
    "proc root": lambda: anybody(f"root{CANARY}"),
    "proc cwd": lambda: anybody(f"cwd/{os.path.basename(CANARY)}"),
    "proc fd": descriptors,
    "setns": setns,
    "ptrace": lambda: traced(ptrace),
    "process_vm_readv": lambda: traced(read_memory),
    "pidfd_getfd": lambda: traced(take_descriptor),
    "mknod": device,
    "devices of the host": disks,
    "memory of the host": lambda: opened("/dev/mem") and opened("/proc/kcore"),
    "mount": mounted,
    "remount of /proc/sys": remounted,
    "open_tree": called(428, AT, b"/", 1),
    "control groups": control_group,
    "files of the kernel": kernel_files,
    "keys": keys,
    "abstract sockets": abstract,
    "inherited descriptors": inherited,
    "packets": network,
    "networks of others": others_networks,
    "listener of calls": listened,
    "io_uring": called(425, 1, ctypes.create_string_buffer(120)),
    "signals": signalled,
    "user namespace": new_users,
    "cloned user namespace": cloned_users,
    "old numbering": old_numbering,
    "bpf": called(NUMBERS["bpf"], 0, struct.pack("=IIII", 2, 4, 4, 1), 16),
    "perf_event_open": called(NUMBERS["perf"], bytes(128), 0, -1, -1, 0),
    "kexec_load": called(NUMBERS["kexec"], 0, 0, 0, 0),
    "finit_module": called(NUMBERS["module"], 0, b"", 0),
    "open_by_handle_at": called(NUMBERS["handle"], AT, bytes(16), 0),
    "messages of the kernel": called(NUMBERS["log"], 3, ctypes.create_string_buffer(64), 64),
    "terminal": terminal,
    "out of a chroot": out_of_chroot,
}


def tried(way):
    """In a process of its own, since some change the one that tries them."""
    reads, says = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(40)
        try:
            words = way()
        except OSError as error:
            words = code(error.errno)
        os.write(says, words.encode())
        os._exit(0)
    os.close(says)
    os.waitpid(pid, 0)
    with os.fdopen(reads) as file:
        return file.read() or "ended"


print(json.dumps({name: tried(way) for name, way in WAYS.items()}))
