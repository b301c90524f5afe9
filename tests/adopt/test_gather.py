import pytest
from tests.servers.site.toy import Toy

from httpdyno.adopt.gather import gather, reaches
from httpdyno.errors import AdapterError
from httpdyno.model import Listener, Member


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
    with pytest.raises(AdapterError, match="front does not start as it is configured: toy: no"):
        gather([member("front")], {"toy": Toy()}, None)


def test_one_that_nobody_named_and_cannot_be_read_is_passed_over(member):
    front = member("front", "port = 80", "backend = 127.0.0.1:8000")
    found = gather([front], {"toy": Toy(usually=(member("broken"),))}, None)
    assert [each.to for each in found.outside] == ["127.0.0.1:8000"]


@pytest.mark.parametrize(
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
