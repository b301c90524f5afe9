import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.servers import systemd
from httpdyno.servers.discover.process import unit_of
from httpdyno.servers.systemd import (
    UnitFacts,
    command_of,
    drop_in_folders,
    environment_file,
    expanded,
    service_at,
    service_of,
    socket_service,
    socket_streams,
    unit,
    unit_facts,
    unit_files,
    variables_of,
    with_said,
)

SHOP = r"""
[Unit]
Description=shop
ExecStart=not here

[Service]
Type=notify
User=shop
Group=%p
WorkingDirectory=-/srv/%N
Environment="DATABASE_URL=postgres://u:secret@db/shop" DEBUG=0
# a comment
Environment='TWO WORDS=x'
EnvironmentFile=-/srv/absent.env
EnvironmentFile=/srv/shop.env
PassEnvironment=TZ LANG
ExecStartPre=/bin/true
ExecStart=-@/srv/venv/bin/gunicorn shop --workers 3 \
    # between
    --bind "unix:/run/shop one.sock" $EXTRA 100%%
ExecReload=/bin/kill -HUP $MAINPID
LimitNOFILE=65536
MemoryMax=512M

[Install]
User=nobody
"""


def test_folders_that_systemd_makes_are_named_by_variables(tmp_path):
    text = (
        "[Service]\nExecStart=/a\nRuntimeDirectory=shop %p/b:link\nStateDirectory=%p\n"
        "LogsDirectory=../etc /etc\nEnvironment=STATE_DIRECTORY=/srv\n"
    )
    (tmp_path / "shop.service").write_text(text)
    facts = unit_facts("shop.service", [("u", text)])
    assert facts.folders == ("/run/shop", "/run/shop/b", "/var/lib/shop")
    assert variables_of("shop.service", [str(tmp_path)]) == {
        "RUNTIME_DIRECTORY": "/run/shop:/run/shop/b",
        "STATE_DIRECTORY": "/srv",
    }


@pytest.mark.parametrize(
    ("lines", "owner", "user"),
    [
        ("DynamicUser=yes", 61999, "65534"),
        ("DynamicUser=yes\nStateDirectory=absent\nCacheDirectory={}", 61999, "61999"),
        ("DynamicUser=on\nCacheDirectory={}", 0, "65534"),
        ("DynamicUser=yes\nUser=there-is-no-such", 61999, "65534"),
        ("DynamicUser=true\nUser=daemon\nCacheDirectory={}", 61999, "daemon"),
        ("DynamicUser=no\nUser=shop", 61999, "shop"),
        ("DynamicUser=no", 61999, ""),
    ],
)
def test_a_user_that_is_made_for_a_service_is_not_root(lines, owner, user, tmp_path, monkeypatch):
    (tmp_path / "made").mkdir()
    known = os.stat

    def owned(path, *more, **options):
        found = known(path, *more, **options)
        return SimpleNamespace(st_uid=owner) if f"{path}" == f"{tmp_path}/made" else found

    monkeypatch.setitem(systemd._MADE, "CacheDirectory", ("CACHE_DIRECTORY", f"{tmp_path}"))
    monkeypatch.setattr(os, "stat", owned)
    text = f"[Service]\nExecStart=/a\n{lines.format('made')}\n"
    (tmp_path / "shop-made.service").write_text(text)
    assert unit("shop-made.service", (str(tmp_path),)).user == user


def test_a_unit_says_how_its_service_is_started():
    facts = unit_facts("shop.service", [("/a/shop.service", SHOP)])
    assert facts == UnitFacts(
        name="shop.service",
        files=("/a/shop.service",),
        command=(
            *("/srv/venv/bin/gunicorn", "--workers", "3"),
            *("--bind", "unix:/run/shop one.sock", "$EXTRA", "100%"),
        ),
        user="shop",
        group="shop",
        folder="/srv/shop",
        environment_names=("DATABASE_URL", "DEBUG", "TWO WORDS"),
        passed_names=("TZ", "LANG"),
        environment_files=("-/srv/absent.env", "/srv/shop.env"),
        limits=(("LimitNOFILE", "65536"), ("MemoryMax", "512M")),
    )
    assert "secret" not in repr(facts)


