"""What a new user types wrong: one sentence with a way out, and the documented exit code."""

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from httpdyno.cli.app import run

PEM = Path(__file__).parents[1] / "load" / "pem"
NGINX = "events {}\nhttp { server { listen 127.0.0.1:8080; } }\n"

MISTAKES = [
    # Options of curl, ab, wrk, hey, k6, oha, vegeta and siege.
    ("load {web} -k", 2, "no such option: -k", "`--insecure`"),
    ("load {web} -t12 -c400 -d30s", 2, "no such option: -t", "`--threads 2`"),
    ("load {web} -d @body.json", 2, "`-d @body.json` makes no sense", "`--data @FILE`"),
    ("load {web} --rate 100rps", 2, "makes no sense; expected a rate above zero, such as", ""),
    ("load {web} --fail-if p(95)<200", 2, "says what must hold", "`--fail-if 'p95 >= 200ms'`"),
    # URLs.
    ("load http:/localhost/", 2, "`http:/localhost/` is not a URL", "write `http://localhost/`"),
    ("load https//localhost", 2, "`https//localhost` is not a URL", "write `https://localhost`"),
    ("load http:localhost:80", 2, "is not a URL", "write `http://localhost:80`"),
    ("load 127.0.0.1 8080", 2, "`8080` names no host", "write `http://localhost:8080/`"),
    ("load :8080", 2, "`:8080` names no host", "write `http://localhost:8080/`"),
    ("load http://127.0.0.1:99999/", 2, "names port 99999", "a port from 1 to 65535"),
    # Ports where nobody listens, or no HTTP is spoken.
    ("load {closed} -n 2", 1, "nothing listens at", "start the server, or name the port"),
    ("load {tls} -n 2", 1, "all 2 had their connection reset", "`https://`"),
    ("load {web_as_tls} -n 2", 1, "the server does not speak TLS; load it with `http://`", ""),
    ("load {fastcgi} -n 2", 1, "all 2 had their connection reset", "FastCGI"),
    ("load {redis} -n 2", 1, "it began with `-ERR unknown command`", "HTTP/1.1 is spoken"),
    # Files.
    ("load {web} --csv none/x.csv", 2, "a folder that does not exist", "`mkdir -p none`"),
    ("load {web} --data @none", 2, "`@none` cannot be read", "`@` stands before the name"),
    ("report 1 --html mine.json", 2, "is a file that httpdyno did not write", "`--force`"),
    ("adopt conf.d", 2, "is no main configuration file", "name the main file of"),
    ("adopt nginx.cnf", 2, "no file `nginx.cnf` is there", "did you mean `nginx.conf`"),
    ("tune nginx.conf", 2, "`nginx.conf` is not TOML", "`httpdyno adopt nginx.conf` makes a study"),
    (
        "tune conf.d",
        2,
        "the folder `conf.d` holds no study.toml",
        "`httpdyno adopt` or `httpdyno study new`",
    ),
    # Studies, runs, knobs, metrics, servers.
    ("tune asp-bokmarks", 2, "neither a bundled study nor a file", "did you mean `asp-bookmarks`"),
    ("tune http://localhost/", 2, "neither a bundled study nor", "`httpdyno adopt :8080`"),
    ("tune asp-bookmarks --budget 5", 2, "`--budget 5` is not a duration", "`250ms`, `30s`, `3m`"),
    ("compare asp-bookmarks --b dbug=1", 2, "`dbug=1` sets no knob", "did you mean `debug`"),
    ("compare asp-bookmarks --b debug=1 --metric speed", 2, "`speed` cannot decide", "there are"),
    ("adopt http://localhost/", 2, "names no server of this machine", "`:8080` is whoever"),
    ("report --json", 2, "option `--json` requires an argument", "`httpdyno report --help`"),
    ("inspect {closed_port}", 2, "nothing listens at", "runs here"),
    ("watch pid:4194303", 2, "no process has the id 4194303", "runs here"),
    ("laod {web}", 2, "no such command `laod`. Did you mean `load`?", "`httpdyno --help`"),
]


@contextmanager
def says(words: bytes, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """A port of its own kind, whose answer to whatever comes is `words`, and then the end."""

    class Answer(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # who hangs up, or does not speak TLS
                self.request.recv(1 << 16)
                self.request.sendall(words)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        if context:
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, str]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM / "server.pem", PEM / "server.key")
    with ExitStack() as stack:
        bound = stack.enter_context(socket.socket())
        bound.bind(("127.0.0.1", 0))  # and nobody listens
        closed = f"127.0.0.1:{bound.getsockname()[1]}"
        web = stack.enter_context(says(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
        yield {
            "web": f"http://{web}/",
            "web_as_tls": f"https://{web}/",
            "closed": f"http://{closed}/",
            "closed_port": closed,
            "tls": f"http://{stack.enter_context(says(b'', context))}/",
            "fastcgi": f"http://{stack.enter_context(says(b''))}/",
            "redis": f"http://{stack.enter_context(says(b'-ERR unknown command'))}/",
        }


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with what somebody may take for something else; all of it stays as it is."""
    files = {"nginx.conf": NGINX, "mine.json": '{"a": 1}'}
    (tmp_path / "conf.d").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield
    assert {each.name for each in tmp_path.iterdir()} == {*files, "conf.d"}
    assert {name: (tmp_path / name).read_text() for name in files} == files


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_a_mistake_is_told_in_one_sentence_with_a_way_out(places, capsys, mistake):
    line, code, sentence, way_out = mistake
    assert run(line.format(**places).split()) == code
    seen = capsys.readouterr()
    if code == 1:  # a load that was run: what came of it begins so
        told = " ".join(seen.out.split())
        assert sentence in told
        assert way_out in told
        return
    assert seen.out == ""
    error, *hints = (each for each in seen.err.splitlines() if each)
    assert error.startswith("error: ")
    assert sentence in error
    assert [each[:6] for each in hints] == (["hint: "] if way_out else [])
    assert way_out in "".join(hints)
