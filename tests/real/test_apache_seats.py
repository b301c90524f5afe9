"""People's own Apache as experiments start it: whole sites in cells and walls, side by side."""

import time

import pytest
from tests.conformance.adapter import complaint_of
from tests.real.sites.apache import debian_tree, one_file_tree, rhel_tree
from tests.real.test_apache_site import SITE, contents, needs

from httpdyno.model import Configuration, Effective, Level, ServerSpec, Site, Survey
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.limits.control_group import parent_group
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.copies import SITE as SITE_ADAPTER
from httpdyno.servers.stack.copies import CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot
from httpdyno.telemetry.account import TreeAccount, account_of

pytestmark = pytest.mark.real_server("apache2", "openssl")

READY_S = 20.0
SPEC = ServerSpec(adapter=SITE_ADAPTER)
ISOLATIONS = [pytest.param("cell", marks=needs("cell")), pytest.param("wall", marks=needs("wall"))]
LAYOUTS = {"debian": debian_tree, "rhel": rhel_tree, "one-file": one_file_tree}


@pytest.fixture(params=sorted(LAYOUTS))
def tree(request, own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    return LAYOUTS[request.param](folder)


def server_of(tree, isolation):
    member = tree.member
    files = SITE.read(member)
    survey = SITE.survey(member, files, None)
    assert isinstance(survey, Survey)
    snapshot = Snapshot(members={member.name: Found(member=member, files=files, survey=survey)})
    site = Site(members=(member,), isolation=isolation)
    return CopyStack(site, snapshot, {"apache": SITE}, seat_maker(isolation))


def page(running):
    return ask(
        running.addresses[0],
        "/index.html",
        Patience(5),
        body_patience=Patience(5),
        most_bytes=1000,
        network=running.networks[0],
    )


SETTLED_S = 10.0


def has_its_processes_and_no_others(account, arm):
    """Whether it comes to have as many as the tree.

    Apache begins and ends workers of its own accord, and reaps those that ended once a second:
    until then the tree has them, and the group has not.
    """
    tree = TreeAccount(arm.root_pids, arm.keeper_pids)
    deadline_s = time.monotonic() + SETTLED_S
    while not account.read().n_processes == tree.read().n_processes > 1:
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_two_arms_of_a_site_run_side_by_side_as_asked(tree, isolation):
    server = server_of(tree, isolation)
    before = contents(tree.root)
    arms: list[dict[str, Level]] = [
        {"apache:KeepAliveTimeout": 7, "apache:MaxRequestWorkers": 100},
        {"apache:KeepAliveTimeout": 3, "apache:MaxRequestWorkers": 500},
    ]
    scoped = "apache:KeepAliveTimeout@blog.example"
    if scoped in server.knobs():
        arms[1][scoped] = 9
    with new_run_root() as root:
        started = []
        try:
            for values in arms:
                configuration = Configuration(values=values)
                assert complaint_of(server, SPEC, tree.root, configuration) == ""
                arm = server.spawn(SPEC, tree.root, configuration, root.new_place("arm"))
                assert not isinstance(arm, NotRunning), arm
                started.append(arm)
            for arm, values in zip(started, arms, strict=True):
                effective = arm.await_ready(READY_S)
                assert isinstance(effective, Effective), effective
                assert effective.unverified == ()
                asked = {name: str(level) for name, level in values.items()}
                assert {name: effective.values[name] for name in asked} == asked
                assert page(arm).status == 200
                assert bool(arm.groups) == (parent_group() is not None)
                assert has_its_processes_and_no_others(account_of(arm), arm)
        finally:
            for arm in started:
                arm.stop()
    assert contents(tree.root) == before


@needs("cell")
def test_what_does_not_go_together_is_a_complaint_before_any_start(own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    server = server_of(debian_tree(folder), "cell")
    wrong = Configuration(values={"apache:MaxRequestWorkers": 160})
    words = complaint_of(server, SPEC, folder, wrong)
    assert "no multiple of ThreadsPerChild 25" in words
