"""He runs programs that are called as servers are, and waits for root to look for servers."""

import os
import shutil

from benches.faults.rights.stage import PORT, Stage, repeated
from benches.faults.rights.way import way

_LOOK = ("inspect", "--json", "-")


@way
def _nginx_found_by_inspect(stage: Stage) -> None:
    """His program is called nginx; root asks what runs here."""
    stage.serves("nginx")
    stage.root("inspect")


@way
def _nginx_found_by_its_kind(stage: Stage) -> None:
    """His program is called nginx; root looks at nginx."""
    stage.serves("nginx")
    stage.root("inspect", "nginx")


@way
def _nginx_found_by_its_port(stage: Stage) -> None:
    """His program is called nginx; root looks at who listens at a port."""
    stage.serves("nginx")
    stage.root("inspect", f":{PORT}")


@way
def _nginx_found_by_doctor(stage: Stage) -> None:
    """His program is called nginx; root checks the machine, its knobs and what it takes."""
    stage.serves("nginx")
    stage.root("doctor")
    stage.root("knobs", "nginx")
    stage.root("machine")


@way
def _nginx_found_by_watch(stage: Stage) -> None:
    """His program is called nginx; root watches who listens at a port."""
    stage.serves("nginx")
    stage.root("watch", f":{PORT}", "--once", "--every", "0.2s")


@way
def _nginx_found_by_a_dry_run(stage: Stage) -> None:
    """His program is called nginx; root asks what adopting it would do."""
    stage.serves("nginx")
    stage.root("adopt", "nginx", "--get", "/", "--dry-run")
    stage.root("adopt", f":{PORT}", "--get", "/", "--dry-run")
    stage.root("tune", "nginx", "--dry-run")


@way
def _nginx_found_by_a_look_under_load(stage: Stage) -> None:
    """His program is called nginx; root loads it and looks at its processes."""
    stage.serves("nginx")
    stage.root("inspect", f":{PORT}", "--load", f"{stage.url}/", "--for", "2s")


@way
def _nginx_found_after_a_load(stage: Stage) -> None:
    """His program is called nginx; root loads a URL of his for long."""
    stage.serves("nginx")
    stage.root("load", f"{stage.url}/", "-d", "12s", "-c", "2")


@way
def _apache_found_by_inspect(stage: Stage) -> None:
    """His programs are called apache2 and httpd."""
    stage.his("httpd.conf", f"ServerRoot {stage.home}\nListen {PORT}\n")
    for name in ("apache2", "httpd"):
        stage.runs(stage.named(name), "-f", stage.home / "httpd.conf", "-k", "start")
    stage.root("inspect")
    stage.root("inspect", "apache")


@way
def _php_fpm_found_by_inspect(stage: Stage) -> None:
    """His program is called php-fpm8.2, and names a pool of his."""
    conf = stage.his("php-fpm.conf", f"[www]\nlisten=127.0.0.1:{PORT}\npm=static\n")
    stage.runs(stage.named("php-fpm8.2"), title=f"php-fpm: master process ({conf})")
    stage.root("inspect")
    stage.root("inspect", "php-fpm")


@way
def _gunicorn_found_by_inspect(stage: Stage) -> None:
    """His programs are called gunicorn and uvicorn, as a script's own program would be."""
    for name in ("gunicorn", "uvicorn"):
        stage.runs(stage.named(name), "-b", f"127.0.0.1:{PORT}", "shop:app")
    stage.root("inspect")
    stage.root("inspect", "gunicorn")


@way
def _others_found_by_inspect(stage: Stage) -> None:
    """His programs are called node, haproxy, caddy, postgres, squid, openresty and puma."""
    for name in ("node", "haproxy", "caddy", "postgres", "squid", "openresty", "puma", "php"):
        stage.runs(stage.named(name), "run")
    stage.root(*_LOOK)


