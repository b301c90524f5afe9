"""His configurations, logs and pages name files that are root's, or that are none."""

import os
import shutil
from pathlib import Path

from benches.faults.rights.stage import PORT, Stage, repeated
from benches.faults.rights.way import way


def _look(stage: Stage, config: Path) -> None:
    stage.root("inspect", config)
    stage.root("adopt", config, "--get", "/", "-o", stage.work / "shop")


def _apache(stage: Stage, *lines: str) -> Path:
    (stage.home / "www").mkdir(exist_ok=True)
    stage.his("www/index.html", "hello")
    modules = "/usr/lib/apache2/modules"
    text = (
        f"ServerRoot {stage.home}\nServerName x\nListen 127.0.0.1:{PORT}\nUser www-data\n"
        f"Group www-data\nPidFile {stage.home}/httpd.pid\nErrorLog {stage.home}/error.log\n"
        f"LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so\n"
        f"LoadModule authz_core_module {modules}/mod_authz_core.so\n"
        f"LoadModule dir_module {modules}/mod_dir.so\nDocumentRoot {stage.home}/www\n"
        f"<Directory {stage.home}/www>\nAllowOverride All\nRequire all granted\n</Directory>\n"
    )
    return stage.his("apache2.conf", text + "".join(f"{line}\n" for line in lines))


@way
def _include_of_roots_file_in_nginx(stage: Stage) -> None:
    """His nginx.conf includes a file of root's, whose lines are errors."""
    config = stage.his("nginx.conf", f"events {{}}\nhttp {{ include {stage.secret}; }}\n")
    stage.runs(stage.named("nginx"), title=f"nginx: master process nginx -c {config}")
    stage.root("inspect")
    _look(stage, config)
    stage.his("nginx.conf", f"events {{}}\nhttp {{ include {stage.settings}; }}\n")
    _look(stage, config)


@way
def _include_by_link_in_nginx(stage: Stage) -> None:
    """His nginx.conf includes all of a folder of his; a link in it leads to root's file."""
    stage.link("sites/shop.conf", stage.settings)
    config = stage.his("nginx.conf", f"events {{}}\nhttp {{ include {stage.home}/sites/*; }}\n")
    _look(stage, config)


@way
def _include_of_roots_file_in_apache(stage: Stage) -> None:
    """His Apache includes a file of root's, whose lines are errors."""
    _look(stage, _apache(stage, f"Include {stage.secret}"))


@way
def _include_of_roots_file_in_php_fpm(stage: Stage) -> None:
    """His php-fpm includes a file of root's, and root's environment."""
    pool = f"[www]\nlisten = 127.0.0.1:{PORT}\nuser = www-data\npm = static\npm.max_children = 1\n"
    config = stage.his("php-fpm.conf", f"include={stage.secret}\n{pool}")
    _look(stage, config)
    stage.root("inspect", stage.his("php-fpm.conf", f"include=/proc/self/environ\n{pool}"))


@way
def _configuration_that_is_a_link(stage: Stage) -> None:
    """The configuration itself is a link to root's file, also for the process that names it."""
    for name in ("nginx.conf", "apache2.conf", "php-fpm.conf", "gunicorn.conf.py", "Procfile"):
        stage.root("inspect", stage.link(name, stage.secret))
    stage.runs(stage.named("gunicorn"), "-c", stage.home / "gunicorn.conf.py", "shop:app")
    stage.root("inspect")


@way
def _certificates_of_root(stage: Stage) -> None:
    """His nginx.conf names root's file as certificate, key and passwords."""
    secret = stage.secret
    tls = f"ssl_certificate {secret}; ssl_certificate_key {secret}; ssl_password_file {secret};"
    server = f"server {{ listen 127.0.0.1:{PORT} ssl; {tls} auth_basic x; "
    server += f"auth_basic_user_file {secret}; location / {{ return 200 ok; }} }}"
    _look(stage, stage.his("nginx.conf", f"events {{}}\nhttp {{ {server} }}\n"))


