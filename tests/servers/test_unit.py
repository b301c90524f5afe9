import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import AdapterError
from httpdyno.servers.source.process import unit_of
from httpdyno.servers.unit import unit, unit_files, with_said
from httpdyno.servers.unit_file import UnitFacts, drop_in_folders, environment_file, unit_facts

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
        environment_names=("DATABASE_URL", "DEBUG", "TWO WORDS", "TZ", "LANG"),
        environment_files=("-/srv/absent.env", "/srv/shop.env"),
        limits=(("LimitNOFILE", "65536"), ("MemoryMax", "512M")),
        has_reload=True,
    )
    assert "secret" not in repr(facts)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
