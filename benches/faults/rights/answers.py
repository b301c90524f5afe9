"""What his server answers, and what it is called, when root asks."""

import http.server
import socketserver
import threading
import time

from benches.faults.rights.stage import PORT, Stage
from benches.faults.rights.way import way

_STEERING = "\x1b]0;his\x07\x1b[2J\x1b[31m\u202e"


def _serve(stage: Stage, answer: "type[http.server.BaseHTTPRequestHandler]") -> None:
    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, *_: object) -> None:
            pass  # whoever asked has gone

    server = Server(("127.0.0.1", PORT), answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stage.closing.callback(server.server_close)
    stage.closing.callback(server.shutdown)


class _Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@way
def _names_that_steer_the_terminal(stage: Stage) -> None:
    """His processes, their arguments and folders are called what steers a terminal."""
    folder = stage.his(f"d{_STEERING}/x", "").parent
    conf = stage.his(f"d{_STEERING}/nginx.conf", f"events {{}}\nhttp {{ {_STEERING} x; }}\n")
    program = stage.his(f"d{_STEERING}/nginx", (stage.home / "mark").read_bytes(), mode=0o755)
    stage.runs(program, title=f"nginx: master process {_STEERING} -c {conf}", cwd=folder)
    stage.runs(stage.named("node"), f"{_STEERING}.js", cwd=folder)
    stage.root("inspect")
    stage.root("inspect", conf)
    stage.root("watch", "nginx", "--once", "--every", "0.2s")


@way
def _answers_that_steer_the_terminal(stage: Stage) -> None:
    """His server's answers, headers and reasons hold what steers a terminal."""

    class Answer(_Quiet):
        def do_GET(self) -> None:
            escape = "\x1b[2J\x1b]0;his\x07"
            self._say(500, escape.encode() * 9, Server=escape, Content_Type=escape)

    _serve(stage, Answer)
    stage.root("load", f"{stage.url}/", "-n", "5")
    stage.root("compare", "--url", stage.url, "--url", f"http://localhost:{PORT}", "-d", "2s")


@way
def _status_page_that_leads_astray(stage: Stage) -> None:
    """His status page leads to root's file, to another server, and to itself."""
    places = [f"file://{stage.secret}", "gopher://127.0.0.1:22/", "/server-status"]

    class Answer(_Quiet):
        def do_GET(self) -> None:
            places.append(places.pop(0))
            self._say(302, b"", Location=places[-1])

    _serve(stage, Answer)
    page = f"{stage.url}/server-status?auto"
    for _ in places:
        stage.root("inspect", f":{PORT}", "--status", page)
        stage.root("watch", f":{PORT}", "--status", page, "--once", "--every", "0.2s")


@way
def _status_page_without_an_end(stage: Stage) -> None:
    """His status page never ends, and comes a byte at a time."""

    class Answer(_Quiet):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            is_slow = "slow" in self.path
            for _ in range(1_000_000):
                self.wfile.write(b"BusyWorkers: 1\n"[:1] if is_slow else b"BusyWorkers: 1\n" * 9999)
                time.sleep(0.2 if is_slow else 0)

    _serve(stage, Answer)
    for page in ("fast?auto", "slow?auto"):
        url = f"{stage.url}/{page}"
        stage.root("watch", f":{PORT}", "--status", url, "--once", "--every", "0.2s")
        stage.root("inspect", f":{PORT}", "--status", url)


@way
def _port_that_he_takes(stage: Stage) -> None:
    """Root asks at a port at which another listened a moment ago; he sends it on."""
    got: list[str] = []

    class Answer(_Quiet):
        def do_GET(self) -> None:
            got.append(str(self.headers))
            self._say(302, b"", Location=f"http://127.0.0.1:{PORT}/elsewhere")

    _serve(stage, Answer)
    stage.root("load", f"{stage.url}/", "-n", "2")
    stage.root("inspect", f":{PORT}", "--load", f"{stage.url}/", "--for", "1s")
    # What root did not send by its own words must not be there.
    stage.his("got", "".join(got))


@way
def _census_of_his_server(stage: Stage) -> None:
    """Root counts his server's system calls; it is called nginx, and forks without a pause."""
    stage.serves("nginx")
    stage.runs("/bin/sh", "-c", "while :; do /bin/true; done")
    stage.root("inspect", f":{PORT}", "--census", f"{stage.url}/")
