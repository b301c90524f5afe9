"""Sites with keys that only root may read, as an ordinary user's copies of them come up."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.isolation import no_cell
from tests.servers.sandbox.test_ordinary_user import NOBODY, as_nobody, interpreter

from httpdyno.servers.sandbox import landlock_rules

pytestmark = [
    pytest.mark.real_server("nginx", "apache2", "openssl"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has files that he alone may read"),
]

NGINX = """user www-data;
worker_processes 1;
pid /run/unread.pid;
events {{ worker_connections 64; }}
http {{
  root {site}/www;
  server {{
    listen 443 ssl; server_name shop.example;
    ssl_certificate tls/shop.crt; ssl_certificate_key tls/shop.key;
  }}
  server {{
    listen 443 ssl; server_name blog.example;
    ssl_certificate {site}/tls/blog.crt; ssl_certificate_key {site}/closed/live/blog.key;
    ssl_dhparam {site}/closed/dh.pem; ssl_session_ticket_key {site}/closed/tickets;
    ssl_stapling on; ssl_stapling_file {site}/closed/staple;
    ssl_trusted_certificate {site}/closed/live/blog.crt; ssl_password_file {site}/closed/pass;
  }}
  server {{
    listen 443 ssl; server_name closed.example;
    ssl_certificate closed/live/blog.crt; ssl_certificate_key closed/live/blog.key;
  }}
}}
"""
APACHE = """ServerRoot {site}
ServerName shop.example
Listen 443
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule socache_shmcb_module /usr/lib/apache2/modules/mod_socache_shmcb.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
User www-data
Group www-data
PidFile /run/unread.pid
ErrorLog /var/log/unread.log
DocumentRoot {site}/www
SSLCertificateFile tls/shop.crt
SSLCertificateKeyFile tls/shop.key
SSLSessionTicketKeyFile {site}/closed/tickets
SSLUseStapling on
SSLStaplingCache shmcb:/run/unread-stapling(32768)
<VirtualHost *:443>
  ServerName shop.example
  SSLEngine on
</VirtualHost>
<VirtualHost *:443>
  ServerName blog.example
  SSLEngine on
  SSLCertificateFile {site}/tls/blog.crt
  SSLCertificateKeyFile {site}/closed/live/blog.key
  SSLCertificateChainFile {site}/closed/live/blog.crt
</VirtualHost>
<VirtualHost *:443>
  ServerName closed.example
  SSLEngine on
  SSLCertificateFile closed/live/both.pem
  SSLCertificateKeyFile closed/live/both.pem
</VirtualHost>
"""
KINDS = {"nginx": ("nginx.conf", NGINX), "apache": ("apache.conf", APACHE)}
HOSTS = ("shop.example", "blog.example", "closed.example")
KNOB = {"nginx": "nginx:worker_processes=2", "apache": "apache:ThreadsPerChild=50"}

USERS_COPY = """
import json, socket, ssl, sys
from pathlib import Path
from httpdyno.cli.app import run
folder, main, isolation, knob, *hosts = sys.argv[1:]
adopted = run(["adopt", main, "-o", folder, "--isolation", isolation, "--knob", knob,
    "--get", "/index.html", "--json", f"{folder}.json"])
if adopted:
    sys.exit(adopted)
from httpdyno.catalog import open_study
from httpdyno.model import Configuration
from httpdyno.registry import load_target
from httpdyno.servers.network.address import within
from httpdyno.servers.run.folder import new_run_root
study = open_study(folder)
server = load_target(study)
def shown(address, host):
    unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    ip, _, port = address.rpartition(":")
    with socket.create_connection((ip, int(port)), timeout=10) as plain:
        with unchecked.wrap_socket(plain, server_hostname=host) as stream:
            stream.sendall(f"GET /index.html HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n".encode())
            answer = b"".join(iter(lambda: stream.recv(4096), b""))
            return ssl.DER_cert_to_PEM_cert(stream.getpeercert(True)), answer.decode()
found = []
for arm in range(2):
    with new_run_root() as root:
        copy = server.spawn(study.server, Path(folder), Configuration(), root.new_place("arm"))
        try:
            ready = copy.await_ready(20)
            assert hasattr(ready, "values"), ready
            look = lambda: [shown(copy.addresses[0], host) for host in hosts]
            found.append(within(copy.networks[0], look) if copy.networks[0] else look())
        finally:
            copy.stop()
print(json.dumps(found))
"""


@pytest.fixture
def site():
    """A site whose keys are root's, below a folder that a cell shows as it is."""
    folder = Path(tempfile.mkdtemp(dir="/srv", prefix="httpdyno-test-"))
    folder.chmod(0o755)
    for name in ("www", "tls", "closed/live"):
        (folder / name).mkdir(parents=True)
    (folder / "www/index.html").write_text("a page\n")
    for name, (main, text) in KINDS.items():
        (folder / main).write_text(text.format(site=folder))
        assert name
    _make_pair(folder / "tls/shop.key", folder / "tls/shop.crt", "shop.example")
    live = folder / "closed/live"
    _make_pair(live / "blog.key", folder / "tls/blog.crt", "blog.example")
    shutil.copy(folder / "tls/blog.crt", live / "blog.crt")
    both = (live / "blog.key").read_bytes() + (live / "blog.crt").read_bytes()
    (live / "both.pem").write_bytes(both)
    for name in ("dh.pem", "tickets", "staple", "pass"):
        (folder / "closed" / name).write_text(f"{name} of theirs\n")
    for path in (folder / "closed").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    (folder / "closed").chmod(0o700)
    yield folder
    shutil.rmtree(folder)


