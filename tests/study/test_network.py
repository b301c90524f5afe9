"""`[network]` of a study file: names for its servers, in every configuration."""

import pytest

from httpdyno.cli.plan_text import servers_text
from httpdyno.errors import StudyFileError
from httpdyno.model import PrivateNetwork, Resolver
from httpdyno.study.file import load_study

STUDY = """
format = 2
name = "shop"
title = "The shop"

[server]
adapter = "apache"
base = "app.conf"

[network]
hosts = ["127.0.0.2 other.example"]

[network.resolver]
answers = "{{ knob.resolver }}"
names = { "client.example" = "127.0.0.1", "both.example" = ["127.0.0.2", "::1"] }

[[knobs]]
name = "resolver"
start = "at once"
levels = ["50ms"]

[[knobs]]
name = "connections"
of = "load"
start = 5

[[candidates]]
name = "dead"
set = { resolver = "never" }
"""
RESOLVER = STUDY[STUDY.index("[network.resolver]") : STUDY.index("[[knobs]]")]


def read(folder, text):
    (folder / "app.conf").write_text("")
    (folder / "study.toml").write_text(text)
    return load_study(folder, lambda _adapter: {})


def test_a_network_has_hosts_and_a_resolver_with_names(tmp_path):
    study = read(tmp_path, STUDY)
    assert study.server.network == PrivateNetwork(
        hosts=("127.0.0.2 other.example",),
        resolver=Resolver(
            answers="{{ knob.resolver }}",
            names={"client.example": ("127.0.0.1",), "both.example": ("127.0.0.2", "::1")},
        ),
    )
    assert servers_text(study.server) == "apache; in a network of its own with a resolver"


def test_a_network_without_a_resolver_and_a_study_without_a_network(tmp_path):
    study = read(tmp_path, STUDY.replace(RESOLVER, ""))
    assert study.server.network == PrivateNetwork(hosts=("127.0.0.2 other.example",))
    assert servers_text(study.server) == "apache; in a network of its own"
    without = STUDY[: STUDY.index("[network]")] + STUDY[STUDY.index("[[knobs]]") :]
    assert read(tmp_path, without).server.network is None


def test_names_looked_up_are_a_metric_where_there_is_a_resolver(tmp_path):
    objective = '\n[objective]\nalso = ["lookups_per_request"]\n'
    assert read(tmp_path, STUDY + objective).objective.also == ("lookups_per_request",)
    with pytest.raises(StudyFileError, match="expected servers with a resolver of names"):
        read(tmp_path, STUDY.replace(RESOLVER, "") + objective)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('levels = ["50ms"]', 'levels = ["later"]', "says `later`.*, with resolver = 'later'"),
        ('set = { resolver = "never" }', 'set = { resolver = "no" }', "says `no`.*, with resolver"),
        ('start = "at once"', 'start = "now"', "answers` says `now`; expected `at once`.*50ms`$"),
        ('"127.0.0.1"', '"localhost"', "names.client.example` says `localhost`"),
        ("127.0.0.2 other", "other", r"hosts\[0\]` says `other.example`"),
        ("{{ knob.resolver }}", "{{ knob.connections }}", "knob.connections"),
        ("{{ knob.resolver }}", "{knob.speed}", "no knob of that name"),
        ("answers =", "answer =", "network.resolver.answer is not a key"),
        ("format = 2", "format = 1", "candidates|network is not a key of format 1"),
    ],
)
def test_what_makes_no_sense_in_one_of_its_configurations_is_refused(tmp_path, old, new, words):
    assert old in STUDY
    with pytest.raises(StudyFileError, match=words):
        read(tmp_path, STUDY.replace(old, new, 1))


def test_a_site_has_a_network_of_its_own_anyway(tmp_path):
    member = '[[site.members]]\nname = "front"\nkind = "nginx"\nmain = "/etc/nginx/nginx.conf"\n'
    text = STUDY.replace(STUDY[STUDY.index("[server]") : STUDY.index("[network]")], member)
    with pytest.raises(StudyFileError, match=r"none beside \[site\]"):
        read(tmp_path, text)