@way
def _page_of_roots_file(stage: Stage) -> None:
    """His nginx.conf runs as root and serves root's folder, which the rehearsal then asks for."""
    server = f"server {{ listen 127.0.0.1:{PORT}; location / {{ alias {stage.root_only}/; }} }}"
    config = stage.his("nginx.conf", f"user root;\nevents {{}}\nhttp {{ {server} }}\n")
    stage.root("adopt", config, "--get", "/secret", "-o", stage.work / "shop")


@way
def _module_of_his(stage: Stage) -> None:
    """His Apache and nginx load modules that are libraries of his."""
    library = stage.library()
    _look(stage, _apache(stage, f"LoadModule his_module {library}", f"LoadFile {library}"))
    shutil.rmtree(stage.work / "shop", ignore_errors=True)
    server = f"server {{ listen 127.0.0.1:{PORT}; location / {{ return 200 ok; }} }}"
    text = f"load_module {library};\nevents {{}}\nhttp {{ {server} }}\n"
    _look(stage, stage.his("nginx.conf", text))


@way
def _commands_in_a_configuration(stage: Stage) -> None:
    """His Apache pipes its logs into his program, and maps addresses with it."""
    lines = (
        f'CustomLog "|{stage.mark} log" common',
        f'ErrorLog "|{stage.mark} error"',
        "LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so",
        f"RewriteEngine On\nRewriteMap his prg:{stage.mark}",
    )
    _look(stage, _apache(stage, *lines))


@way
def _htaccess_that_is_a_link(stage: Stage) -> None:
    """A `.htaccess` in a folder of his is a link to root's file, and so is `.user.ini`."""
    config = _apache(stage)
    for name in (".htaccess", ".user.ini", ".htpasswd"):
        stage.link(f"www/mine/{name}", stage.secret)
    _look(stage, config)


@way
def _htaccess_that_is_swapped(stage: Stage) -> None:
    """His `.htaccess` is now his own, now a link to root's file, without a pause."""
    config = _apache(stage)
    path = str(stage.his("www/mine/.htaccess", "# mine\n"))

    def swap() -> None:
        os.symlink(stage.secret, f"{path}.link")
        os.rename(f"{path}.link", path)
        Path(f"{path}.file").write_text("# mine\n")
        os.rename(f"{path}.file", path)

    with repeated(swap):
        _look(stage, config)


@way
def _folder_that_is_swapped(stage: Stage) -> None:
    """A folder that his nginx.conf includes is now his own, now root's, without a pause."""
    for name in ("secret", "settings.conf"):
        stage.his(f"sites/{name}", "# mine\n")
    stage.link("roots", stage.root_only)
    config = stage.his(
        "nginx.conf", f"events {{}}\nhttp {{ include {stage.home}/sites/*.conf; }}\n"
    )
    names = [str(stage.home / name) for name in ("sites", "roots", "third")]

    def swap() -> None:
        os.rename(names[0], names[2])
        os.rename(names[1], names[0])
        os.rename(names[0], names[1])
        os.rename(names[2], names[0])

    with repeated(swap):
        for _ in range(3):
            stage.root("inspect", config)


@way
def _hard_links_to_roots_files(stage: Stage) -> None:
    """A file that his nginx.conf includes is a hard link to root's."""
    # Where the kernel keeps him from it: made before it did, or by root's own backup.
    hard = stage.home / "hard.conf"
    os.link(stage.settings, hard)
    config = stage.his("nginx.conf", f"events {{}}\nhttp {{ include {hard}; }}\n")
    _look(stage, config)
    os.unlink(hard)


@way
def _error_log_that_is_roots_file(stage: Stage) -> None:
    """His server has root's file as its error log, by name and by link."""
    config = stage.his(
        "nginx.conf",
        f"error_log {stage.link('error.log', stage.secret)};\nevents {{}}\n"
        f"http {{ error_log {stage.secret}; server {{ listen 127.0.0.1:{PORT}; }} }}\n",
    )
    stage.serves("nginx", title=f"nginx: master process nginx -c {config}")
    stage.root("inspect", f":{PORT}", "--load", f"{stage.url}/", "--for", "2s")
    stage.root("watch", f":{PORT}", "--once", "--every", "0.2s")