@each_row(
    ("drop_in", "command"),
    [
        ("", "/a"),
        ("ExecStart=/b", "/b"),
        ("ExecStart=\nExecStart=/b", "/b"),
        ("ExecStart=", ""),
    ],
)
def test_a_drop_in_goes_before(drop_in, command):
    files = [("u", "[Service]\nExecStart=/a"), ("d", f"[Service]\n{drop_in}")]
    assert " ".join(unit_facts("x.service", files).command) == command


def test_an_empty_setting_takes_back_what_was_set():
    text = "[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=B=2\nUser=a\nUser=\n"
    facts = unit_facts("x.service", [("u", text)])
    assert (facts.environment_names, facts.user) == (("B",), "")


def test_drop_ins_lie_where_systemd_looks():
    assert drop_in_folders("a-b@c.service") == (
        *("service.d", "a-.service.d", "a-b@.service.d", "a-b@c.service.d"),
    )


@pytest.fixture
def folders(tmp_path):
    etc, usr = tmp_path / "etc", tmp_path / "usr"
    for path, text in {
        etc / "gunicorn@.service": "ExecStart=/etc/%i",
        usr / "gunicorn@.service": "ExecStart=/usr/%i",
        usr / "gunicorn@.service.d/20.conf": "User=twenty",
        usr / "gunicorn@.service.d/10.conf": "User=ten",
        etc / "gunicorn@shop.service.d/10.conf": "Group=etc",
        usr / "gunicorn@shop.service.d/ignored.txt": "User=ignored",
        usr / "plain.service": "ExecStart=/plain",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[Service]\n{text}\n")
    (etc / "masked.service").symlink_to("/dev/null")
    (etc / "plain.service.d").mkdir()
    (etc / "plain.service.d" / "10.conf").symlink_to("/dev/null")
    return str(etc), str(usr)


def test_the_first_folder_wins_and_drop_ins_are_sorted_by_name(folders):
    facts = unit("gunicorn@shop.service", folders)
    assert (facts.command, facts.user, facts.group) == (("/etc/shop",), "twenty", "etc")
    assert [path.rpartition("/")[2] for path in facts.files] == [
        *("gunicorn@.service", "10.conf", "20.conf"),
    ]


def test_a_masked_drop_in_is_none(folders):
    assert unit_files("plain.service", folders) == (f"{folders[1]}/plain.service",)


@pytest.mark.parametrize(
    ("name", "words"), [("absent.service", "no unit is called"), ("masked.service", "is masked")]
)
def test_a_unit_that_cannot_be_started_is_refused(folders, name, words):
    with pytest.raises(AdapterError, match=words):
        unit(name, folders)


def test_a_running_systemd_says_the_process_and_whether_its_files_are_newer():
    said = "MainPID=812\nNeedDaemonReload=yes\nLoadState=loaded\n"
    facts = with_said(UnitFacts(name="x.service"), said)
    assert (facts.main_pid, facts.needs_daemon_reload) == (812, True)
    assert with_said(facts, "LoadState=not-found\nMainPID=0\n") == facts


@given(st.text(), st.text(alphabet="%nNpiI@-ab.$"))
def test_any_text_is_read_without_an_error(text, command):
    unit_facts("x@y.service", [("u", text), ("d", f"[Service]\nExecStart={command}")])


@each_row(
    ("control_group", "expected"),
    [
        ("0::/system.slice/nginx.service\n", "nginx.service"),
        ("0::/system.slice/system-g.slice/g@shop.service\n", "g@shop.service"),
        ("12:cpu:/x.service\n1:name=systemd:/system.slice/a.service\n", "a.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/b.service\n", "b.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", ""),
        ("0::/init.scope\n", ""),
        ("0::/\n", ""),
        ("nonsense", ""),
    ],
)
def test_the_control_group_names_the_unit(control_group, expected):
    assert unit_of(control_group) == expected


def test_environment_files_are_read_as_systemd_does():
    text = "A=1\n; no\n#B=2\n C = spaced \nD='one two'\nE=\"x=y\"\nF=it's\nnothing\n=none\n"
    assert environment_file(text) == {
        "A": "1",
        "C": "spaced",
        "D": "one two",
        "E": "x=y",
        "F": "it's",
    }


@each_row(
    ("word", "words"),
    [
        ("$OPTS", ("--workers", "1", "a b")),
        ("${ONE}", ("x y",)),
        ("--bind=${ONE}:80", ("--bind=x y:80",)),
        ("$NONE", ()),
        ("${NONE}", ("",)),
        ("$$OPTS", ("$OPTS",)),
        ("a$OPTS", ("a$OPTS",)),
    ],
)
def test_variables_stand_in_a_command_line_as_systemd_puts_them(word, words):
    variables = {"OPTS": "--workers 1 'a b'", "ONE": "x y"}
    assert expanded(("/bin/shop", word), variables) == ("/bin/shop", *words)


@each_row(
    ("name", "text", "filled"),
    [
        ("a-b@c-d.service", "%p %i %I %j %f %N %n", "a-b c-d c/d b /c/d a-b@c-d a-b@c-d.service"),
        ("x@a\\x2db.service", "%I %%", "a-b %"),
        ("shop.service", "%t %S %C %L %E", "/run /var/lib /var/cache /var/log /etc"),
        ("shop.service", "%h %u %z", "/root root %z"),
    ],
)
def test_specifiers_are_filled_in(name, text, filled):
    facts = unit_facts(name, [("u", f"[Service]\nExecStart=/a {text}\n")])
    assert facts.command == ("/a", *filled.split())


@pytest.fixture
def shop(tmp_path):
    """Return folders with a service that takes its arguments from a file, and has a socket."""
    units = tmp_path / "units"
    units.mkdir()
    for name, text in {
        "shop.service": "[Service]\nExecStart=/bin/shop $OPTS ${PORT}\n"
        f"Environment=PORT=1 GONE=x\nEnvironmentFile={tmp_path}/*.env\n"
        "PassEnvironment=NOBODY_HAS_IT\nUnsetEnvironment=GONE\n",
        "shop.socket": "[Socket]\nListenStream=/run/%p.sock\nListenStream=8000\n",
        "other.socket": "[Socket]\nListenStream=127.0.0.1:9\nService=shop.service\n",
    }.items():
        (units / name).write_text(text)
    (tmp_path / "a.env").write_text('OPTS="--workers 1 \\\n--threads 2"\n; no\nPORT=2\n')
    return (str(units),)


def test_what_a_unit_reads_is_in_its_command_line(shop):
    facts = unit("shop.service", shop)
    assert command_of(facts, shop) == ("/bin/shop", "--workers", "1", "--threads", "2", "2")
    assert facts.environment_names == ("PORT", "OPTS")
    assert set(variables_of("shop.service", shop)) == {"PORT", "OPTS"}


def test_a_service_has_the_sockets_that_its_socket_unit_opens(shop):
    assert unit("shop.service", shop).sockets == ("unix:/run/shop.sock", "[::]:8000")
    assert service_of("shop.socket", shop) == "shop.service"
    assert service_of("other.socket", shop) == "shop.service"
    assert service_of("shop.service", shop) == "shop.service"
    ats = ("unix:///run/shop.sock", "127.0.0.1:8000", "127.0.0.1:9", "127.0.0.1:80", "unix:/run/x")
    assert [service_at(at, shop) for at in ats] == [*["shop.service"] * 3, "", ""]


@given(st.text())
def test_any_text_of_a_socket_is_read_without_an_error(text):
    assert isinstance(socket_streams("x.socket", [f"[Socket]\n{text}"]), tuple)
    assert socket_service("x.socket", [text])
