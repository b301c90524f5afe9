"""What findings add to the knobs that are proposed."""

from dataclasses import replace

import pytest
from tests.advice.looked_at import gunicorn, httpd, nginx_text, proposed
from tests.rows import each_row
from tests.servers.apache.sample import PREFORK
from tests.words import words

from httpdyno.advice.proposal import LEAST_PRIOR, Shape, chosen, with_findings
from httpdyno.advice.rules.declaration import Finding, Proposed
from httpdyno.model import Burst
from httpdyno.reason import because

ROOMY = Shape(n_cpus=4, connections=64)
PROXIED = "location / { proxy_pass http://127.0.0.1:3000; }"
STATUS = "LoadModule status_module m/mod_status.so\n"


def finding(*proposes, name="some-rule", severity="doubtful", evidence=("X 1, /etc/x:3",)):
    return Finding(
        name=name,
        severity=severity,
        what=because("advice.no_answer"),
        evidence=evidence,
        do=None,
        proposes=tuple(Proposed(knob=knob, value=value) for knob, value in proposes),
    )


def added(site, *findings):
    return with_findings(site, proposed(site), findings)


def test_a_knob_that_no_other_rule_proposes_is_tried_with_the_evidence_as_its_reason():
    site = httpd(f"{PREFORK}KeepAliveTimeout 60\n")
    assert "KeepAliveTimeout" not in proposed(site)
    each = added(site, finding(("KeepAliveTimeout", 2)))["KeepAliveTimeout"]
    assert (each.start, each.levels) == (60, (2,))
    assert words(each.why) == "it gave no right answer meanwhile (X 1, /etc/x:3) [some-rule]"
    assert (each.found_by, each.severity) == ("some-rule", "doubtful")


def test_a_finding_without_evidence_has_no_empty_parentheses():
    site = httpd(f"{PREFORK}KeepAliveTimeout 60\n")
    each = added(site, finding(("KeepAliveTimeout", 2), evidence=()))["KeepAliveTimeout"]
    assert words(each.why) == "it gave no right answer meanwhile [some-rule]"


def test_its_value_stands_among_the_levels_that_there_are():
    site = gunicorn()
    assert proposed(site)["workers"].levels == (4, 9)
    assert added(site, finding(("workers", 6)))["workers"].levels == (4, 6, 9)
    assert added(site, finding(("workers", 9)))["workers"].levels == (4, 9)
    sending = nginx_text("sendfile off;")
    assert added(sending, finding(("sendfile", "on+nopush")))["sendfile"].levels == (
        "on+nopush",
        "on",
    )


def test_what_was_seen_under_load_says_how_many_by_itself():
    burst = Burst(
        duration_s=2.0,
        connections=64,
        n_answers=9,
        n_failed=0,
        waiting={"127.0.0.1:8000": 60},
        cpu_s=0.2,
        ready_s=0.1,
    )
    site = gunicorn(shape=replace(ROOMY, burst=burst))
    each = added(site, finding(("workers", 6)))["workers"]
    assert (each.levels, each.is_seen, each.found_by) == ((32, 64), True, "some-rule")


def test_what_follows_from_clients_and_cpus_is_told_too():
    each = added(gunicorn(), finding(("workers", 9), ("threads", 4)))["workers"]
    assert words(each.why).endswith("/etc/x:3) [some-rule]; 1 on 4 cores, for 64 clients")
    site = httpd(f"{PREFORK}HostnameLookups On\n")
    assert words(added(site, finding(("HostnameLookups", "Off")))["HostnameLookups"].why).endswith(
        "rule]"
    )


def test_the_first_finding_gives_the_reason_and_a_second_one_its_value():
    found = added(
        httpd(f"{PREFORK}KeepAliveTimeout 60\n"),
        finding(("KeepAliveTimeout", 2), severity="bad"),
        finding(("KeepAliveTimeout", 5), name="other", severity="hint"),
    )["KeepAliveTimeout"]
    assert (found.levels, found.found_by, found.severity) == ((5, 2), "some-rule", "bad")


@each_row(
    ("knob", "value"),
    [
        pytest.param("KeepAliveTimeout", 60, id="in force"),
        pytest.param("KeepAliveTimeout", 9999, id="outside of its domain"),
        pytest.param("KeepAliveTimeout", "2 s", id="of another kind"),
        pytest.param("KeepAliveTimeout@other.example", 2, id="no such host"),
        pytest.param("ExtendedStatus", False, id="no such module"),
    ],
)
def test_what_cannot_be_set_there_is_passed_over(knob, value):
    site = httpd(f"{PREFORK}KeepAliveTimeout 60\n")
    assert added(site, finding((knob, value))) == proposed(site)


def test_what_a_rule_of_knobs_has_blocked_stays_so():
    site = nginx_text(server=PROXIED, others={"gunicorn": gunicorn().survey}, shape=ROOMY)
    found = added(site, finding(("upstream_keepalive", 16)))
    [listed] = [
        each
        for each in chosen(found.values(), site.knobs).listed
        if each.name in found and each.name == "upstream_keepalive"
    ]
    assert words(listed.blocked) == "gunicorn's sync workers close each connection"


def test_what_rarely_matters_is_tried_where_it_was_found():
    site = httpd(f"{STATUS}{PREFORK}ExtendedStatus On\n")
    assert proposed(site)["ExtendedStatus"].prior < LEAST_PRIOR
    found = added(site, finding(("ExtendedStatus", False), severity="hint"))
    assert chosen(found.values(), site.knobs).tried[0].name == "ExtendedStatus"
