"""Changed configurations before the judge: nginx's own test, in a network of its own."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.servers.nginx.layouts import LAYOUTS, Layout, certificate
from tests.servers.nginx.levels import levels_of

from httpdyno.model import Member, Survey
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.stack.snapshot import edited_files

pytestmark = pytest.mark.real_server("nginx", "unshare", "openssl")
NGINX = Nginx()
BUILT_IN = [layout for layout in LAYOUTS if not layout.needs]
TEMP_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
# Addresses that this machine does not have may be bound, and nobody's ports are in the way.
ALONE = """
echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind
echo 1 >/proc/sys/net/ipv6/ip_nonlocal_bind
exec "$@"
"""


def refused(main: Path, folder: Path) -> str:
    """Return nginx's words; empty where it takes the configuration."""
    unshare = shutil.which("unshare")
    assert unshare is not None
    done = subprocess.run(
        [
            *(unshare, "-n", "sh", "-c", ALONE, "sh", "/usr/sbin/nginx", "-t", "-q"),
            *("-c", str(main), "-p", str(folder), "-e", "stderr"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr or "no words"


def at_home(layout: Layout, folder: Path) -> Path:
    """Write a layout so that all that nginx writes, and all its keys, are in the folder."""
    main = layout.written(folder)
    crt, key = certificate(folder)
    for path in layout.files:
        file = Path(f"{folder}{path}")
        text = file.read_bytes()
        for kind, name in re.findall(rb"ssl_certificate(_key)?\s+([^;\s]+);", text):
            target = Path(name.decode())
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(key if kind else crt, target)
        missing = [n for n in TEMP_PATHS if f"{n}_temp_path".encode() not in text]
        temp = "".join(f" {n}_temp_path {folder}/tmp/{n};" for n in missing)
        file.write_bytes(re.sub(rb"\b(http\s*\{)", rb"\1" + temp.encode(), text, count=1))
    return main


@pytest.mark.parametrize("layout", BUILT_IN, ids=lambda layout: layout.name)
def test_nginx_takes_each_knob_in_each_layout(layout, own_folders):
    unshare = shutil.which("unshare") or ""
    if subprocess.run([unshare, "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may make no network namespace")
    main = at_home(layout, own_folders)
    assert refused(main, own_folders) == ""
    member = Member(name="nginx", kind="nginx", main=str(main), unit="nginx.service")
    files = NGINX.read(member)
    survey = NGINX.survey(member, files, None)
    assert isinstance(survey, Survey)
    knobs = NGINX.knobs(survey)
    assert len(knobs) > 10
    for name, info in knobs.items():
        level = [each for each in levels_of(name, info.default) if each != info.default][-1]
        changes = NGINX.change_set(survey, files, {name: level})
        assert changes.edits, name
        new = edited_files(files.texts, changes.edits)
        for path, text in new.items():
            Path(path).write_bytes(text)
        assert refused(main, own_folders) == "", (name, level)
        for path in new:
            Path(path).write_bytes(files.texts[path])


def test_the_judge_does_refuse(own_folders):
    main = at_home(BUILT_IN[0], own_folders)
    main.write_text(main.read_text().replace("sendfile on;", "sendfile on; sendfile off;"))
    assert '"sendfile" directive is duplicate' in refused(main, own_folders)
