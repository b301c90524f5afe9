"""From sources to servers that really run: small Python programs that are called as servers are."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rows import each_row

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import Member
from httpdyno.registry import site_adapters
from httpdyno.report.shared.message import hint_text, texts
from httpdyno.servers.discover.find import Found, configured, find, sole
from httpdyno.servers.discover.inspection import looked_at
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.servers.discover.process import ProcessFacts, groups_of, unit_group, unit_of
from httpdyno.servers.discover.source import CommandSource, ProcessSource, UnitSource, parse_source
from httpdyno.servers.process import KEEPER_PROGRAM
from httpdyno.servers.stack.environment import own_variables
from httpdyno.servers.systemd import UnitFacts

PREFORK = """
import os, signal, socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
ready = os.fdopen(int(sys.argv[2]), "w")
if os.fork() == 0:
    ready.write("up")
    ready.close()
time.sleep(60)
"""
DEADLINE_S = 10.0
MEMBER = Member(name="shop", kind="shop", main="/s/shop.conf")


class Shop:
    """An adapter that knows programs called `shopd` and files called `shop.conf`."""

    name = "shop"

    def usual(self):
        return ()

    def at(self, path):
        return Member(name="shop", kind="shop", main=path) if path.endswith("shop.conf") else None

    def of_process(self, program, arguments, folder):
        names = [Path(word).name for word in arguments[:2]]
        if "shopd" not in names:
            return None
        return Member(name="shop", kind="shop", main=f"{folder}/shop.conf")


@pytest.fixture
def start(own_folders):
    """Start a prefork server of this name; return its root's pid and its port."""
    with ExitStack() as stack:

        def started(name="shopd", **more):
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
            program = own_folders / name
            program.write_text(PREFORK)
            reading, writing = os.pipe()
            process = subprocess.Popen(
                [sys.executable, program, str(port), str(writing)],
                cwd=own_folders,
                pass_fds=[writing],
                start_new_session=True,
                env={"SHOP_SECRET": "canary", **more},
            )
            stack.callback(end, process)
            os.close(writing)
            assert os.read(reading, 2) == b"up"
            os.close(reading)
            return process.pid, port

        yield started


def end(process):
    os.killpg(process.pid, 9)
    process.wait(DEADLINE_S)


def here(*adapters):
    return this_machine(adapters)


def found(words, *adapters):
    return find(parse_source(words.split(), Path.cwd()), here(*adapters))


def at_rest(*adapters):
    return configured(here(*adapters))


def test_a_worker_a_port_and_a_file_lead_to_the_root(start, own_folders):
    pid, port = start()
    [by_pid] = found(f"pid:{pid}", Shop())
    [worker] = by_pid.below
    assert by_pid.root
    assert by_pid.root.pid == pid
    assert [each.address for each in by_pid.listens] == [f"127.0.0.1:{port}"]
    assert by_pid.member.environment_names == ("SHOP_SECRET",)
    assert "canary" not in repr(by_pid)
    for words in (
        *(f"pid:{worker.pid}", f":{port}", f"127.0.0.1:{port}", "shop"),
        f"{own_folders}/shop.conf",
    ):
        if words.endswith(".conf"):
            Path(words).touch()
        [each] = found(words, Shop())
        assert each.root, words
        assert (each.member, each.root.pid) == (by_pid.member, pid), words


def test_a_server_of_no_known_kind_is_its_command(start, own_folders):
    pid, port = start("anything.py")
    [each] = found(f":{port}")
    assert each.root
    assert each.root.pid == pid
    assert each.member.kind == "command"
    assert each.member.command[1] == str(own_folders / "anything.py")
    assert len(each.below) == 1


def test_one_word_with_blanks_is_a_file_or_a_command_with_its_arguments(own_folders):
    def one(word):
        [each] = find(parse_source([word], own_folders), here(Shop()))
        return each.member

    assert one("/bin/sh -c 'exec true'").command[-2:] == ("-c", "exec true")
    assert one("sleep 1").command[-1] == "1"
    config = own_folders / "my shop.conf"
    config.touch()
    assert one("./my shop.conf").main == str(config)
    with pytest.raises(AdapterError, match="`no-such` is no program"):
        one("no-such --port 1")