def _make_pair(key, certificate, name):
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-nodes")
    names = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    command = ["openssl", "req", "-x509", *curve, *names, "-keyout", str(key)]
    subprocess.run([*command, "-out", str(certificate)], capture_output=True, check=True)
    key.chmod(0o600)


@pytest.fixture
def home(own_folders):
    """A folder of the user's, with his run folder."""
    folder = own_folders / "home"
    (folder / "run").mkdir(parents=True)
    for path in (folder, folder / "run"):
        os.chown(path, NOBODY, NOBODY)
    return folder


def _as_user(home, *words):
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join([path for path in sys.path if path]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HTTPDYNO_RUN_DIR": str(home / "run"),
        "HTTPDYNO_DATA_DIR": str(home / "data"),
    }
    command = [interpreter(), "-c", USERS_COPY, *words]
    return subprocess.run(command, **as_nobody(environment), check=False, timeout=100)


def _names(certificate):
    asked = ("openssl", "x509", "-noout", "-ext", "subjectAltName", "-text")
    said = subprocess.run(asked, input=certificate.encode(), capture_output=True, check=True)
    text = said.stdout.decode()
    host = text.rpartition("DNS:")[2].split()[0]
    return host, "secp384r1" if "secp384r1" in text else text.partition("Public-Key: ")[2][:10]


@pytest.mark.parametrize("isolation", ["cell", "wall"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_users_copy_answers_by_tls_without_their_keys(site, home, kind, isolation):
    if not interpreter():
        pytest.skip("there is no Python of this version that an ordinary user may run")
    if isolation == "cell" and no_cell():
        pytest.skip(no_cell())
    if isolation == "wall" and not landlock_rules.version():
        pytest.skip("this kernel has no Landlock")
    study, main = home / "study", site / KINDS[kind][0]
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    said = _as_user(home, str(study), str(main), isolation, KNOB[kind], *HOSTS)
    if "cell: cannot make namespaces" in said.stderr:
        pytest.skip("ordinary users get no user namespaces here")
    assert said.returncode == 0, said.stderr
    first, second = json.loads(said.stdout.splitlines()[-1])
    assert all(answer.endswith("a page\n") and " 200 " in answer for _, answer in first)
    # Both starts show the same, and of each host what its own certificate says.
    assert [shown for shown, _ in first] == [shown for shown, _ in second]
    assert [_names(shown) for shown, _ in first] == [
        ("shop.example", "secp384r1"),
        ("blog.example", "secp384r1"),
        # Its certificate cannot be read; in nginx the key is that of a host whose can.
        ("localhost", "secp384r1" if kind == "nginx" else "(2048 bit)"),
    ]
    _assert_told(said.stderr, json.loads(Path(f"{study}.json").read_text()), site)
    _assert_not_theirs(study, site)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before


def _assert_told(told, result, site):
    lines = [line for line in told.splitlines() if line.startswith("caveat: ")]
    assert any(f"{site}/tls/shop.key" in line and "secp384r1" in line for line in lines)
    assert any(f"{site}/closed/tickets cannot be read" in line for line in lines)
    assert [f"caveat: {words}" for words in result["site"]["caveats"]] == lines


def _assert_not_theirs(study, site):
    """Assert that no file of the study has a line of a key of theirs, and none can be read."""
    keys = [*site.rglob("*.key"), site / "closed/live/both.pem"]
    inner = [key.read_bytes().split(b"PRIVATE KEY-----")[1] for key in keys]
    theirs = {line for text in inner for line in text.split() if len(line) > len("-----END")}
    assert len(theirs) >= 2 * len({*inner})
    for path in (path for path in study.rglob("*") if path.is_file()):
        assert not [line for line in theirs if line in path.read_bytes()], path
    made = [path for path in (study / "snapshot/stand-ins").rglob("*") if path.is_file()]
    assert made
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert stat.S_IMODE((study / "snapshot").stat().st_mode) == 0o700


def test_root_has_no_stand_in_and_no_key_is_copied(site, home):
    """Assert that what can be read is read where it is."""
    for name in ("dh.pem", "tickets", "staple", "pass"):
        (site / "closed" / name).unlink()
    main = site / "nginx.conf"
    text = main.read_text().replace("ssl_dhparam", "#").replace("ssl_stapling", "#")
    main.write_text(text.replace("    ssl_trusted_certificate", "#"))
    command = [sys.executable, "-m", "httpdyno", "adopt", str(main), "-o", str(home / "study")]
    said = subprocess.run(
        [*command, "--get", "/index.html", "--knob", KNOB["nginx"]],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert said.returncode == 0, said.stderr
    assert "stand-in" not in said.stderr
    assert not (home / "study/snapshot/stand-ins").exists()
    for path in (path for path in (home / "study").rglob("*") if path.is_file()):
        assert b"PRIVATE KEY" not in path.read_bytes(), path
