"""A program that tries each way to reach something. Run as `python -S reaching.py SETTINGS`."""

import ctypes
import json
import os
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

QUERY = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x04mail\x07example\0\0\x01\0\x01"
MAPPED_PORT, CHILD_PORT, THREAD_PORT, LATE_PORT = 5433, 5434, 5435, 8001
LIBC = ctypes.CDLL(None, use_errno=True)


def tried(attempt):
    with suppress(OSError):
        attempt()


def connected(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as calling:
        calling.settimeout(5)
        calling.connect(address)


def sent_to(family, address, content, kind=socket.SOCK_DGRAM):
    with socket.socket(family, kind) as calling:
        calling.sendto(content, address)


def sent_message(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as calling:
        calling.sendmsg([QUERY[:20], QUERY[20:]], [], 0, address)


def sent_messages(host, port):
    """Send two by `sendmmsg` on a connected socket, as the C library's resolver does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as calling:
        calling.connect((host, port))
        one = ctypes.create_string_buffer(QUERY, len(QUERY))
        two = ctypes.create_string_buffer(QUERY.replace(b"mail", b"news"), len(QUERY))
        parts = [
            ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(each), len(QUERY)))
            for each in (one, two)
        ]
        heads = b"".join(
            struct.pack("@PI4xPNPNi4xI4x", 0, 0, ctypes.addressof(part), 1, 0, 0, 0, 0)
            for part in parts
        )
        content = ctypes.create_string_buffer(heads, len(heads))
        # The second may be told already that nobody took the first.
        assert LIBC.sendmmsg(calling.fileno(), content, 2, 0) > 0


def listening(family, address, kind=socket.SOCK_STREAM):
    listener = socket.socket(family, kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    if kind == socket.SOCK_STREAM:
        listener.listen()
    return listener


def in_child(attempt):
    if (pid := os.fork()) == 0:
        tried(attempt)
        os._exit(0)
    os.waitpid(pid, 0)


def in_thread(attempt):
    thread = threading.Thread(target=tried, args=(attempt,))
    thread.start()
    thread.join()


def reach_all(settings):
    tried(lambda: connected(socket.AF_INET, ("192.0.2.5", 5432)))
    tried(lambda: connected(socket.AF_INET6, ("::1", 5432)))
    tried(lambda: connected(socket.AF_INET6, ("::ffff:192.0.2.5", MAPPED_PORT)))
    in_child(lambda: connected(socket.AF_INET, ("192.0.2.5", CHILD_PORT)))
    in_thread(lambda: connected(socket.AF_INET, ("192.0.2.5", THREAD_PORT)))
    for path in settings["unix"]:
        tried(lambda path=path: connected(socket.AF_UNIX, path))
    for path in settings["datagram"]:
        tried(lambda path=path: sent_to(socket.AF_UNIX, path, b"x"))
    tried(lambda: connected(socket.AF_UNIX, "\0httpdyno-nobody"))
    tried(lambda: sent_to(socket.AF_INET, ("127.0.0.53", 53), QUERY))
    tried(lambda: sent_message(("127.0.0.54", 53)))
    tried(lambda: sent_messages("127.0.0.55", 53))
    tried(lambda: sent_to(socket.AF_INET, ("127.0.0.56", 8125), b"count:1|c"))
    # A resolver does this to see which way an address lies, and sends nothing.
    tried(lambda: connected(socket.AF_INET, ("127.0.0.57", 443), socket.SOCK_DGRAM))


def reach_own(settings):
    """Talk with itself: nothing of it leads out."""
    os.chdir(settings["own"])
    port = settings["port"]
    held = [
        listening(socket.AF_INET, ("127.0.0.1", port)),
        listening(socket.AF_INET, ("127.0.0.1", port), socket.SOCK_DGRAM),
        listening(socket.AF_UNIX, "own.sock"),
        listening(socket.AF_UNIX, f"{settings['own']}/log.sock", socket.SOCK_DGRAM),
        listening(socket.AF_UNIX, f"\0httpdyno-{os.getpid()}"),
    ]
    connected(socket.AF_INET, ("127.0.0.1", port))
    sent_to(socket.AF_INET, ("127.0.0.1", port), b"x")
    connected(socket.AF_UNIX, f"{settings['own']}/own.sock")
    connected(socket.AF_UNIX, "own.sock")
    sent_to(socket.AF_UNIX, "log.sock", b"x")
    connected(socket.AF_UNIX, f"\0httpdyno-{os.getpid()}")
    if settings["late"]:
        # It waits for a member that is not up yet.
        tried(lambda: connected(socket.AF_INET, ("127.0.0.1", LATE_PORT)))
        held.append(listening(socket.AF_INET, ("127.0.0.1", LATE_PORT)))
        connected(socket.AF_INET, ("127.0.0.1", LATE_PORT))
    if settings["door"]:
        connected(socket.AF_UNIX, settings["door"])
    for each in held:
        each.close()


def write_all(folder):
    tried(lambda: (folder / "new").write_text("x"))
    tried(lambda: (folder / "there").open("a").close())
    tried((folder / "folder").mkdir)
    tried((folder / "there").unlink)
    tried(lambda: (folder / "there").rename(folder / "other"))
    tried(lambda: (folder / "link").symlink_to("there"))
    tried(lambda: os.truncate(folder / "there", 0))
    tried(lambda: listening(socket.AF_UNIX, f"{folder}/bound").close())
    handle = os.open(folder, os.O_RDONLY)
    tried(lambda: os.open("relative", os.O_WRONLY | os.O_CREAT, dir_fd=handle))
    # What would change nothing is no attempt to change something.
    tried((folder / "not-there").unlink)
    tried(folder.mkdir)
    tried((folder / "there").read_text)
    tried(lambda: Path("/dev/null").write_text("x"))
    tried(lambda: (folder / "no/such/folder").write_text("x"))
    Path("/dev/stdout").write_text("written to its own output\n")


def main():
    settings = json.loads(sys.argv[1])
    reach_own(settings)
    reach_all(settings)
    if settings["writes"]:
        write_all(Path(settings["writes"]))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