def test_a_private_copy_is_nobodys_server(start):
    pid, _ = start(HTTPDYNO_INSTANCE="/run/some")
    with pytest.raises(AdapterError, match="no shop runs here"):
        found("shop", Shop())
    [named] = found(f"pid:{pid}", Shop())
    assert named.root


def process(pid, parent, *arguments, groups=""):
    return ProcessFacts(
        pid=pid,
        parent=parent,
        name="shopd",
        started_at_s=0.0,
        arguments=arguments,
        folder="/s",
        groups=groups_of(groups),
    )


def machine_of(*processes, adapters, proc):
    return Machine(processes={each.pid: each for each in processes}, adapters=adapters, proc=proc)


def test_a_copy_that_wrote_over_its_environment_is_known_by_its_keeper(tmp_path):
    keeper = process(10, 1, "python", "-I", "-S", "-c", KEEPER_PROGRAM, "/source", "7")
    copy, worker = process(11, 10, "shopd"), process(12, 11, "shopd")
    theirs = process(20, 1, "shopd")
    machine = machine_of(keeper, copy, worker, theirs, adapters=[Shop()], proc=tmp_path)
    assert [tree.root.pid for tree in machine.trees] == [20]


V1 = "11:memory:/docker/box\n1:name=systemd:/docker/box\n0::/\n"
V2 = "0::/docker/box/{}\n"


@pytest.mark.parametrize("groups", [(V1, V1), (V2.format("a"), V2.format("b/c"))])
def test_a_control_group_is_its_processes_and_those_of_groups_below(groups, tmp_path):
    outside = process(10, 1, "shopd", groups="0::/docker\n")
    root, worker = (
        process(pid, parent, "shopd", groups=each)
        for (pid, parent), each in zip([(11, 10), (12, 11)], groups, strict=True)
    )
    # Who has left the group is still below its root.
    left = process(13, 12, "cat", groups="0::/docker/box2\n")
    second = process(30, 1, "sh", groups="0::/docker/box\n")
    machine = machine_of(outside, root, worker, left, second, adapters=[Shop()], proc=tmp_path)
    shop, shell = machine.trees_in("/docker/box")
    assert (shop.root, shop.below, shop.member.kind) == (root, (worker, left), "shop")
    assert (shell.root, shell.is_known, shell.member.kind) == (second, False, "command")
    assert machine.trees_in("/docker/bo") == ()


SHOP_UNIT = "0::/system.slice/shop.service{}\n"


@pytest.mark.parametrize("below", ["", "/payload.scope"])
def test_a_daemon_that_its_unit_began_and_let_go_is_beside_it(below, tmp_path, monkeypatch):
    init = process(1, 0, "init", groups="0::/init.scope\n")
    root = process(11, 1, "shopd", groups=SHOP_UNIT.format(""))
    worker = process(12, 11, "shopd", groups=SHOP_UNIT.format(""))
    agent = process(13, 1, "agent", groups=SHOP_UNIT.format(below))
    helper = process(14, 13, "agent", groups=SHOP_UNIT.format(below))
    other = process(20, 1, "shopd", groups="0::/system.slice/shop.service2\n")
    machine = machine_of(
        *(init, root, worker, agent, helper, other), adapters=[Shop()], proc=tmp_path
    )
    facts = UnitFacts(name="shop.service", files=("/shop.service",), main_pid=11)
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    [each] = find(UnitSource("shop.service"), machine)
    assert (each.root, each.below, each.beside) == (root, (worker,), (agent, helper))
    assert each.group == "/system.slice/shop.service"


@pytest.mark.parametrize(
    ("runs_as", "says", "user"), [("eve", "", "eve"), ("root", "web", "web"), ("root", "", "")]
)
def test_a_process_is_of_its_user_whatever_a_unit_of_that_name_says(
    runs_as, says, user, tmp_path, monkeypatch
):
    group = SHOP_UNIT.format("")
    root = replace(process(11, 1, "shopd", groups=group), unit=unit_of(group), user=runs_as)
    facts = UnitFacts(name="shop.service", files=("/shop.service",), main_pid=0, user=says)
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    [each] = find(ProcessSource(11), machine_of(root, adapters=[Shop()], proc=tmp_path))
    assert each.member.user == user


