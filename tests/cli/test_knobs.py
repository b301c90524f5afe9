"""`httpdyno knobs`: what can be set."""

import json

import pytest

from httpdyno.cli import knobs
from httpdyno.cli.app import run
from httpdyno.cli.knobs import domain_text
from httpdyno.model import KnobInfo, Member
from httpdyno.registry import adapter_names, load_adapter
from httpdyno.servers.adapter import NotRunning, own_words


class _Site:
    """A site adapter that knows one member, or one of which nothing can be known."""

    name = "shopd"

    def __init__(self, *, trouble=""):
        self._trouble = trouble

    def usual(self):
        return (Member(name="front", kind="shopd", main="/etc/shopd.conf"),)

    def read(self, member):
        return member

    def survey(self, member, files, seat):
        assert seat is None, "nothing of theirs is run"
        return (
            NotRunning(status="refused", detail=own_words(self._trouble))
            if self._trouble
            else files
        )

    def knobs(self, survey):
        info = KnobInfo(
            name="cache",
            summary="answers that are kept",
            kind="integer",
            minimum=0,
            default=12,
            unit="answers",
            cost="reload",
            effect="stale",
            risk="a price may be yesterday's",
        )
        return {"cache@shop.example": info}


@pytest.mark.parametrize("name", adapter_names())
def test_every_knob_of_a_server_is_listed(capsys, monkeypatch, name):
    monkeypatch.setattr(knobs, "site_adapters", tuple)
    assert run(["knobs", name]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{knob}  " in out for knob in load_adapter(name).knobs())


def test_what_is_configured_here_is_listed_as_found(capsys, monkeypatch):
    monkeypatch.setattr(knobs, "site_adapters", lambda: (_Site(),))
    assert run(["knobs", "shopd"]) == 0
    out = capsys.readouterr().out
    assert "shopd, /etc/shopd.conf" in out
    assert "cache@shop.example  0 or more answers; 12 unless set" in out
    assert "takes a reload; answers may be out of date" in out
    assert "a price may be yesterday's" in " ".join(out.split())
    assert run(["knobs", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["servers"]
    [found] = [row for row in rows if row["server"] == "shopd"]
    assert found["knobs"]["cache@shop.example"]["risk"] == "a price may be yesterday's"


def test_why_nothing_is_known_of_a_member_is_said(capsys, monkeypatch):
    monkeypatch.setattr(knobs, "site_adapters", lambda: (_Site(trouble="it said no"),))
    assert run(["knobs", "shopd"]) == 0
    assert "it said no" in capsys.readouterr().out


def test_an_unknown_server_is_refused_with_the_nearest(capsys, monkeypatch):
    monkeypatch.setattr(knobs, "site_adapters", lambda: (_Site(),))
    assert run(["knobs", "gunicron"]) == 2
    assert "did you mean `gunicorn`?" in capsys.readouterr().err


def test_a_server_that_is_not_configured_here_is_told_from_one_that_is_unknown(capsys, monkeypatch):
    monkeypatch.setattr(_Site, "usual", lambda _self: ())
    monkeypatch.setattr(knobs, "site_adapters", lambda: (_Site(),))
    assert run(["knobs", "shopd"]) == 2
    assert "no shopd is configured here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("info", "text"),
    [
        ({"kind": "boolean"}, "true or false"),
        ({"kind": "choice", "choices": ("a", "b")}, "a, b"),
        ({"kind": "text"}, "text"),
        ({"kind": "integer", "minimum": 1, "maximum": 1_000_000}, "1 … 1,000,000"),
        ({"kind": "number", "maximum": 0.5, "unit": "s"}, "at most 0.5 s"),
        ({"kind": "integer"}, "a whole number"),
    ],
)
def test_a_domain_is_said_in_words(info, text):
    assert domain_text(KnobInfo(name="x", summary="", **info)) == text
