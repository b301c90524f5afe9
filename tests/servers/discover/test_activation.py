import pytest

from httpdyno.model import Member
from httpdyno.servers.discover.command_line import activated, is_handed


@pytest.mark.parametrize(
    ("words", "address", "opened"),
    [
        (("--fd", "0", "a:b"), "127.0.0.1:80", ("a:b", "--host", "127.0.0.1", "--port", "80")),
        (("a:b", "--fd=3"), "unix:/run/a.sock", ("a:b", "--uds", "/run/a.sock")),
    ],
)
def test_a_copy_opens_what_a_supervisor_hands_over(words, address, opened):
    member = Member(name="shop", kind="uvicorn", command=("uvicorn", *words))
    assert is_handed(member)
    copied = activated(member, [address])
    assert copied is not None
    assert copied.command == ("uvicorn", *opened)
    assert not is_handed(copied)
    assert activated(member, []) is None
