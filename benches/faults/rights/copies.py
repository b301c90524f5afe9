"""Root adopts his server, and his server tries to get out of the copy."""

import json
import os
import socket
import threading
from contextlib import suppress
from typing import Any

from benches.faults.rights.evidence import Harm, Kind
from benches.faults.rights.stage import PORT, Stage, bystanders, way_out
from benches.faults.rights.way import way

_ABSTRACT = "production"


def tell_targets(stage: Stage) -> None:
    """Say what lies outside, and listen for whoever gets there."""
    disk = os.stat("/").st_dev
    targets = {
        "marks": str(stage.root_only),
        "mounts": os.readlink("/proc/self/ns/mnt"),
        "pids": os.readlink("/proc/self/ns/pid"),
        "bystander": stage.bystander,
        "bystanders": bystanders(stage),
        "open_to_all": list(map(str, stage.open_to_all)),
        "disk": [os.major(disk), os.minor(disk)],
        "abstract": _ABSTRACT,
        "port": _listening(stage, socket.socket(), ("127.0.0.1", 0), "the host's loopback"),
        "listens": PORT,
    }
    _listening(stage, socket.socket(socket.AF_UNIX), f"\0{_ABSTRACT}", "an abstract socket")
    stage.his("targets.json", json.dumps(targets))
    way_out(stage)


def _listening(stage: Stage, listener: socket.socket, address: Any, what: str) -> int:
    listener.bind(address)
    listener.listen(16)

    def hear() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                if client.recv(100).startswith(b"by "):
                    stage.harms.add(Harm(kind=Kind.OUT, what=f"reached: {what}"))
                client.close()

    def close() -> None:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()

    threading.Thread(target=hear, daemon=True).start()
    stage.closing.callback(close)
    return listener.getsockname()[1] if isinstance(address, tuple) else 0


@way
def _server_of_his(stage: Stage) -> None:
    """A script of his that Python runs is adopted by its port, and tries 32 ways out."""
    tell_targets(stage)
    stage.runs("/usr/bin/python3", "-S", "-E", stage.home / "way_out.py", ready=PORT)
    folder = stage.work / "shop"
    stage.root("adopt", f":{PORT}", "--get", "/", "-o", folder, "--knob", "env.X=1,2")
    if folder.exists():
        stage.root("study", "check", folder)
        stage.root("study", "run", folder, "--budget", "8s")


@way
def _program_called_apache(stage: Stage) -> None:
    """His program is called apache2, which is begun as root: it tries 32 ways out."""
    tell_targets(stage)
    config = stage.his(
        "apache2.conf", f"ServerRoot {stage.home}\nServerName x\nListen 127.0.0.1:{PORT}\n"
    )
    stage.serves("apache2", "-f", config, "-k", "start")
    stage.root("adopt", f":{PORT}", "--get", "/", "-o", stage.work / "shop")


@way
def _program_called_nginx(stage: Stage) -> None:
    """His program is called nginx, and is adopted by its process: it tries 32 ways out."""
    tell_targets(stage)
    server = f"server {{ listen 127.0.0.1:{PORT}; location / {{ return 200 ok; }} }}"
    config = stage.his("nginx.conf", f"events {{}}\nhttp {{ {server} }}\n")
    pid = stage.serves("nginx", title=f"nginx: master process {stage.home}/nginx -c {config}")
    stage.root("adopt", f"pid:{pid}", "--get", "/", "-o", stage.work / "shop")


@way
def _command_of_his(stage: Stage) -> None:
    """Root adopts a command that is a program of his: it tries 32 ways out."""
    tell_targets(stage)
    program = stage.named("shop")
    stage.root(
        *("adopt", "--listener", PORT, "--get", "/", "-o", stage.work / "shop"),
        *("--knob", "env.X=1,2", "--", program),
    )


@way
def _prepared_by_root(stage: Stage) -> None:
    """His server's copy is prepared by root's command, which his library is loaded into."""
    library = stage.library()
    stage.his("ld.so.preload", f"{library}\n")
    stage.his("server.py", _PLAIN)
    environment = {"LD_PRELOAD": str(library), "PYTHONSTARTUP": str(stage.home / "server.py")}
    pid = stage.runs(
        "/usr/bin/python3", stage.home / "server.py", environment=environment, ready=PORT
    )
    stage.root(
        *("adopt", f"pid:{pid}", "--get", "/", "-o", stage.work / "shop"),
        *("--knob", "env.X=1,2", "--prepare", "/bin/true"),
    )


_PLAIN = f"""
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2")
        self.end_headers(); self.wfile.write(b"ok")
http.server.ThreadingHTTPServer(("127.0.0.1", {PORT}), H).serve_forever()
"""