@way
def _logs_and_lists_that_are_links(stage: Stage) -> None:
    """Root loads what a log, a list or a body of his says: they are links to root's file."""
    stage.serves("plain")
    link = stage.link("access.log", stage.secret)
    stage.root("load", f"{stage.url}/", "-n", "2", "--replay", link)
    stage.root("load", "--url-file", link, "-n", "2")
    stage.root("load", f"{stage.url}/", "-n", "2", "--data", f"@{link}")
    stage.root("adopt", stage.his("nginx.conf", "events {}\nhttp {}\n"), "--urls", link)


@way
def _fifos_everywhere(stage: Stage) -> None:
    """FIFOs without a writer stand where configurations, includes and logs are read."""
    fifo = stage.fifo("waits.conf")
    nginx = stage.his("nginx.conf", f"events {{}}\nhttp {{ include {fifo}; }}\n")
    stage.runs(stage.named("nginx"), title=f"nginx: master process nginx -c {nginx}")
    stage.runs(stage.named("other"), title=f"nginx: master process nginx -c {fifo}")
    stage.runs(stage.named("php-fpm8.2"), title=f"php-fpm: master process ({fifo})")
    stage.runs(stage.named("gunicorn"), "-c", fifo, "shop:app")
    stage.root("inspect")
    config = _apache(stage, f"IncludeOptional {fifo}")
    stage.fifo("www/mine/.htaccess")
    stage.fifo("www/robots.txt")
    _look(stage, config)
    stage.root("load", "--replay", fifo, f"{stage.url}/", "-n", "1")


@way
def _devices_and_proc(stage: Stage) -> None:
    """Devices without an end, and what /proc has of others, are included."""
    for path in ("/dev/zero", "/proc/kmsg", "/proc/1/fd/*", "/proc/1/environ", "/proc/kcore"):
        nginx = stage.his("nginx.conf", f"events {{}}\nhttp {{ include {path}; }}\n")
        stage.root("inspect", nginx)
    pool = f"[www]\nlisten=127.0.0.1:{PORT}\npm=static\npm.max_children=1\nuser=www-data\n"
    config = stage.his("php-fpm.conf", f"[global]\ninclude=/proc/1/fd/*\n{pool}")
    stage.runs(stage.named("php-fpm8.2"), title=f"php-fpm: master process ({config})")
    stage.root("inspect")


@way
def _files_without_an_end(stage: Stage) -> None:
    """A sparse file of a terabyte, an include of itself, and nesting stand in configurations."""
    huge = stage.his("huge.conf", "")
    os.truncate(huge, 1 << 40)
    own = stage.home / "nginx.conf"
    deep = stage.his("deep.conf", "server { " * 20_000)
    for path in (huge, own, deep, stage.home / ("n" * 300)):
        stage.his("nginx.conf", f"events {{}}\nhttp {{ include {path}; }}\n")
        stage.root("inspect", own)
    stage.runs(stage.named("nginx"), title=f"nginx: master process nginx -c {own}")
    stage.root("inspect")


@way
def _names_in_tmp_that_are_swapped(stage: Stage) -> None:
    """Names in /var/tmp are now his own files, now links to root's, while copies start."""
    stage.his("server.py", _SERVER)
    pid = stage.runs("/usr/bin/python3", stage.home / "server.py", ready=PORT)
    names = [f"/var/tmp/flip{k}" for k in range(20)]

    def swap() -> None:
        for name in names:
            os.symlink(stage.secret, f"{name}.link")
            os.rename(f"{name}.link", name)
            Path(f"{name}.file").write_text("mine\n")
            os.chown(f"{name}.file", stage.user, stage.user)
            os.rename(f"{name}.file", name)

    with repeated(swap):
        folder = stage.work / "shop"
        stage.root("adopt", f"pid:{pid}", "--get", "/", "-o", folder, "--knob", "env.X=1,2")
        if folder.exists():
            stage.root("study", "check", folder)


_SERVER = f"""
import glob, http.server
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        said = b"ok"
        for path in glob.glob("/var/tmp/flip*"):
            try: said += open(path, "rb").read(200).replace(b"mine", b"")
            except OSError: pass
        self.send_response(200); self.send_header("Content-Length", str(len(said)))
        self.end_headers(); self.wfile.write(said)
http.server.ThreadingHTTPServer(("127.0.0.1", {PORT}), H).serve_forever()
"""
