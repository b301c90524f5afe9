"""`httpdyno study new` and `check`, end to end: what is written runs."""

import json
import os
import sys

import pytest

from httpdyno.cli.app import run

WSGI = """
def app(environ, start):
    path = environ["PATH_INFO"]
    if path == "/login":
        start("302 Found", [("Set-Cookie", "who=me; Path=/"), ("Content-Length", "0")])
        return [b""]
    known = "who=me" in environ.get("HTTP_COOKIE", "")
    status = "403 Forbidden" if path == "/own" and not known else "200 OK"
    start(status, [("Content-Length", "2")])
    return [b"ok"]
"""


def _checked(capsys, folder):
    code = run(["study", "check", str(folder), "--json", "-"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text(WSGI)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["nginx"], marks=pytest.mark.real_server("nginx")),
        pytest.param(["apache"], marks=pytest.mark.real_server("apache2")),
        pytest.param(
            ["command", "--", sys.executable, "-m", "gunicorn", "shop:app", "-b", "{address}"],
            marks=pytest.mark.real_server(),
        ),
    ],
    ids=lambda words: words[0],
)
def test_a_study_to_begin_with_runs(here, capsys, words):
    assert run(["study", "new", "-o", "own", *words]) == 0
    assert "cannot run" not in capsys.readouterr().out
    code, found = _checked(capsys, "own")
    assert code == 0
    [answer] = found["answers"]
    assert (answer["request"], answer["status"], answer["is_right"]) == ("GET /", 200, True)
    assert 0 < found["ready_s"] < found["start_s"] < found["whole_s"][0] <= found["whole_s"][1]


@pytest.mark.real_server
def test_each_request_is_asked_once_with_the_cookies_of_the_first(here, capsys):
    assert run(["study", "new", "gunicorn", "shop:app", "--python", sys.executable]) == 0
    file = here / "shop-study" / "study.toml"
    asked = '[[workload.first]]\npath = "/login"\nexpect_status = 302\n\n[[workload.requests]]'
    text = file.read_text().replace("[[workload.requests]]", asked)
    file.write_text(text.replace('path = "/" ', 'path = "/own"').replace('"/"\nexp', '"/own"\nexp'))
    capsys.readouterr()
    code, found = _checked(capsys, "shop-study")
    assert [(each["request"], each["status"]) for each in found["answers"]] == [
        ("GET /login", 302),
        ("GET /own", 200),
    ]
    assert code == 0
    assert found["effective"]["workers"] == "1"


@pytest.mark.real_server
def test_a_wrong_answer_is_said_before_any_load(here, capsys):
    assert run(["study", "new", "gunicorn", "shop:app", "--python", sys.executable]) == 0
    file = here / "shop-study" / "study.toml"
    file.write_text(file.read_text().replace('path = "/"\n', 'path = "/own"\n'))
    capsys.readouterr()
    assert run(["study", "check", "shop-study"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "403" in out
    assert "expected any 2xx or 3xx" in out
    assert "1 answer of 1 not as expected" in out


@pytest.mark.real_server
def test_a_server_that_does_not_come_up_says_why(here, capsys):
    (here / "shop.py").write_text("raise RuntimeError('no database')\n")
    assert run(["study", "new", "gunicorn", "shop:app", "--python", sys.executable]) == 0
    capsys.readouterr()
    assert run(["study", "check", "shop-study"]) == 3
    said = capsys.readouterr().err
    assert "the server did not come up" in said
    assert "no database" in said


NGINX = """
worker_processes 1;
events { }
http {
    server { listen 8099; location / { return 200 "ok"; } location /gone { return 410; } }
}
"""


@pytest.mark.real_server("nginx")
@pytest.mark.skipif(os.geteuid() != 0, reason="a private copy at its own port takes root")
def test_a_private_copy_of_a_site_is_checked_like_any_server(here, capsys):
    (here / "nginx.conf").write_text(NGINX)
    adopted = ["adopt", str(here / "nginx.conf"), "-o", "own", "--knob"]
    assert run([*adopted, "nginx:worker_processes=2"]) == 0
    capsys.readouterr()
    code, found = _checked(capsys, "own")
    assert (code, [each["status"] for each in found["answers"]]) == (0, [200])
    file = here / "own" / "study.toml"
    file.write_text(file.read_text().replace('path = "/"\n', 'path = "/gone"\n'))
    code, found = _checked(capsys, "own")
    assert (code, [each["status"] for each in found["answers"]]) == (1, [410])
    assert found["start_s"] is None