@way
def _name_that_is_only_said(stage: Stage) -> None:
    """His program calls itself `nginx: master process`, with his program's path behind it."""
    conf = stage.his("nginx.conf", "events {}\nhttp {}\n")
    program = stage.named("nginx")
    title = f"nginx: master process {program} -c {conf}"
    stage.runs(stage.named("other"), title=title, ready=PORT)
    stage.root("inspect")
    stage.root("adopt", f":{PORT}", "--get", "/", "--dry-run")


@way
def _interpreter_of_his(stage: Stage) -> None:
    """A python of his own runs gunicorn, in a virtual environment of his."""
    stage.his("venv/pyvenv.cfg", "home = /usr/bin\n")
    stage.his("venv/bin/python3", (stage.home / "mark").read_bytes(), mode=0o755)
    stage.his("venv/bin/gunicorn", f"#!{stage.home}/venv/bin/python3\n", mode=0o755)
    python = stage.home / "venv/bin/python3"
    pid = stage.runs(python, stage.home / "venv/bin/gunicorn", "-b", f":{PORT}", "shop:app")
    stage.root("inspect")
    stage.root("adopt", f"pid:{pid}", "--get", "/", "--dry-run")


@way
def _startup_file_of_his_python(stage: Stage) -> None:
    """The true python runs gunicorn; a `sitecustomize.py` of his lies where it looks."""
    stage.his("venv/pyvenv.cfg", "home = /usr/bin\n")
    stage.link("venv/bin/python3", shutil.which("python3", path="/usr/bin") or "")
    lib = f"venv/lib/{os.readlink('/usr/bin/python3')}/site-packages"
    code = f"import os\nos.system('{stage.mark} sitecustomize')\n"
    stage.his(f"{lib}/sitecustomize.py", code)
    stage.his(f"{lib}/gunicorn/__init__.py", f"__version__ = '20.1'\n{code}")
    stage.his("venv/bin/gunicorn", _WAITING, mode=0o755)
    python = stage.home / "venv/bin/python3"
    pid = stage.runs(python, stage.home / "venv/bin/gunicorn", "-b", f":{PORT}", "shop:app")
    stage.root("inspect")
    stage.root("adopt", f"pid:{pid}", "--get", "/", "--dry-run")


@way
def _configuration_that_is_code(stage: Stage) -> None:
    """His gunicorn has a configuration in Python, and an application to import."""
    code = f"import os\nos.system('{stage.mark} imported')\n"
    conf = stage.his("gunicorn.conf.py", f"{code}workers = 2\n")
    stage.his("shop.py", f"{code}def app(e, s): s('200 OK', []); return [b'ok']\n")
    stage.his("gunicorn", _WAITING, mode=0o755)
    script = stage.home / "gunicorn"
    pid = stage.runs("/usr/bin/python3", script, "-c", conf, "-b", f":{PORT}", "shop:app")
    stage.root("inspect")
    stage.root("inspect", conf)
    stage.root("adopt", f"pid:{pid}", "--get", "/", "--dry-run")


@way
def _libraries_in_its_environment(stage: Stage) -> None:
    """The true nginx runs as he; its environment names libraries and modules of his."""
    conf = stage.his("nginx.conf", _nginx(stage))
    stage.his("modules/sitecustomize.py", f"import os\nos.system('{stage.mark} python')\n")
    environment = {
        "LD_PRELOAD": str(stage.library()),
        "LD_LIBRARY_PATH": str(stage.home),
        "PYTHONPATH": str(stage.home / "modules"),
        "PERL5LIB": str(stage.home),
        "OPENSSL_CONF": str(stage.home / "openssl.cnf"),
        "PATH": f"{stage.home}:/usr/bin",
    }
    nginx = shutil.which("nginx", path="/usr/sbin") or "/usr/sbin/nginx"
    pid = stage.runs(
        *(nginx, "-c", conf, "-p", stage.home, "-g", "daemon off;"),
        environment=environment,
        ready=PORT,
    )
    stage.root("inspect")
    stage.root("adopt", f"pid:{pid}", "--get", "/", "-o", stage.work / "shop")