def test_what_a_process_has_its_copy_has_from_that_process(tmp_path, monkeypatch):
    monkeypatch.setenv("PASSWORD", "of the caller")
    (tmp_path / "11").mkdir()
    (tmp_path / "11/environ").write_bytes(b"PASSWORD=\0PATH=/bin\0")
    root = replace(process(11, 1, "shopd"), user="eve", start_ticks=7)
    [each] = find(ProcessSource(11), machine_of(root, adapters=[Shop()], proc=tmp_path))
    assert each.member.environment_names == ("PASSWORD", "PATH")
    assert each.member.environment_from == "pid:11@7"


@pytest.mark.parametrize(("more", "source"), [(b"", "unit:shop.service"), (b"C=3\0", "pid:11@7")])
def test_of_a_unit_that_says_them_all_variables_are_the_units(more, source, tmp_path, monkeypatch):
    (tmp_path / "11").mkdir()
    (tmp_path / "11/environ").write_bytes(b"A=1\0INVOCATION_ID=x\0" + more)
    group = SHOP_UNIT.format("")
    root = replace(process(11, 1, "shopd", groups=group), unit=unit_of(group), start_ticks=7)
    facts = UnitFacts(name="shop.service", files=("/u",), environment_names=("A",))
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    [each] = find(ProcessSource(11), machine_of(root, adapters=[Shop()], proc=tmp_path))
    assert each.member.environment_from == source


@pytest.mark.parametrize("how", ["unit", "command"])
def test_who_starts_apache_by_its_control_script_means_apache(how, tmp_path, monkeypatch):
    (tmp_path / "sbin").mkdir()
    for name in ("apachectl", "apache2"):
        (tmp_path / "sbin" / name).touch(mode=0o755)
    command = (f"{tmp_path}/sbin/apachectl", "start")
    facts = UnitFacts(name="web.service", files=("/u",), command=command)
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    variables = {"APACHE_CONFDIR": str(tmp_path)}
    monkeypatch.setattr("httpdyno.servers.discover.find.variables_of", lambda _: variables)
    monkeypatch.setenv("APACHE_CONFDIR", str(tmp_path))
    source = UnitSource("web.service") if how == "unit" else CommandSource(command, tmp_path)
    [each] = find(source, Machine(processes={}, adapters=site_adapters()))
    assert (each.member.kind, each.member.main) == ("apache", f"{tmp_path}/apache2.conf")
    assert each.member.unit == ("web.service" if how == "unit" else "")


def test_a_socket_that_systemd_hands_a_server_its_copy_opens_itself(tmp_path, monkeypatch):
    program = f"{tmp_path}/gunicorn"
    facts = UnitFacts(
        name="shop.service",
        files=("/u",),
        command=(program, "-w", "2", "-b", "127.0.0.1:1", "shop:app"),
        sockets=("unix:/run/shop.sock",),
    )
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    monkeypatch.setattr("httpdyno.servers.discover.find.variables_of", lambda _: {})
    [each] = find(UnitSource("shop.service"), Machine(processes={}, adapters=site_adapters()))
    assert each.member.command == (
        *(program, "-w", "2", "shop:app", "--bind", "unix:/run/shop.sock"),
    )
    assert each.notes == ()
    other = replace(each, member=Member(name="shopd", kind="command"))
    assert "systemd hands shopd its socket, unix:/run/shop.sock" in texts(other.notes)[0]


USERS_UNIT = "0::/user.slice/user-7.slice/user@7.service/app.slice/shop.service\n"


