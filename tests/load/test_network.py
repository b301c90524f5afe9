"""Servers in network namespaces of their own, loaded from outside of them."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs
from tests.load.site import DEADLINE_S, serving
from tests.namespace import may_make_networks, serving_elsewhere
from tests.rows import each_row

from httpdyno.errors import EngineError
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Measurement, RequestSpec, Workload

pytestmark = pytest.mark.skipif(not may_make_networks(), reason="only root can make networks")


def windows(*arms: int) -> list[WindowPlan]:
    return [WindowPlan(arm=arm, lead_in_s=0, measure_s=5, n_requests=20) for arm in arms]


def measured(
    addresses: Sequence[str], networks: Sequence[str], plan: Sequence[WindowPlan], **options: object
) -> list[Measurement]:
    any_right = (RequestSpec(expect_status=None),)
    usual = Workload(requests=any_right, connections=3, timeout_s=5.0)
    workload = structs.replace(usual, **options)
    handle = start_load(workload, addresses, plan, networks=networks, threads=2)
    assert handle.wait(DEADLINE_S)
    return handle.measurements()


def own_network() -> Path:
    return Path("/proc/thread-self/ns/net").readlink()


@pytest.mark.parametrize("requests_per_connection", [0, 1])
def test_two_servers_at_one_port_and_one_here_take_turns(requests_per_connection):
    before = own_network()
    with serving() as here:
        port = here.server_address[1]
        with (
            serving_elsewhere(port, 201) as one,
            serving_elsewhere(port, 202) as other,
        ):
            seen = measured(
                [here.address] * 3,
                ["", one, other],
                windows(0, 1, 2, 1, 0, 2),
                requests_per_connection=requests_per_connection,
            )
        n_here = len(here.seen)
    statuses = ["200", "201", "202", "201", "200", "202"]
    assert [each.statuses for each in seen] == [{status: 20} for status in statuses]
    assert n_here == 40
    assert own_network() == before


def test_a_server_elsewhere_answers_where_nobody_listens_here():
    with serving() as here:
        port = here.server_address[1]
    address = f"127.0.0.1:{port}"
    with serving_elsewhere(port) as network:
        [there] = measured([address], [network], windows(0))
        [nowhere] = measured([address], [""], windows(0), timeout_s=0.5)
    assert (there.completed, there.n_errors) == (20, 0)
    assert (nowhere.completed, set(nowhere.errors)) == (0, {"refused"})


@each_row("path", ["/dev/null", "/proc/self/ns/uts", "/nowhere/net"])
def test_what_is_no_network_namespace_is_refused_in_a_sentence(path):
    sentence = f'arms[1].network is "{path}"; expected the path of a network namespace, such as'
    with pytest.raises(EngineError, match=re.escape(sentence)):
        measured(["127.0.0.1:1"] * 2, ["", path], windows(0))


def test_a_process_without_the_right_to_enter_says_so():
    script = (
        "import os\n"
        "from httpdyno.load.engine import start_load\n"
        "from httpdyno.load.message import WindowPlan\n"
        "from httpdyno.model import Workload\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "plan = [WindowPlan(arm=0, lead_in_s=0, measure_s=1)]\n"
        "start_load(Workload(), ['127.0.0.1:1'], plan, networks=['/proc/self/ns/net'])\n"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == (
        'httpdyno.errors.EngineError: arms[0].network is "/proc/self/ns/net"; expected one that '
        "this process may enter (CAP_SYS_ADMIN): Operation not permitted (os error 1)"
    )


IN_A_USER_NAMESPACE = """
import ctypes, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.namespace import main
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Workload
os.setgroups([]); os.setgid(65534); os.setuid(65534)
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(4, 1, 0, 0, 0)  # its files in /proc are its own again
if libc.unshare(0x10000000) < 0:
    sys.exit("no user namespace")
for name, text in (("setgroups", "deny"), ("uid_map", "0 65534 1"), ("gid_map", "0 65534 1")):
    Path("/proc/self", name).write_text(text)
(told, tells), (ends, end) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.dup2(tells, 1)
    os.dup2(ends, 0)
    os.close(end)
    main(["8080", "200"])
    os._exit(0)
os.read(told, 3)
plan = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=20)]
for n_threads in (1, 2):
    handle = start_load(
        Workload(connections=3), ["127.0.0.1:8080"], plan, threads=n_threads,
        networks=[f"/proc/{child}/ns/net"],
    )
    assert handle.wait(20)
    print([each.statuses for each in handle.measurements()])
os.close(end)
os.waitpid(child, 0)
"""


def test_who_cannot_go_back_need_not():
    """In a user namespace threads may enter those that were made in it, and not their own again."""
    command = [sys.executable, "-c", IN_A_USER_NAMESPACE, str(Path(__file__).parents[2])]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if "no user namespace" in ended.stderr:
        pytest.skip("ordinary users get no user namespaces here")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "[{'200': 20}]\n" * 2
