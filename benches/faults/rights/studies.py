"""Root looks at a study of his, or runs its own where he may write."""

import os
import shutil
from pathlib import Path

from benches.faults.rights.stage import PORT, Stage
from benches.faults.rights.way import way

_STUDY = """
format = 2
name = "{name}"
title = "Which cache helps?"
[server]
adapter = "command"
command = {command}
{server}
[[knobs]]
name = "k"
start = {start}
levels = ["b"]
{more}
[workload]
{workload}
[[workload.requests]]
path = "/"
{request}
"""


def _study(stage: Stage, name: str = "shop", *, start: str = "'a'", **parts: str) -> Path:
    """Write a study of his; return its folder."""
    serving = '["/usr/bin/python3", "-I", "-m", "http.server", "-b", "127.0.0.1", "{port}"]'
    known = {
        "command": serving,
        "server": _VARIABLE,
        "more": "",
        "workload": "",
        "request": "",
    }
    text = _STUDY.format(name=name, start=start, **(known | parts))
    return stage.his(f"{name}/study.toml", text).parent


def _looked_at(stage: Stage, folder: Path) -> None:
    """Have root do all that is to run nothing."""
    stage.root("study", "show", folder)
    stage.root("tune", folder, "--dry-run")
    stage.root("compare", folder, "--b", "k=b", "--dry-run")


def _started(stage: Stage, folder: Path) -> None:
    """Have root do what starts it, once it was not told that it may."""
    stage.root("study", "check", folder)
    stage.root("study", "serve", folder, within_s=6, may_last=True)


_VARIABLE = "environment = { A = '{knob.k}' }"
_KEEPER = """
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_POST(self):
        with open("{kept}", "ab") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200); self.send_header("Content-Length", "2")
        self.end_headers(); self.wfile.write(b"ok")
    do_GET = lambda self: self.send_error(404)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""


def _template(stage: Stage) -> str:
    return f"{{{{ cycler.__init__.__globals__.os.popen('{stage.mark} template').read() }}}}"


@way
def _templates_that_run_commands(stage: Stage) -> None:
    """Templates in all places of his study run a command."""
    evil = _template(stage)
    companion = (
        '[[companions]]\nname = "c"\nadapter = "command"\ncommand = ["/bin/true", "{port}"]\n'
    )
    network = '[network]\nhosts = ["127.0.0.2 mail.example"]\n[network.resolver]\nanswers = '
    files = "[[server.templates]]\nsource = 't.j2'\nto = 't'"
    stage.his("values/t.j2", f"{evil} {{{{ knob.k }}}}")
    for each in (
        _study(stage, "values", start=f'"{evil}"', server=f"ready = 'tcp'\n{files}"),
        _study(stage, "variable", server=f'environment = {{ A = "{evil}{{knob.k}}" }}'),
        _study(stage, "when", more=f'{companion}when = "{evil}"'),
        _study(stage, "target", more=companion, workload=f'target = "{evil}"'),
        _study(stage, "answers", more=f'{network}"{evil}"'),
        _study(stage, "hosts", more=f'[network]\nhosts = ["127.0.0.2 {evil}"]'),
    ):
        _looked_at(stage, each)


@way
def _templates_that_read_files(stage: Stage) -> None:
    """Templates of his study include root's file, by its path and by a link."""
    stage.link("shop/link", stage.secret)
    body = f"{{% include 'link' %}}{{% include '{stage.secret}' %}}{{{{ knob.k }}}}"
    stage.his("shop/t.j2", body)
    folder = _study(stage, server="[[server.templates]]\nsource = 't.j2'\nto = 't'")
    _looked_at(stage, folder)
    stage.his("shop/t.j2", "{% include 'link' %} {{ knob.k }}")
    _looked_at(stage, folder)
    _started(stage, folder)


@way
def _templates_without_an_end(stage: Stage) -> None:
    """A template of his study loops, and one fills all memory."""
    for body in (
        "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 99999999999 }}",
        "{{ ('%' ~ 9999999999 ~ 's') % 'a' }}",
    ):
        stage.his("shop/t.j2", f"{body} {{{{ knob.k }}}}")
        folder = _study(stage, server="[[server.templates]]\nsource = 't.j2'\nto = 't'")
        stage.root("study", "show", folder)
        stage.root("tune", folder, "--dry-run")


@way
def _patterns_without_an_end(stage: Stage) -> None:
    """Patterns of his study take for ever."""
    text = "a" * 40 + "!"
    stage.his("shop/index.html", text)
    for server, workload, command in (
        (
            f"ready = 'log (a+)+$'\n{_VARIABLE}",
            "",
            f'["/bin/sh", "-c", "echo {text}; sleep 60", "{{port}}"]',
        ),
        (
            f"{_VARIABLE}\n[[server.files]]\nfrom = 'index.html'\nto = 'index.html'",
            "may_differ = ['(a+)+$', '(([a-z])+.)+[A-Z]([a-z])+$']",
            None,
        ),
    ):
        own = {} if command is None else {"command": command}
        folder = _study(stage, server=server, workload=workload, **own)
        _looked_at(stage, folder)
        _started(stage, folder)


