"""Unmodified servers in cells: at their own ports and paths, one beside the other."""

import time
import urllib.request

import pytest
from tests.isolation import not_safest

from httpdyno.servers.network.address import within
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish

pytestmark = pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had")

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
DEADLINE_S = 20.0
NGINX = """\
user www-data;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen 80; listen [::]:80; include answer.conf; }}
}}
"""
NODE = """
const fs = require("fs");
require("http").createServer((_, answer) => {
  fs.appendFileSync(`${__dirname}/seen.log`, "x");
  answer.end(`${process.env.ARM} ${fs.readFileSync(`${__dirname}/seen.log`)}`);
}).listen(3000);
"""


@pytest.fixture
def seats():
    """Make two cells of the same wish but for their files; end them."""
    made = []
    with new_run_root() as root:

        def pair(files, writes):
            for each in files:
                seat = open_cell(root.new_place("cell"), CellWish(files=each, writes=writes))
                assert isinstance(seat, CellSeat), seat
                made.append(seat)
            return made

        yield pair
        for seat in made:
            seat.close()


def answer(seat, url):
    def asked():
        deadline_s = time.monotonic() + DEADLINE_S
        while True:
            try:
                with urllib.request.urlopen(url, timeout=DEADLINE_S) as found:
                    return found.read().decode()
            except OSError:
                assert time.monotonic() < deadline_s
                time.sleep(0.02)

    return within(seat.network, asked)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.real_server("nginx")
def test_two_nginx_of_one_configuration_differ_in_an_included_file_only(seats, own_folders):
    folder = own_folders / "nginx"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    (folder / "answer.conf").write_text('return 200 "as found";')
    before = content(folder)
    files = [{str(folder / "answer.conf"): f'return 200 "{n}";'.encode()} for n in ("a", "b")]
    cells = seats(files, [str(folder)])
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    processes = [
        seat.spawn(command, environment=ENVIRONMENT, log=seat.folder / "log") for seat in cells
    ]
    urls = ("http://127.0.0.1/", "http://[2001:db8::80]/")
    answers = [answer(seat, url) for seat in cells for url in urls]
    for process in processes:
        process.stop()
    assert answers == ["a", "a", "b", "b"], processes[0].last_words()
    assert content(folder) == before
    names = ("access.log", "error.log")
    assert [seat.written() for seat in cells] == [tuple(f"{folder}/{n}" for n in names)] * 2


@pytest.mark.real_server("node")
def test_a_program_with_its_port_written_in_it_runs_twice(seats, own_folders):
    folder = own_folders / "node"
    folder.mkdir()
    (folder / "server.js").write_text(NODE)
    (folder / "seen.log").write_text("")
    before = content(folder)
    cells = seats([{}, {}], [str(folder)])
    processes = [
        seat.spawn(
            ["node", "server.js"],
            environment={**ENVIRONMENT, "ARM": arm},
            folder=str(folder),
            log=seat.folder / "log",
        )
        for seat, arm in zip(cells, ("a", "b"), strict=True)
    ]
    url = "http://127.0.0.1:3000/"
    answers = [answer(seat, url) for seat in (cells[0], cells[0], cells[1])]
    for process in processes:
        process.stop()
    assert answers == ["a x", "a xx", "b x"]
    assert content(folder) == before
