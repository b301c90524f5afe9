"""`httpdyno study serve`."""

import re
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from tests.isolation import no_cell

from httpdyno.cli.app import run
from httpdyno.errors import AdapterError

IN_A_NETWORK = """
format = 2
name = "own"
title = "A server that nobody outside can ask"

[server]
adapter = "command"
command = ["{python}", "-I", "-m", "http.server", "-b", "127.0.0.1", "{port}"]

[network]

[[knobs]]
name = "workers"
start = 1
levels = [2]
"""
WITH_TLS = """
format = 2
name = "secure"
title = "A server that speaks TLS"

[server]
adapter = "command"
command = ["{python}", "-I", "{here}/tls.py", "{port}"]
tls = true

[[knobs]]
name = "workers"
start = 1
levels = [2]
"""
TLS = """
import http.server, pathlib, ssl, sys
here = pathlib.Path(__file__).parent
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(here / "server.pem", here / "server.key")
server = http.server.HTTPServer(
    ("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler
)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
PEM = Path(__file__).parents[1] / "load" / "pem"
ASK = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).status)"


def test_a_study_is_served_until_somebody_ends_it(capsys, monkeypatch):
    asked = []

    def until_ctrl_c():
        url = capsys.readouterr().out.strip()
        with urlopen(url) as answer:
            asked.append((url, answer.status))
        raise KeyboardInterrupt

    monkeypatch.setattr("signal.pause", until_ctrl_c)
    assert run(["study", "serve", "bookmarks", "--at", "workers=1"]) == 0
    [(url, status)] = asked
    assert status == 200
    with pytest.raises(URLError):
        urlopen(url)


def test_one_with_tls_is_served_as_https(capsys, monkeypatch, tmp_path):
    (tmp_path / "study.toml").write_text(WITH_TLS.replace("{here}", f"{tmp_path}"))
    (tmp_path / "tls.py").write_text(TLS)
    for name in ("server.pem", "server.key"):
        shutil.copy(PEM / name, tmp_path)
    urls = []

    def until_ctrl_c():
        urls.append(capsys.readouterr().out.strip())
        raise KeyboardInterrupt

    monkeypatch.setattr("signal.pause", until_ctrl_c)
    assert run(["study", "serve", str(tmp_path)]) == 0
    [url] = urls
    assert url.startswith("https://127.0.0.1:")


def test_of_a_study_about_code_there_is_nothing_to_serve(capsys):
    assert run(["study", "serve", "code-fragments"]) == 2
    assert "study check code-fragments" in capsys.readouterr().err


def test_what_is_served_is_checked_like_any_configuration(capsys):
    assert run(["study", "serve", "bookmarks", "--at", "wrkers=1"]) == 2
    assert "wrkers" in capsys.readouterr().err


@pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "can be had")
@pytest.mark.skipif(shutil.which("nsenter") is None, reason="there is no nsenter")
def test_one_in_a_network_of_its_own_is_asked_by_what_is_told(capsys, monkeypatch, tmp_path):
    (tmp_path / "study.toml").write_text(IN_A_NETWORK)
    answers = []

    def until_ctrl_c():
        out, err = capsys.readouterr()
        [way] = re.findall("`(nsenter .*) COMMAND`", " ".join(err.split()))
        command = [*way.split(), sys.executable, "-c", ASK, out.strip()]
        answers.append(subprocess.check_output(command, text=True).strip())
        raise KeyboardInterrupt

    monkeypatch.setattr("signal.pause", until_ctrl_c)
    assert run(["study", "serve", str(tmp_path)]) == 0
    assert answers == ["200"]


def test_what_needs_a_user_namespace_goes_there_before_it_begins(monkeypatch, tmp_path):
    (tmp_path / "study.toml").write_text(IN_A_NETWORK)
    gone = []

    def anew(study):
        gone.append(study.name)
        raise AdapterError("it would be run anew here")

    monkeypatch.setattr("httpdyno.cli.study.enter_namespace_for", anew)
    assert run(["study", "serve", str(tmp_path)]) == 3
    assert gone == ["own"]


def test_who_reads_the_url_through_a_pipe_need_not_wait_for_the_end(tmp_path):
    (tmp_path / "study.toml").write_text(IN_A_NETWORK.replace("[network]", ""))
    command = [sys.executable, "-m", "httpdyno", "study", "serve", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        ready, _, _ = select.select([served.stdout], [], [], 20)
        served.send_signal(signal.SIGINT)
        assert ready, "the URL came with the end only"
        assert served.stdout.readline().startswith("http://127.0.0.1:")
        served.stdout.read()  # who closes a pipe that is written to ends who writes
    assert served.returncode == 0
