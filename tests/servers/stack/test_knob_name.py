import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.model import Level, Member
from httpdyno.servers.stack.names import by_member, knob_name

MEMBERS = (Member(name="front", kind="nginx"), Member(name="php", kind="php-fpm"))


def test_values_come_to_their_members_under_their_own_names():
    values: dict[str, Level] = {knob_name("front", "gzip@shop.example"): True, "php:pm": "static"}
    assert by_member(values, MEMBERS) == {
        "front": {"gzip@shop.example": True},
        "php": {"pm": "static"},
    }


def test_every_member_is_there():
    assert by_member({}, MEMBERS) == {"front": {}, "php": {}}


@each_row("name", ["gzip", "back:gzip", ":gzip", ""])
def test_a_name_of_no_member_is_refused(name):
    with pytest.raises(UsageError, match="says no member"):
        by_member({name: 1}, MEMBERS)
