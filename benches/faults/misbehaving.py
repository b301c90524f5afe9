"""Servers that misbehave, one script for each kind, and what must be said of each.

Each is run by `tests.conformance.script_server` with its port, a level and a token on its command
line; whatever it starts keeps the token there, so that what is left can be found.
"""

from dataclasses import dataclass

PRELUDE = """
import os, signal, socket, sys, time
PORT, TOKEN = int(sys.argv[1]), sys.argv[3]
OK = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"


def listening():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(64)
    return listener


def serve(answer=OK, listener=None, then=lambda connection: None):
    listener = listener or listening()
    while True:
        connection, _ = listener.accept()
        try:
            connection.recv(65536)
            connection.sendall(answer)
            then(connection)
        except OSError:
            pass
        connection.close()


def again(piece, every_s):
    def trickle(connection):
        while True:
            connection.sendall(piece)
            time.sleep(every_s)
    return trickle


def sleep_on(*environment):
    os.execve("/bin/sleep", [TOKEN, "600"], {})


def forked():
    return os.fork() == 0
"""

UP = "up"
HUNG = "hung"
CRASHED = "crashed"
REFUSED = "refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One way to misbehave."""

    script: str
    expected: tuple[str, ...]
    """What may be said of it: `up`, or the status of not running."""
    words: str = ""
    """What must be in the detail where it does not run."""
    timeout_s: float = 10.0
    """How long it is waited for."""
    needs_root: bool = False
    listens: bool = False
    """The waiting begins when it does, so that a busy machine does not change what is said."""


def _hung(script: str, words: str = "no answer to GET /", *, listens: bool = True) -> Kind:
    return Kind(script=script, expected=(HUNG,), words=words, timeout_s=0.2, listens=listens)


def _up(script: str) -> Kind:
    return Kind(script=script, expected=(UP,))


def _crashed(script: str, words: str) -> Kind:
    return Kind(script=script, expected=(CRASHED,), words=words)


