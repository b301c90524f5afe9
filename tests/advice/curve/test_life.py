"""What settings say of the lives of workers."""

from tests.rows import each_row

from httpdyno.advice.curve import configured_lives
from httpdyno.model import Reading, Survey


def lives(*readings: tuple[str, str, str]) -> list[tuple[str, int | None, str]]:
    survey = Survey(
        version="", readings=tuple(Reading(name=n, scope=s, text=t) for n, s, t in readings)
    )
    return [(each.setting, each.n, each.unit) for each in configured_lives(survey)]


@each_row(
    ("readings", "told"),
    [
        (
            [("MaxConnectionsPerChild", "", "10000")],
            ("MaxConnectionsPerChild", 10_000, "connections"),
        ),
        ([("pm.max_requests", "shop", "500")], ("pm.max_requests@shop", 500, "requests")),
        ([("max_requests", "", "0")], ("max_requests", None, "requests")),
        ([("limit_max_requests", "", "7")], ("limit_max_requests", 7, "requests")),
    ],
)
def test_each_server_says_it_by_its_own_setting(readings, told):
    assert lives(("timeout", "", "30"), *readings) == [told]


def test_a_worker_of_gunicorn_lives_as_long_as_its_jitter_lets_it():
    jitter = ("max_requests_jitter", "", "50")
    assert lives(("max_requests", "", "1000"), jitter) == [("max_requests", 1050, "requests")]
    assert lives(("max_requests", "", "0"), jitter) == [("max_requests", None, "requests")]


def test_what_is_said_last_is_in_force():
    name = "MaxConnectionsPerChild"
    assert lives((name, "", "100"), (name, "", "200")) == [(name, 200, "connections")]


def test_what_is_no_number_or_not_known_says_nothing():
    assert lives(("max_requests", "", "settings.MOST")) == []
    assert configured_lives(None) == ()
