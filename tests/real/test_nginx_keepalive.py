"""The knob of idle connections to backends, as a backend sees it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.servers.nginx.seats import DEADLINE_S, open_copy

from httpdyno.errors import AdapterError
from httpdyno.model import Level

pytestmark = pytest.mark.real_server("nginx")
N_REQUESTS = 6
MAIN = """worker_processes 1;
pid @/run/nginx.pid;
error_log @/log;
events { }
http {
    access_log off;
    upstream named {
        server 127.0.0.1:8000;
    }
    server {
        listen 80;
        proxy_set_header X-Theirs kept;
        location /named/ {
            proxy_pass http://named;
        }
        location /straight/ {
            proxy_pass http://127.0.0.1:3000/deeper/;
        }
        location /php/ {
            fastcgi_pass unix:@/php.sock;
        }
    }
}
"""


class Backend(ThreadingHTTPServer):
    """Says what it was asked, and counts the connections that it was asked on."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.n_connections = 0

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"

    def process_request(self, request, client_address):
        self.n_connections += 1
        super().process_request(request, client_address)


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        host = self.headers["Host"]
        text = f"{self.path} {host} {self.headers['X-Theirs']}".encode()
        self.send_response(200)
        self.send_header("Location", f"http://{host}/deeper/new")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *args):
        pass


@contextmanager
def backend() -> Iterator[Backend]:
    with Backend() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def asked(
    folder: Path, path: str, to: Backend, address: str, values: dict[str, Level]
) -> tuple[tuple[int, bytes, str], int]:
    """Return what a copy with these values answers, and the connections that it took."""
    main = folder / "nginx.conf"
    # Theirs is where the backend is, so that names in answers are the real ones.
    text = MAIN.replace("@/", f"{folder}/").replace(address, to.address)
    main.write_text(text)
    before = to.n_connections
    with open_copy(main, values) as copy:
        host, port = copy.ports["0.0.0.0:80"].split(":")
        client = HTTPConnection(host, int(port), timeout=DEADLINE_S)
        answers = []
        for _ in range(N_REQUESTS):
            client.request("GET", path, headers={"Host": "shop.example"})
            answer = client.getresponse()
            location = answer.headers["Location"].replace(f":{port}/", ":PORT/")
            answers.append((answer.status, answer.read(), location))
        client.close()
    assert len(set(answers)) == 1
    return answers[0], to.n_connections - before


@pytest.mark.parametrize(
    ("path", "address", "scope"),
    [("/named/x", "127.0.0.1:8000", "named"), ("/straight/x", "127.0.0.1:3000", None)],
)
def test_connections_are_used_again_and_nothing_else_is_different(
    own_folders, path, address, scope
):
    with backend() as to:
        knob = f"upstream_keepalive@{scope or to.address}"
        as_found, n_as_found = asked(own_folders, path, to, address, {})
        with_it, n_with_it = asked(own_folders, path, to, address, {knob: 4})
    assert (n_as_found, n_with_it) == (N_REQUESTS, 1)
    assert with_it == as_found
    assert as_found[1].endswith(b" kept")


def test_a_fastcgi_backend_is_told_to_keep_its_connections(own_folders):
    """The flag FCGI_KEEP_CONN of FCGI_BEGIN_REQUEST: FastCGI 1.0, section 5.1."""
    (own_folders / "nginx.conf").write_text(MAIN.replace("@/", f"{own_folders}/"))
    knob = f"upstream_keepalive@unix:{own_folders}/php.sock"
    flags = []
    for values in ({}, {knob: 4}):
        with socket.socket(socket.AF_UNIX) as php:
            path = own_folders / "php.sock"
            php.bind(str(path))
            path.chmod(0o777)
            php.listen()
            with open_copy(own_folders / "nginx.conf", values) as copy:
                host, port = copy.ports["0.0.0.0:80"].split(":")
                with socket.create_connection((host, int(port)), DEADLINE_S) as client:
                    client.sendall(b"GET /php/x HTTP/1.0\r\n\r\n")
                    connection, _ = php.accept()
                    with connection:
                        # Header of a record, then role (2 bytes) and flags.
                        flags.append(connection.recv(16)[10])
            path.unlink()
    assert flags == [0, 1]


def test_websockets_are_refused_with_the_reason(own_folders):
    upgrade = MAIN.replace("X-Theirs kept", "Connection upgrade")
    main = own_folders / "nginx.conf"
    main.write_text(upgrade.replace("@/", f"{own_folders}/"))
    with (
        pytest.raises(AdapterError, match=r"empty `Connection` header: .* sends `upgrade`"),
        open_copy(main, {"upstream_keepalive@named": 4}),
    ):
        pass