KINDS: dict[str, Kind] = {
    "never listens": _hung("time.sleep(600)", "Connection refused", listens=False),
    "never accepts": _hung("kept = listening(); time.sleep(600)"),
    "accepts and is silent": _hung(
        "listener = listening(); kept = []\nwhile True: kept.append(listener.accept())"
    ),
    "eats descriptors": _hung(
        "listener = listening(); kept = []\n"
        "try:\n"
        "    while True: kept.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError: pass\n"
        "while True:\n"
        "    try: listener.accept()\n"
        "    except OSError: time.sleep(0.01)"
    ),
    "closes at once": _hung("serve(b'')", "it hung up without an answer"),
    "resets": _hung(
        "linger = b'\\1\\0\\0\\0\\0\\0\\0\\0'\n"
        "def reset(c): c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)\n"
        "serve(b'', then=reset)"
    ),
    "speaks another protocol": _hung("serve(b'220 mail ESMTP\\r\\n')", "no HTTP: b'220 mail"),
    "answers garbage": _hung("serve(bytes(range(256)) * 40)", "no HTTP"),
    "answers without end of head": _hung("serve(b'HTTP/1.1 200 OK\\r\\n')"),
    "huge head": _hung(
        "serve(b'HTTP/1.1 200 OK\\r\\n' + b'X: y\\r\\n' * 100000)", "a head of more"
    ),
    "endless head": _hung("serve(b'HTTP/1.1 200 OK\\r\\n', then=again(b'X: y\\r\\n' * 999, 0))"),
    "dripping head": _hung("serve(b'HTTP/1.1 200 OK\\r\\n', then=again(b'X: y\\r\\n', 0.05))"),
    "interim answers without end": _hung(
        "serve(b'', then=again(b'HTTP/1.1 100 Continue\\r\\n\\r\\n', 0))"
    ),
    "stops itself before it listens": _hung("os.kill(os.getpid(), signal.SIGSTOP)", listens=False),
    "spins": _hung("while True: pass", listens=False),
    "exits with a word": _crashed("sys.exit('no such database')", "code 1: no such database"),
    "exits without a word": _crashed("sys.exit(0)", "code 0"),
    "is killed": _crashed("os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
    "forks and exits": _crashed("if forked(): os.setsid(); time.sleep(600)", "code 0"),
    "forks, serves and exits": Kind(
        script="if forked(): os.setsid(); serve()\ntime.sleep(0.05)", expected=(CRASHED, UP)
    ),
    "answers and dies": Kind(
        script="serve(then=lambda c: os._exit(5))", expected=(CRASHED, UP), words="code 5"
    ),
    "refuses": Kind(script="sys.exit(78)", expected=(REFUSED,)),
    "dripping body": _up(
        "serve(b'HTTP/1.1 200 OK\\r\\nContent-Length: 999\\r\\n\\r\\n', then=again(b'x', 0.05))"
    ),
    "endless body": _up("serve(b'HTTP/1.1 200 OK\\r\\n\\r\\n', then=again(b'x' * 65536, 0))"),
    "lies about its length": _up(
        "serve(b'HTTP/1.1 200 OK\\r\\nContent-Length: 9' + b'9' * 30 + OK[15:])"
    ),
    "broken chunks": _up(
        "serve(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzzz\\r\\n')"
    ),
    "redirects to itself": _up("serve(b'HTTP/1.1 301 Moved\\r\\nLocation: /\\r\\n\\r\\n')"),
    "comes up slowly": _up("time.sleep(0.3); serve()"),
    "floods its log": _up(
        "if forked():\n"
        "    for _ in range(400): os.write(1, b'\\x1b[31mnoise ' * 10000 + b'\\n')\n"
        "    os._exit(0)\n"
        "serve()"
    ),
    "log becomes a pipe": _up("os.unlink('script.log'); os.mkfifo('script.log'); serve()"),
    "log becomes a link": _up(
        "os.unlink('script.log'); os.symlink('/dev/zero', 'script.log'); serve()"
    ),
    "removes its folder": _up("import shutil; shutil.rmtree(os.getcwd()); serve()"),
    "digs deep": _up("for _ in range(1100): os.mkdir('deep'); os.chdir('deep')\nserve()"),
    "leaves closed folders, links and pipes": _up(
        "os.makedirs('a/b/c'); os.mkfifo('a/b/pipe'); os.symlink('/', 'a/root')\n"
        "os.symlink('/etc', 'a/b/etc'); os.chmod('a/b', 0); os.chmod('a', 0); serve()"
    ),
    "ignores to be ended": _up(
        "for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n"
        "listener = listening(); forked() or forked()\n"
        "serve(listener=listener) if not forked() else time.sleep(600)"
    ),
    "is stopped": _up(
        "if forked(): os.setsid(); os.kill(os.getpid(), signal.SIGSTOP)\n"
        "serve(then=lambda c: (c.close(), os.kill(os.getpid(), signal.SIGSTOP)))"
    ),
    "leaves zombies": _up("for _ in range(50): forked() and os._exit(0)\nserve()"),
    "leaves its session": _up(
        "if forked():\n    os.setsid()\n    if forked(): sleep_on()\n    os._exit(0)\nserve()"
    ),
    "leaves everything": _up(
        "if forked():\n"
        "    os.setsid()\n"
        "    if forked(): os.chdir('/'); os.closerange(0, 99); sleep_on()\n"
        "    os._exit(0)\n"
        "serve()"
    ),
    "forks on for ever": _up(
        "if forked():\n"
        "    os.setsid(); os.chdir('/')\n"
        "    while True:\n"
        "        if not forked(): os._exit(0)\n"
        "serve()"
    ),
    "a child holds the port": _up(
        "listener = listening()\nif forked(): sleep_on()\nserve(listener=listener)"
    ),
    "kills its keeper": Kind(
        script="if forked():\n"
        "    os.setsid()\n"
        "    if forked(): os.setsid(); sleep_on()\n"
        "    os._exit(0)\n"
        "os.wait(); keeper = os.getppid(); time.sleep(0.05); os.kill(keeper, 9)\n"
        "signal.signal(15, signal.SIG_IGN); serve()",
        expected=(UP, CRASHED),
    ),
    "becomes another user": Kind(
        script="os.chmod('.', 0o777); os.setuid(65534); signal.signal(15, signal.SIG_IGN); serve()",
        expected=(UP,),
        needs_root=True,
    ),
}
