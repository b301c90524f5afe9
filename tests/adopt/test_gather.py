import pytest
from msgspec import structs
from tests.rows import each_row
from tests.says import says
from tests.servers.stack.toy import Toy

from httpdyno.adopt.discover import gather, reaches
from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import Listener, Member
from httpdyno.reason import because
from httpdyno.report.shared.message import text, texts


@pytest.fixture
def member(tmp_path):
    def made(name, *lines):
        file = tmp_path / f"{name}.toy"
        file.write_text("".join(f"{line}\n" for line in lines))
        return Member(name=name, kind="toy", main=str(file))

    return made


def test_a_backend_of_this_machine_becomes_a_member_and_others_are_outside(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000", "backend = 10.0.0.9:5432")
    app = member("app", "port = 8000")
    found = gather([front], {"toy": Toy(usually=(app, member("other", "port = 9000")))}, None)
    assert [each.member.name for each in found.members] == ["front", "app"]
    assert found.members[1].member.serves == ("127.0.0.1:8000",)
    assert [each.to for each in found.outside] == ["10.0.0.9:5432"]


def test_a_member_that_was_named_is_no_second_one(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000", "backend = localhost:8000")
    app = member("app", "port = 8000")
    found = gather([front, app], {"toy": Toy(usually=(app,))}, None)
    assert [each.member.name for each in found.members] == ["front", "app"]
    assert found.outside == ()


def test_two_that_point_at_each_other_are_an_end(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    app = member("app", "port = 8000", "backend = 127.0.0.1:80")
    found = gather([front], {"toy": Toy(usually=(app, front))}, None)
    assert [each.member.name for each in found.members] == ["front", "app"]


def test_what_does_not_start_as_it_is_cannot_be_adopted(member):
    with pytest.raises(
        AdapterError, check=says("front does not start as it is configured: toy: no")
    ):
        gather([member("front")], {"toy": Toy()}, None)


def test_one_that_nobody_named_and_cannot_be_read_is_passed_over(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    found = gather([front], {"toy": Toy(usually=(member("broken"),))}, None)
    assert [each.to for each in found.outside] == ["127.0.0.1:8000"]


@each_row(
    ("listener", "address", "expected"),
    [
        ("0.0.0.0:8000", "127.0.0.1:8000", True),
        ("127.0.0.1:8000", "localhost:8000", True),
        ("[::]:8000", "[::1]:8000", True),
        ("127.0.0.1:8000", "127.0.0.1:8001", False),
        ("127.0.0.1:8000", "10.0.0.9:8000", False),
        ("10.0.0.9:8000", "10.0.0.9:8000", True),
        ("unix:/run/a.sock", "unix:/run/a.sock", True),
        ("unix:/run/a.sock", "unix:/run/b.sock", False),
    ],
)
def test_who_comes_to_a_listener(listener, address, expected):
    assert reaches(Listener(address=listener), address) is expected


@pytest.mark.parametrize(
    ("scheme", "path"),
    [("unix:", "/run/a.sock"), ("unix:", "//run/a.sock"), ("unix:", "/var/run/a.sock")],
)
def test_a_socket_is_one_place_by_whatever_path_it_is_named(scheme, path, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("../run")
    listener = Listener(address=f"unix:{tmp_path}/run/a.sock")
    slashes = "//" * path.startswith("//")
    assert reaches(listener, f"{scheme}{slashes}{tmp_path}/{path.lstrip('/')}")
    assert not reaches(listener, f"{scheme}{tmp_path}/other/{path.lstrip('/')}")


def names(found):
    return [each.member.name for each in found.members]


def test_who_listens_at_a_backend_is_a_member_and_not_who_is_configured_to(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    runs = member("runs", "port = 9000")  # its file does not say where it listens
    usual = member("usual", "port = 8000")
    found = gather([front], {"toy": Toy(usually=(usual,))}, None, lambda to, user: runs)
    assert names(found) == ["front", "runs"]
    assert found.members[1].member.serves == ("127.0.0.1:8000",)
    assert (found.outside, found.notes) == ((), ())


def test_servers_of_one_name_are_told_apart_and_one_server_is_named_once(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000", "backend = 127.0.0.1:8001")
    one, other = member("app", "port = 8000"), member("other", "port = 8001")
    other = structs.replace(other, name="app")
    assert names(gather([front, one, other], {"toy": Toy()}, None)) == ["front", "app", "app-2"]
    with pytest.raises(UsageError, match="`app` is named twice"):
        gather([front, one, one], {"toy": Toy()}, None)


@pytest.mark.parametrize(
    ("backends", "apps", "expected"),
    [
        (["unix:/run/app.sock"], ["unsaid"], {"app": ("unix:/run/app.sock",)}),
        (["127.0.0.1:8000", "10.0.0.9:80"], ["unsaid"], {"app": ("127.0.0.1:8000",)}),
        (
            ["127.0.0.1:8000", "unix:/run/b"],
            ["8000", "unsaid"],
            {"app": ("127.0.0.1:8000",), "app-2": ("unix:/run/b",)},
        ),
        (["127.0.0.1:8000", "unix:/run/b"], ["unsaid"], {}),
        (["unix:/run/b"], ["unsaid", "unsaid"], {}),
        (["10.0.0.9:80"], ["unsaid"], {}),
        (["unix:/run/b"], ["8000"], {}),
    ],
)
def test_who_says_nothing_is_at_the_one_backend_that_is_left(member, backends, apps, expected):
    front = member("front", "port = 80", *(f"backend = {to}" for to in backends))
    named = [member(f"app{n}", f"port = {port}") for n, port in enumerate(apps)]
    named = [structs.replace(each, name="app") for each in named]
    found = gather([front, *named], {"toy": Toy()}, None)
    serves = {each.member.name: each.member.serves for each in found.members}
    assert {name: to for name, to in serves.items() if to} == expected
    assert set(found.why_outside) == {each.to for each in found.outside}


def test_who_is_only_configured_to_listen_there_is_told(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    found = gather([front], {"toy": Toy(usually=(member("app", "port = 8000"),))}, None)
    assert names(found) == ["front", "app"]
    assert "app is a member since its package has it listen at 127.0.0.1:8000" in texts(found.notes)


def test_who_comes_by_its_package_may_take_as_long_to_start_as_who_names_it(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    slow = structs.replace(front, ready_timeout_s=60)
    found = gather([slow], {"toy": Toy(usually=(member("app", "port = 8000"),))}, None)
    assert [each.member.ready_timeout_s for each in found.members] == [60, 60]


def test_one_that_listens_at_two_backends_is_one_member(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000", "backend = 127.0.0.1:8001")
    runs = member("runs", "port = 9000")
    found = gather([front], {"toy": Toy()}, None, lambda to, user: runs)
    assert names(found) == ["front", "runs"]
    assert found.members[1].member.serves == ("127.0.0.1:8000", "127.0.0.1:8001")


def test_a_member_that_is_called_as_another_one_gets_a_name_of_its_own(member, tmp_path):
    front = member("app", "port = 80", "backend = 127.0.0.1:8000")
    (tmp_path / "other").mkdir()
    behind = tmp_path / "other/app.toy"
    behind.write_text("port = 8000\n")
    runs = Member(name="app", kind="toy", main=str(behind))
    assert names(gather([front], {"toy": Toy()}, None, lambda to, user: runs)) == ["app", "app-2"]


@pytest.mark.parametrize(
    ("who", "words"),
    [
        (None, "nobody listens there: start it, or name it by `--with`"),
        (because("adopt.is_a_copy", who="node 812"), "node 812 listens there, a private copy"),
    ],
)
def test_what_is_out_of_reach_is_told_with_the_reason(who, words, member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    found = gather([front], {"toy": Toy()}, None, lambda to, user: who)
    assert list(found.why_outside) == ["127.0.0.1:8000"]
    assert text(found.why_outside["127.0.0.1:8000"]).startswith(words)


def test_who_listens_there_and_cannot_be_read_is_outside(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    found = gather([front], {"toy": Toy()}, None, lambda to, user: member("broken"))
    assert names(found) == ["front"]
    told = text(found.why_outside["127.0.0.1:8000"])
    assert told.startswith("broken listens there, and cannot be a member: ")
