"""A network for servers of a user who is not root: made in a user namespace, used as himself."""

import json

import pytest
from tests.isolation import no_cell
from tests.servers.sandbox.test_ordinary_user import interpreter, run_as_nobody

SCRIPT = """
from httpdyno.servers.sandbox.user_namespace import run_anew_in_user_namespace
run_anew_in_user_namespace()
import json, os, sys, time
from pathlib import Path
from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, PrivateNetwork, Resolver, ServerSpec, Template
from httpdyno.servers.apache import Apache
from httpdyno.servers.own_network.server import WithNetwork
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.folder import new_run_root
spec = ServerSpec(
    adapter="apache",
    base="base.conf",
    templates=(Template(source="page.txt", to="htdocs/page.txt"),),
    settings={"mpm": "prefork", "modules": "authz_core mime log_config"},
    ready_path="/page.txt",
    network=PrivateNetwork(resolver=Resolver(names={"client.example": ("127.0.0.1",)})),
)
with new_run_root() as root:
    place = root.new_place("net")
    values = Configuration(values={"HostnameLookups": "On"})
    try:
        running = WithNetwork(TemplateStack(Apache())).spawn(spec, Path(sys.argv[1]), values, place)
    except AdapterError as error:
        sys.exit(str(error))
    try:
        ready = running.await_ready(20.0)
        log = place.folder / "access.log"
        deadline_s = time.monotonic() + 20.0
        while not log.read_text().endswith("\\n") and time.monotonic() < deadline_s:
            time.sleep(0.01)  # it is written once the answer is sent
        owner = os.stat(f"/proc/{running.root_pids[0]}").st_uid
        print(json.dumps({
            "asked": getattr(ready, "asked", repr(ready)),
            "log": log.read_text(),
            "is_own": owner == os.geteuid(),
        }))
    finally:
        running.stop()
"""
BASE = """
CustomLog "{{ run }}/access.log" "%h %>s"
<Location "/">
Require all granted
</Location>
"""


@pytest.mark.real_server("apache2")
@pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "can be had")
def test_an_ordinary_user_has_apache_in_a_network_of_its_own(own_folders):
    if not interpreter():
        pytest.skip("there is no Python of this version that an ordinary user may run")
    study = own_folders / "study"
    study.mkdir()
    (study / "base.conf").write_text(BASE)
    (study / "page.txt").write_text("page\n")
    said = run_as_nobody(own_folders, SCRIPT, str(study))
    if "make namespaces" in said.stderr:
        pytest.skip("ordinary users get no user namespaces here")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert {*found.pop("log").splitlines()} == {"client.example 200"}
    assert found == {"asked": {"HostnameLookups": "On"}, "is_own": True}
