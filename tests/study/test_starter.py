"""Studies to begin with."""

import tomllib

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.registry import load_adapter
from httpdyno.study.file import load_study
from httpdyno.study.starter import STARTERS, Wish, starter

WISHES = {
    "gunicorn": Wish(
        kind="gunicorn",
        words=("shop.web:app",),
        python='/srv/a "b"/bin/python',
        folder="/srv",
        n_cpus=4,
    ),
    "uvicorn": Wish(kind="uvicorn", words=("shop:app",), folder="/srv"),
    "apache": Wish(kind="apache"),
    "nginx": Wish(kind="nginx", n_cpus=2),
    "command": Wish(kind="command", words=("node", "server.js", "--port", "{port}"), folder="/srv"),
}


def test_there_is_one_to_try_of_each_kind():
    assert set(WISHES) == set(STARTERS)


@pytest.mark.parametrize("kind", WISHES)
def test_a_study_to_begin_with_can_be_read(tmp_path, kind):
    made = starter(WISHES[kind])
    for name, text in made.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    study = load_study(tmp_path, lambda name: load_adapter(name).knobs())
    assert study.name == made.name
    assert study.server.folder == (WISHES[kind].folder or "")
    assert all(
        knob.name in load_adapter(study.server.adapter).knobs()
        for knob in study.knobs
        if study.server.adapter != "command"
    )


def test_what_was_said_stands_in_it_whatever_it_holds():
    settings = tomllib.loads(starter(WISHES["gunicorn"]).files["study.toml"])["server"]["settings"]
    assert settings == {"application": "shop.web:app", "python": '/srv/a "b"/bin/python'}


@each_row(
    ("wish", "said"),
    [
        (Wish(kind="iis"), "no study to begin with for `iis`"),
        (Wish(kind="gunicorn"), "gunicorn takes one application"),
        (Wish(kind="gunicorn", words=("shop",)), "`shop` is no application, `module:name`"),
        (Wish(kind="command"), "a command is what is to run"),
        (Wish(kind="command", words=("node", "x.js")), "does not say where to listen"),
        (Wish(kind="nginx", words=("x",)), "takes no `x`"),
    ],
)
def test_what_says_not_enough_or_too_much_is_refused_with_the_way_out(wish, said):
    with pytest.raises(UsageError) as caught:
        starter(wish)
    assert said in str(caught.value)
    assert caught.value.hint