@way
def _files_of_root_that_it_takes(stage: Stage) -> None:
    """His study takes root's file into a run, by path, by link, and out of its own folder."""
    stage.link("shop/link", stage.secret)
    files = "".join(
        f"[[server.files]]\nfrom = '{path}'\nto = 'f{k}'\n"
        for k, path in enumerate((stage.secret, "link", "../../root-only/secret"))
    )
    folder = _study(stage, server=f"environment = {{ A = '{{knob.k}}' }}\n{files}")
    _looked_at(stage, folder)
    _started(stage, folder)


@way
def _files_outside_that_it_writes(stage: Stage) -> None:
    """His study has files go out of the run folder."""
    stage.his("shop/t.j2", "{{ knob.k }}")
    for target in (
        f"../../../{stage.root_only.relative_to('/')}/out-by-to",
        f"{stage.root_only}/o",
    ):
        stage.his("shop/x", "x")
        folder = _study(
            stage,
            server=f"[[server.files]]\nfrom = 'x'\nto = '{target}'\n"
            f"[[server.templates]]\nsource = 't.j2'\nto = '{target}2'",
        )
        stage.root("study", "show", folder)
        stage.root("study", "check", folder)


@way
def _body_that_is_roots_file(stage: Stage) -> None:
    """His study sends root's file to his server, as the body of a request."""
    stage.link("shop/link", stage.secret)
    keeper = stage.his("shop/keeper.py", _KEEPER.format(kept=stage.home / "kept"))
    folder = _study(
        stage,
        command=f'["/usr/bin/python3", "-S", "{keeper}", "{{port}}"]',
        request="method = 'POST'\nbody = '@link'",
    )
    _looked_at(stage, folder)
    _started(stage, folder)


@way
def _study_that_is_a_link(stage: Stage) -> None:
    """The study file is a link to root's file, a FIFO, or a device."""
    stage.root("study", "show", stage.link("shop/study.toml", stage.secret).parent)
    stage.root("study", "show", stage.fifo("fifo/study.toml").parent)
    stage.root("study", "show", stage.link("zero/study.toml", "/dev/zero").parent)


@way
def _interpreter_that_it_names(stage: Stage) -> None:
    """His study names a program of his as gunicorn's python; its servers ask it what it is."""
    stage.his("shop/app.py", "app = None\n")
    stage.his("shop/python", (stage.home / "mark").read_bytes(), mode=0o755)
    text = (
        "format = 2\nname = 'shop'\ntitle = 'x'\n[server]\nadapter = 'gunicorn'\n"
        "settings = { application = 'app:app', python = 'python' }\n"
        "[[knobs]]\nname = 'workers'\nstart = 1\nlevels = [2]\n"
        "[workload]\n[[workload.requests]]\npath = '/'\n"
    )
    folder = stage.his("shop/study.toml", text).parent
    _looked_at(stage, folder)
    stage.root("study", "check", folder)


@way
def _commands_of_his_study(stage: Stage) -> None:
    """His study starts and prepares with his programs; root checks, serves, tunes, compares."""
    folder = _study(
        stage,
        server=f"prepare = ['{stage.mark}', 'prepare']\n"
        f"environment = {{ A = '{{knob.k}}', LD_PRELOAD = '{stage.library()}' }}",
    )
    _looked_at(stage, folder)
    _started(stage, folder)
    stage.root("study", "run", folder, "--budget", "3s")
    stage.root("tune", folder, "--budget", "3s")
    stage.root("compare", folder, "--b", "k=b", "--budget", "3s")


@way
def _roots_study_in_his_folder(stage: Stage) -> None:
    """Root's own study lies where he may write: he has put his own in its place."""
    folder = _study(stage, server=f"prepare = ['{stage.mark}', 'prepare']\n{_VARIABLE}")
    for each in (folder, folder / "study.toml"):
        os.chown(each, 0, 0)
    stage.root("study", "check", folder)
    stage.root("tune", folder, "--budget", "3s")


@way
def _roots_study_that_his_group_writes(stage: Stage) -> None:
    """Root's study lies in root's folder, and his group may write the file."""
    folder = _study(stage, server=f"prepare = ['{stage.mark}', 'prepare']\n{_VARIABLE}")
    moved = stage.folder / "shop"
    shutil.move(folder, moved)
    for each, mode in ((moved, 0o755), (moved / "study.toml", 0o664)):
        os.chown(each, 0, stage.user)
        each.chmod(mode)
    stage.root("study", "check", moved)


@way
def _snapshot_that_is_swapped(stage: Stage) -> None:
    """Root adopted a site into his folder; he has links in the snapshot lead to root's file."""
    server = f"server {{ listen 127.0.0.1:{PORT}; location / {{ return 200 ok; }} }}"
    config = stage.folder / "nginx.conf"
    config.write_text(f"user www-data;\nevents {{}}\nhttp {{ {server} }}\n")
    folder = stage.home / "shop"
    stage.root("adopt", config, "--get", "/", "-o", folder)
    for path in folder.rglob("*.conf"):
        path.unlink()
        path.symlink_to(stage.secret)
    if folder.exists():
        stage.root("study", "show", folder)
        stage.root("study", "check", folder)
