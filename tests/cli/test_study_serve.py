"""`httpdyno study serve`."""

from urllib.error import URLError
from urllib.request import urlopen

import pytest

from httpdyno.cli.app import run


def test_a_study_is_served_until_somebody_ends_it(capsys, monkeypatch):
    asked = []

    def until_ctrl_c():
        url = capsys.readouterr().out.strip()
        with urlopen(url) as answer:
            asked.append((url, answer.status))
        raise KeyboardInterrupt

    monkeypatch.setattr("signal.pause", until_ctrl_c)
    assert run(["study", "serve", "bookmarks", "--at", "workers=1"]) == 0
    [(url, status)] = asked
    assert status == 200
    with pytest.raises(URLError):
        urlopen(url)


def test_what_is_served_is_checked_like_any_configuration(capsys):
    assert run(["study", "serve", "bookmarks", "--at", "wrkers=1"]) == 2
    assert "wrkers" in capsys.readouterr().err
