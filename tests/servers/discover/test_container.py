"""Servers that see other files, as those in containers do: never taken for one of here."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from httpdyno.cli.app import run
from httpdyno.servers.discover.find import find
from httpdyno.servers.discover.machine import this_machine
from httpdyno.servers.discover.source import parse_source
from httpdyno.servers.nginx.server import Nginx

SERVER = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
with os.fdopen(int(sys.argv[3]), "w") as ready:
    ready.write(str(listener.getsockname()[1]))
time.sleep(60)
"""
# As container programs do it: the same programs on another root, where the link of it reads `/`.
PIVOTED = """
set -e
mount -t tmpfs none "$1"
for each in /*; do
    if [ -h "$each" ]; then cp -P "$each" "$1$each"
    elif [ -d "$each" ]; then mkdir "$1$each"; mount --rbind "$each" "$1$each"
    fi
done
here=$PWD
cd "$1"
pivot_root . .
umount -l .
cd "$here"
shift
exec "$@"
"""
DEADLINE_S = 10.0
OWN_FILES = ("-m", "--propagation", "private", "sh", "-c", PIVOTED, "sh")
OWN_PIDS = ("-p", "--fork", "--kill-child")


@pytest.fixture(params=["files", "pids"])
def contained(request, own_folders):
    """Run what is called as nginx is, with a namespace of its own; give its port."""
    unshare = shutil.which("unshare") or ""
    if subprocess.run([unshare, "-m", "-p", "-f", "true"], check=False).returncode:
        pytest.skip("namespaces cannot be made here")
    root = own_folders / "root"
    root.mkdir()
    (own_folders / "nginx").write_text(SERVER)
    (own_folders / "nginx.conf").write_text("events {}\nhttp { server { listen 1; } }\n")
    apart = (*OWN_FILES, str(root)) if request.param == "files" else OWN_PIDS
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [
            *(unshare, *apart, sys.executable, own_folders / "nginx"),
            *("-c", own_folders / "nginx.conf", str(writing)),
        ],
        cwd=own_folders,
        pass_fds=[writing],
        start_new_session=True,
    )
    os.close(writing)
    try:
        yield int(os.read(reading, 16))
    finally:
        os.close(reading)
        os.killpg(process.pid, 9)
        process.wait(DEADLINE_S)


def found(words):
    return find(parse_source([words], Path.cwd()), this_machine([Nginx()]))


def test_a_server_in_a_container_is_not_adopted(contained, own_folders, capsys):
    [seen] = found(f":{contained}")
    assert seen.root
    assert seen.is_elsewhere
    for words in (f":{contained}", f"pid:{seen.root.pid}"):
        study = own_folders / "study"
        assert run(["adopt", words, "-o", str(study)]) == 3
        said = " ".join(capsys.readouterr().err.split())
        assert f"pid:{seen.root.pid}" in said
        assert "runs in a container or chroot" in said
        assert "files of the same name here may be others" in said
        assert "run httpdyno in there" in said
        assert not study.exists()


def test_a_file_of_here_is_not_the_one_that_a_container_runs(contained, own_folders):
    [inside] = found(f":{contained}")
    [seen] = found(f"{own_folders}/nginx.conf")
    assert inside.member.main == seen.member.main
    assert seen.root is None


def test_a_process_of_this_machine_is_of_here():
    machine = this_machine()
    assert not machine.is_elsewhere(machine.processes[os.getpid()])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        [seen] = found(f":{listener.getsockname()[1]}")
        assert not seen.is_elsewhere
