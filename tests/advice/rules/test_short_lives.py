"""How short a worker's life may be is what a birth costs, where that was measured."""

from tests.advice.rules.told import apache, evidence, findings, gunicorn, named, php_fpm
from tests.rows import each_row

from httpdyno.model import Respawn

DEAR = Respawn(serve_s=0.001, spawn_s=0.25)
"""A life of 1,000 requests loses a fifth: 250 ms beside 1 s."""
CHEAP = Respawn(serve_s=0.001, spawn_s=0.001)


def servers(n, respawn):
    """Return name, server and what is set of each kind whose workers end after n requests."""
    return [
        (
            "short-lives",
            apache(f"MaxConnectionsPerChild {n}\nMaxRequestWorkers 50", respawn=respawn),
            "MaxConnectionsPerChild",
        ),
        ("php-short-lives", php_fpm(f"pm.max_requests = {n}", respawn=respawn), "pm.max_requests"),
        (
            "gunicorn-short-lives",
            gunicorn(f"max_requests = {n}\n", respawn=respawn),
            "max_requests",
        ),
    ]


def found(name, facts):
    [one] = [each for each in findings(facts) if each.name == name]
    return one


@each_row(("name", "facts", "knob"), servers(1000, DEAR))
def test_a_long_life_is_too_short_where_a_birth_was_measured_to_be_dear(name, facts, knob):
    one = found(name, facts)
    assert one.what.endswith(", and replacing them takes 20 % of the rate")
    assert (
        "replacing a worker takes 250 ms of the server's time and a request 1.00 ms" in one.evidence
    )
    assert one.severity == "doubtful"
    assert one.do == f"set `{knob}` to 4,800 or more, or to 0 where nothing leaks"
    # 250 ms are a twentieth of 5 s, of which 4.75 are requests.
    assert [(each.knob, each.value) for each in one.proposes] == [(knob, 4800)]


@each_row(("name", "facts", "knob"), servers(100, DEAR))
def test_it_is_bad_where_births_take_most_of_the_rate(name, facts, knob):
    assert found(name, facts).severity == "bad"


@each_row(("name", "facts", "knob"), servers(100, CHEAP))
def test_a_short_life_is_well_where_a_birth_was_measured_to_be_cheap(name, facts, knob):
    assert named(facts, name) == []


@each_row(("name", "facts", "knob"), servers(100, None))
def test_without_a_measured_cost_the_constant_is_said_to_be_one(name, facts, knob):
    assert (
        "what replacing a worker costs is unknown here (`--respawn`): less than 200 counts as few"
    ) in evidence(facts, name)