@pytest.mark.parametrize("source", [ProcessSource(11), UnitSource("shop.service")])
def test_a_unit_of_a_users_own_manager_is_not_the_systems(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PASSWORD", "of the caller")
    (tmp_path / "11").mkdir()
    (tmp_path / "11/environ").write_bytes(b"PASSWORD=\0")
    root = process(11, 1, "shopd", groups=USERS_UNIT)
    root = replace(root, unit=unit_of(USERS_UNIT), user="eve")
    facts = UnitFacts(
        name="shop.service", files=("/u",), environment_names=("PASSWORD",), command=("/bin/shop",)
    )
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    [each] = find(source, machine_of(root, adapters=[Shop()], proc=tmp_path))
    if isinstance(source, UnitSource):  # the system's own, which does not run
        assert (each.root, each.member.environment_names) == (None, ("PASSWORD",))
    else:
        assert (each.member.unit, each.member.environment_from) == ("", "pid:11@0")


def test_one_users_processes_are_looked_at_for_so_long_in_all(tmp_path):
    class Slow(Shop):
        def of_process(self, program, arguments, folder):
            began_s = time.process_time()
            while "shopd" in arguments and time.process_time() < began_s + 0.02:
                pass
            return super().of_process(program, arguments, folder)

    theirs = [replace(process(pid, 1, "shopd"), user="eve") for pid in range(100, 150)]
    others = [replace(process(pid, 1, "shopd"), user="ann") for pid in (200, 201)]
    machine = machine_of(*theirs, *others, adapters=[Slow()], proc=tmp_path)
    allowance = machine.allowance("eve")
    assert allowance is not None
    allowance.left_s = 0.1
    pids = [tree.root.pid for tree in machine.trees]
    seen = [pid for pid in pids if pid < 200]
    assert 1 <= len(seen) <= 6
    [(user, n)] = machine.passed_over
    # Whoever is broken off is neither; on a busy machine that is more than one.
    assert user == "eve"
    assert len(seen) + n <= 50
    assert n >= 40
    assert [pid for pid in pids if pid >= 200] == [200, 201]
    trouble = looked_at(Found(member=MEMBER, root=theirs[0]), machine).trouble
    assert trouble is not None
    assert trouble.code == "discover.not_looked_at"


def test_what_began_a_server_and_all_else_that_it_began_is_not_beside_it(tmp_path):
    unit = "0::/system.slice/supervisor.service\n"
    supervisor = process(10, 1, "supervisord", groups=unit)
    root = process(11, 10, "shopd", groups=unit)
    sibling, its_own = process(12, 10, "other", groups=unit), process(13, 12, "other", groups=unit)
    agent = process(14, 1, "agent", groups=unit)
    machine = machine_of(
        *(supervisor, root, sibling, its_own, agent), adapters=[Shop()], proc=tmp_path
    )
    tree = machine.tree_of(11)
    assert machine.beside(tree, "/system.slice/supervisor.service") == (agent,)
    assert machine.beside(tree, "") == ()


@pytest.mark.parametrize(("unit", "is_known"), [("shop.service", True), ("shop.scope", False)])
def test_beside_a_server_are_those_of_its_service_and_not_of_a_scope(unit, is_known, tmp_path):
    group = f"0::/system.slice/{unit}\n"
    root = replace(process(11, 1, "shopd", groups=group), unit=unit_of(group))
    agent = process(13, 1, "agent", groups=group)
    machine = machine_of(root, agent, adapters=[Shop()], proc=tmp_path)
    assert root.unit == unit
    assert machine.beside_in_unit(machine.tree_of(11)) == ((agent,) if is_known else ())


@each_row(
    ("groups", "expected"),
    [
        (("/box", "/a/system.slice/shop.service/b/c"), "/a/system.slice/shop.service"),
        (("/system.slice/shop.service",), "/system.slice/shop.service"),
        (("/system.slice/my-shop.service", "/shop.service.d"), ""),
        ((), ""),
    ],
)
def test_the_group_of_a_unit_is_in_the_path_of_its_processes(groups, expected):
    assert unit_group(groups, "shop.service") == expected


def test_a_control_group_leads_to_a_server_that_runs(start):
    pid, _ = start()
    groups = groups_of(Path(f"/proc/{pid}/cgroup").read_text())
    if not groups:
        pytest.skip("all processes are in the machine's own control group")
    machine = here(Shop())
    assert machine.processes[pid].groups == groups
    inside = {each.pid for tree in machine.trees_in(groups[0]) for each in (tree.root, *tree.below)}
    assert pid in inside


def test_several_are_listed(start):
    first, second = start()[0], start()[0]
    several = found("shop", Shop())
    with pytest.raises(UsageError, match=rf"means 2 servers here: pid:{first} .*; pid:{second} "):
        sole(several, "shop")


@each_row(
    ("words", "message", "hint"),
    [
        ("shopp", "no kind of server is called", "did you mean `shop`?"),
        ("unlike", "no kind of server is called", "the kinds are"),
        ("unheard.conf", "no file `unheard.conf` is there", "expected a kind"),
        ("shop", "no shop runs here", ""),
        ("pid:4194303", "no process has the id", ""),
        (":1", "nothing listens at", ""),
        ("/nowhere/nginx.conf", "does not exist", ""),
        ("/etc/passwd", "is no main configuration file", "pid:1234"),
        ("cgroup:/nowhere", "no process is in the control group", "/proc/PID/cgroup"),
        ("unit:nowhere", "no unit is called", "systemctl"),
        ("./no-program --port 1", "no program that can be run", ""),
        ("/nowhere/Procfile", "cannot be read", ""),
    ],
)
def test_what_is_not_there_is_said(words, message, hint):
    with pytest.raises((UsageError, AdapterError), match=message) as caught:
        found(words, Shop())
    assert hint in hint_text(caught.value)


def test_what_is_configured_at_its_usual_place_is_found_at_rest(monkeypatch):
    usual = Member(name="shop", kind="shop", main="/etc/shop.conf")
    monkeypatch.setattr(Shop, "usual", lambda _: (usual,))
    [seen] = at_rest(Shop())
    assert (seen.member, seen.root) == (usual, None)


def test_a_command_and_a_procfile_are_not_run(own_folders):
    marker = own_folders / "was-run"
    program = own_folders / "gunicorn"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    (own_folders / "Procfile").write_text(f"worker: true\nweb: exec {program} shop:app -w 3\n")
    [each] = found(f"{own_folders}/Procfile")
    assert each.member.kind == "gunicorn"
    assert each.member.command == (str(program), "shop:app", "-w", "3")
    assert each.member.folder == str(own_folders)
    assert each.root is None
    with pytest.raises(AdapterError, match="has no process `clock`"):
        found(f"{own_folders}/Procfile:clock")
    assert not marker.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user's file")
@pytest.mark.parametrize(("owner", "is_given"), [(0, True), (65534, False)], ids=["own", "theirs"])
def test_what_another_user_names_in_a_procfile_is_not_given_to_him(
    owner, is_given, own_folders, monkeypatch
):
    monkeypatch.setenv("SHOP_TOKEN", "of the caller")
    monkeypatch.setenv("SHOP_NUMBER", "4711")
    folder = own_folders / "theirs"
    folder.mkdir()
    file = folder / "Procfile"
    file.write_text("web: app -p $PORT $SHOP_TOKEN $SHOP_NUMBER\n")
    for path in (file, folder):
        os.chown(path, owner, -1)
    [each] = found(str(file))
    assert ("SHOP_TOKEN" in each.member.environment_names) is is_given
    assert ("4711" in each.member.command[-1]) is is_given
    assert "-p 5000" in each.member.command[-1]


def test_a_procfile_has_the_variables_of_the_file_beside_it(own_folders, monkeypatch):
    monkeypatch.setenv("PORT", "7000")
    (own_folders / "Procfile").write_text("web: app -p $PORT $TOKEN\n")
    (own_folders / ".env").write_text("# of the shop\nPORT=8123\nTOKEN='not told'\nPATH=/bin\n")
    [each] = found(f"{own_folders}/Procfile")
    assert "-p 8123" in each.member.command[-1]
    assert each.member.environment_names == ("PORT", "TOKEN")
    assert own_variables(each.member) == {"PORT": "8123", "TOKEN": "not told"}
    assert "not told" not in str(each.member)


def test_what_a_procfile_takes_from_the_shell_beside_such_a_file_is_missed_by_name(
    own_folders, monkeypatch
):
    monkeypatch.setenv("SHOP_TOKEN", "of the shell")
    (own_folders / "Procfile").write_text("web: app $SHOP_TOKEN\n")
    (own_folders / ".env").write_text("COLOUR=red\n")
    [each] = found(f"{own_folders}/Procfile")
    with pytest.raises(AdapterError, match=r"needs `SHOP_TOKEN` .*\.env` does not have it"):
        own_variables(each.member)


def test_where_sockets_may_not_be_seen_the_way_out_is_said(start):
    _, port = start()
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    script = (
        "import sys; from pathlib import Path\n"
        "from httpdyno.servers.discover.find import find\n"
        "from httpdyno.servers.discover.machine import this_machine\n"
        "from httpdyno.servers.discover.source import parse_source\n"
        "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        f"find(parse_source([':{port}'], Path('/')), this_machine())\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert "belongs to root, and this user may not see which process it is" in said.stderr


def test_the_start_of_a_process_is_known_to_a_fraction_of_a_second(start):
    before_s = time.time()
    pid, _ = start()
    [each] = found(f"pid:{pid}")
    assert each.root
    assert before_s - 0.1 <= each.root.started_at_s <= time.time() + 0.1
