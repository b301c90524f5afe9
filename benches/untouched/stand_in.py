"""Bind or read in each of these ways, and write down each byte: `stand_in.py HOW…`, in its folder.

What came by a way is at the end of `got.HOW`. With the standard library only.
"""

import os
import socket
import sys
import threading

FOLDER = os.path.dirname(os.path.abspath(__file__))


def got(how, piece):
    with open(f"{FOLDER}/got.{how}", "ab") as file:
        file.write(piece)


def bound(how, kind=socket.SOCK_STREAM):
    """Return a socket that has its name by one of the ways there are."""
    listener = socket.socket(socket.AF_UNIX, kind)
    name = f"{how}.sock"
    path, first = f"{FOLDER}/{name}", f"{FOLDER}/{how}-{os.getpid()}.sock"
    if how in ("renamed", "hard"):
        listener.bind(first)
        os.chmod(first, 0o777)
        (os.rename if how == "renamed" else os.link)(first, path)
    elif how == "descriptor":
        listener.bind(f"/proc/self/fd/{os.open(FOLDER, os.O_PATH)}/{name}")
    elif how == "link":
        if not os.path.islink("link"):
            os.symlink(".", "link")
        listener.bind(f"{FOLDER}/link/{name}")
    elif how == "spaced":
        listener.bind(f"{FOLDER}/a b\nc.sock")
        os.symlink("a b\nc.sock", path)
    elif how == "absolute":
        listener.bind(path)
    else:
        listener.bind(name)
    os.chmod(path, 0o777)
    return listener


def answer(how, client):
    with client:
        try:
            got(how, client.recv(100))
            client.sendall(b"done\n")
        except OSError:
            pass


def hear_stream(how):
    listener = bound(how)
    listener.listen(64)
    while True:
        client = listener.accept()[0]
        threading.Thread(target=answer, args=(how, client), daemon=True).start()


def hear_datagrams(how):
    listener = bound(how, socket.SOCK_DGRAM)
    while True:
        got(how, listener.recv(4096))


def read_fifo(how):
    os.mkfifo(f"{how}.sock")
    os.chmod(f"{how}.sock", 0o666)
    handle = os.open(f"{how}.sock", os.O_RDWR)
    while True:
        got(how, os.read(handle, 4096))


os.chdir(FOLDER)
for name in os.listdir("."):
    if name.endswith(".sock"):
        os.unlink(name)
for how in sys.argv[1:]:
    hear = {"fifo": read_fifo, "datagram": hear_datagrams}.get(how, hear_stream)
    threading.Thread(target=hear, args=(how,)).start()
