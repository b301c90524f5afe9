"""Each way round `--yes-i-may-load`: nothing is sent, whatever the network is."""

import pytest
from benches.faults.permissions import WAYS, complaints, tried


def test_no_way_leads_round_the_permission_to_load():
    assert complaints(len(WAYS)) == {
        "ways round": [],
        "not refused in one sentence": [],
        "permitted and refused": [],
    }
    assert len(WAYS) == 44


@pytest.mark.parametrize("host", ["192.0.2.7", "far.invalid"])
def test_what_was_permitted_gets_to_the_engine(host):
    _, _, given = tried((f"http://{host}/", "--yes-i-may-load", host))
    assert given == ["192.0.2.7:80"]