@way
def _program_that_is_swapped(stage: Stage) -> None:
    """At his nginx's path stands now the true one, now his own, without a pause."""
    stage.serves("nginx")
    shutil.copy("/usr/sbin/nginx", stage.home / "true")
    paths = [str(stage.home / name) for name in ("true", "his", "nginx")]
    shutil.copy(stage.home / "mark", paths[1])

    def swap() -> None:
        for each in paths[:2]:
            os.link(each, f"{each}.new")
            os.rename(f"{each}.new", paths[2])

    with repeated(swap):
        for _ in range(3):
            stage.root("inspect", "nginx")


@way
def _roots_program_in_his_folder(stage: Stage) -> None:
    """The file is root's, its folder is his: he puts another in its place once root has looked."""
    (stage.home / "sbin").mkdir()
    stage.give(stage.home / "sbin")
    program = stage.home / "sbin/nginx"
    shutil.copy(stage.home / "mark", program)
    os.chown(program, 0, 0)
    stage.runs(program, ready=PORT)
    stage.root("inspect")


@way
def _program_that_his_group_may_write(stage: Stage) -> None:
    """The file is root's, its folder too, and his group may write it."""
    program = stage.folder / "nginx"
    shutil.copy(stage.home / "mark", program)
    os.chown(program, 0, stage.user)
    program.chmod(0o775)
    stage.runs(program, ready=PORT)
    stage.root("inspect")


@way
def _folder_that_root_stands_in(stage: Stage) -> None:
    """Root stands in his folder: modules, programs and settings of his lie there."""
    code = f"import os\nos.system('{stage.mark} import')\n"
    for name in (
        "sitecustomize",
        "usercustomize",
        "msgspec",
        "httpdyno",
        "psutil",
        "typing",
        "app",
    ):
        stage.his(f"{name}.py", code)
    for name in ("nginx", "ss", "strace", "ip", "php", "perl", "openssl", "apache2", "mount"):
        stage.named(name)
    stage.his("pyproject.toml", "[tool.httpdyno]\nserver = './nginx'\n")
    for words in (("inspect",), ("doctor",), ("machine",), ("study", "check", "bookmarks")):
        stage.root(*words, cwd=stage.home)


@way
def _procfile_of_his(stage: Stage) -> None:
    """His Procfile names his programs; root looks at it, and asks what adopting it would do."""
    stage.named("gunicorn")
    path = stage.his("Procfile", f"web: {stage.home}/gunicorn shop:app\n")
    stage.root("inspect", path, cwd=stage.home)
    stage.root("adopt", path, "--get", "/", "--dry-run")


@way
def _unit_of_his(stage: Stage) -> None:
    """A unit that root linked from his folder starts his program, with his settings' file."""
    stage.named("nginx")
    stage.link("settings", stage.secret)
    unit = stage.his(
        "shop.service",
        f"[Service]\nUser=root\nExecStart={stage.home}/nginx -V\nExecStartPre={stage.mark} pre\n"
        f"EnvironmentFile={stage.home}/settings\nWorkingDirectory={stage.home}\n",
    )
    os.makedirs("/run/systemd/system", exist_ok=True)
    link = f"/run/systemd/system/{unit.name}"
    os.symlink(unit, link)
    stage.closing.callback(os.unlink, link)
    stage.root("inspect", f"unit:{unit.name}")
    stage.root("adopt", f"unit:{unit.name}", "--get", "/", "--dry-run")
    stage.root("adopt", f"unit:{unit.name}", "--get", "/", "-o", stage.work / "shop")


_WAITING = "#!/usr/bin/python3\nimport time\ntime.sleep(600)\n"


def _nginx(stage: Stage) -> str:
    temp = "".join(
        f"{kind}_temp_path {stage.home}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"pid {stage.home}/nginx.pid;\nerror_log {stage.home}/error.log;\nevents {{}}\n"
        f"http {{ access_log off; {temp} server {{ listen 127.0.0.1:{PORT}; "
        f"location / {{ return 200 ok; }} }} }}\n"
    )
