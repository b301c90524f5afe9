"""Bind or read in one way, and write down each byte that comes: `stand_in.py HOW`, in its folder.

What comes is told at the end of `got`. With the standard library only.
"""

import os
import socket
import sys
import threading

FOLDER = os.path.dirname(os.path.abspath(__file__))
HOW = sys.argv[1]
PATH = f"{HOW}.sock"


def got(piece):
    with open(f"{FOLDER}/got", "ab") as file:
        file.write(piece)


def bound(kind=socket.SOCK_STREAM):
    """Return a socket that has its name by one of the ways there are."""
    listener = socket.socket(socket.AF_UNIX, kind)
    if HOW == "renamed":
        listener.bind(f"{FOLDER}/{PATH}.{os.getpid()}.tmp")
        os.chmod(f"{FOLDER}/{PATH}.{os.getpid()}.tmp", 0o777)
        os.rename(f"{FOLDER}/{PATH}.{os.getpid()}.tmp", f"{FOLDER}/{PATH}")
        return listener
    if HOW == "hard":
        listener.bind(f"{FOLDER}/first-{os.getpid()}.sock")
        os.link(f"{FOLDER}/first-{os.getpid()}.sock", f"{FOLDER}/{PATH}")
    elif HOW == "descriptor":
        top = os.open(FOLDER, os.O_PATH)
        listener.bind(f"/proc/self/fd/{top}/{PATH}")
    elif HOW == "link":
        if not os.path.islink("link"):
            os.symlink(".", "link")
        listener.bind(f"{FOLDER}/link/{PATH}")
    elif HOW == "spaced":
        listener.bind(f"{FOLDER}/a b\nc.sock")
        os.chmod(f"{FOLDER}/a b\nc.sock", 0o777)
        os.symlink("a b\nc.sock", f"{FOLDER}/{PATH}")
    elif HOW == "absolute":
        listener.bind(f"{FOLDER}/{PATH}")
    else:
        listener.bind(PATH)
    os.chmod(f"{FOLDER}/{PATH}", 0o777)
    return listener


def answer(client):
    with client:
        try:
            got(client.recv(100))
            client.sendall(b"done\n")
        except OSError:
            pass


os.chdir(FOLDER)
for name in os.listdir("."):
    if name.endswith(".sock"):
        os.unlink(name)
if HOW == "fifo":
    os.mkfifo(PATH, 0o666)
    os.chmod(PATH, 0o666)
    handle = os.open(PATH, os.O_RDWR)
    while True:
        got(os.read(handle, 4096))
elif HOW == "datagram":
    listener = bound(socket.SOCK_DGRAM)
    while True:
        got(listener.recv(4096))
else:
    listener = bound()
    listener.listen(64)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
