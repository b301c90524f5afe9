"""`[site]`: servers of a person's own in place of one that the study makes."""

import tomllib

import msgspec
import pytest
from tests.rows import each_row

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.model import Door, KnobInfo, Member, SideCommand, Site, Study, TlsSpec
from httpdyno.study.file import configuration_from, load_study, study_from
from httpdyno.study.server import whole_name

SITE = """
format = 2
name = "shop"
title = "shop.example, as nginx and php-fpm serve it"

[site]
isolation = "wall"
listener = "443"
host = "shop.example"
writes = ["/var/www/shop/cache"]
ready = "/health"
ready_status = 204

[[site.members]]
name = "front"
kind = "nginx"
main = "/etc/nginx/nginx.conf"
unit = "nginx.service"

[[site.members]]
name = "php"
kind = "php-fpm"
main = "/etc/php/8.2/fpm/php-fpm.conf"
serves = ["unix:/run/php/php8.2-fpm.sock"]
ready_timeout = "30s"

[[site.doors]]
to = "127.0.0.1:5432"
why = "a throwaway copy"

[[knobs]]
name = "php:pm.max_children"
start = "as found"
levels = [10, 20]

[[knobs]]
name = "front:gzip"
levels = [true]
"""


def _info(name, default, kind="integer", maximum=None):
    return KnobInfo(
        name=name, summary=f"what {name} is", kind=kind, default=default, maximum=maximum
    )


INFOS = {
    # As found it is more than anybody should try.
    "php:pm.max_children": _info("pm.max_children", 500, maximum=100),
    "php:pm.max_requests": _info("pm.max_requests", None),
    "front:gzip@shop.example": _info("gzip", default=False, kind="boolean"),
    "front:expires@a.example": _info("expires", default=0),
    "front:expires@b.example": _info("expires", default=0),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "snapshot").mkdir()
    return tmp_path


def _study(folder, text=SITE):
    return study_from(
        tomllib.loads(text), folder / "study.toml", lambda _: {}, lambda _site, _folder: INFOS
    )


def test_a_site_is_read_with_its_members_and_doors(folder):
    study = _study(folder)
    assert study.site == Site(
        members=(
            Member(name="front", kind="nginx", main="/etc/nginx/nginx.conf", unit="nginx.service"),
            Member(
                name="php",
                kind="php-fpm",
                main="/etc/php/8.2/fpm/php-fpm.conf",
                serves=("unix:/run/php/php8.2-fpm.sock",),
                ready_timeout_s=30.0,
            ),
        ),
        isolation="wall",
        listener="443",
        host="shop.example",
        writes=("/var/www/shop/cache",),
        doors=(Door(to="127.0.0.1:5432", why="a throwaway copy"),),
        ready="/health",
        ready_status=204,
    )
    server = study.server
    assert (server.adapter, server.ready_path, server.ready_status) == ("site", "/health", 204)


PREPARE = """
[[site.prepare]]
run = ["php", "seed", "{run}/a", "{knob.php:pm.max_children}"]
timeout = "3s"
member = "front"
when = "up"

[[site.prepare]]
run = ["make", "{shared}/all"]
each = "run"
folder = "/srv"
user = "www-data"

[[site.finish]]
run = ["clear"]

[[knobs]]
name = "php"""


def test_what_runs_beside_a_site_has_the_words_of_a_server_and_its_own(folder):
    study = _study(folder, SITE.replace('[[knobs]]\nname = "php', PREPARE, 1))
    assert study.server.before == (
        SideCommand(
            run=("php", "seed", "{run}/a", "{knob.php:pm.max_children}"),
            timeout_s=3.0,
            member="front",
            when="up",
        ),
        SideCommand(run=("make", "{shared}/all"), each="run", folder="/srv", user="www-data"),
    )
    assert study.server.finish == (SideCommand(run=("clear",)),)
    assert msgspec.json.decode(msgspec.json.encode(study), type=Study) == study


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('member = "front"', 'member = "db"', "[0].member is 'db'; expected a member: front, php"),
        ('timeout = "3s"', 'timeout = "0s"', "site.prepare[0].timeout is '0s'; expected more than"),
        ('"{run}/a"', '"{port}"', "expected a text without `{port}` and the like"),
        ('"{run}/a"', '"{setting.x}"', "expected a text without `{port}` and the like"),
        ('"{shared}/all"', '"{run}/all"', "expected `{shared}` alone where `each` is `run`"),
        ('folder = "/srv"', 'folder = "srv"', "prepare[1].folder is 'srv'; expected a whole path"),
        ('each = "run"', 'each = "run"\nwhen = "up"', "[1].when is 'up'; expected `before`"),
        ('["clear"]', '["clear"]\nwhen = "up"', "site.finish[0].when is 'up'; expected `before`"),
        ('["clear"]', "[]", "site.finish[0].run is []; expected a program first"),
        ('["clear"]', '["clear"]\nusr = "x"', "site.finish[0].usr is not a key that there is"),
    ],
)
def test_what_makes_no_sense_beside_a_site_is_named(folder, before, after, said):
    text = SITE.replace('[[knobs]]\nname = "php', PREPARE, 1)
    assert before in text
    with pytest.raises(StudyFileError) as caught:
        _study(folder, text.replace(before, after))
    assert said in str(caught.value)


def test_a_variable_of_a_member_has_a_folder_and_no_port(folder):
    text = 'kind = "php-fpm"\nenvironment = { DATABASE = "{run}/shop.sqlite" }'
    study = _study(folder, SITE.replace('kind = "php-fpm"', text))
    assert study.site is not None
    assert study.site.members[1].environment == {"DATABASE": "{run}/shop.sqlite"}
    with pytest.raises(StudyFileError, match=r"members\[1\].environment.DATABASE is '\{port\}'"):
        _study(
            folder, SITE.replace('kind = "php-fpm"', text.replace("{run}/shop.sqlite", "{port}"))
        )


def test_a_knob_starts_from_what_was_found_by_its_whole_name(folder):
    study = _study(folder)
    assert study.start_configuration().values == {
        "php:pm.max_children": 500,
        "front:gzip@shop.example": False,
    }
    assert study.knob("php:pm.max_children").title == "what pm.max_children is"
    changed = configuration_from("php:pm.max_children=20, front:gzip=on", study)
    assert changed.values == {"php:pm.max_children": 20, "front:gzip@shop.example": True}


@pytest.mark.parametrize(("host", "name"), [("shop.example", "shop.example"), ("", "localhost")])
def test_tls_is_told_a_name_also_where_the_site_has_none(folder, host, name):
    text = SITE.replace('host = "shop.example"', f'host = "{host}"\ntls = true')
    assert _study(folder, text).workload.tls == TlsSpec(server_name=name, is_verified=False)


def test_a_site_study_is_stored_and_read_again(folder):
    study = _study(folder)
    assert msgspec.json.decode(msgspec.json.encode(study), type=Study) == study


def test_the_member_may_be_left_out_where_there_is_one(folder):
    at, end = SITE.index("[[site.members]]"), SITE.index('[[site.members]]\nname = "php"')
    alone = (SITE[:at] + SITE[end:]).replace('name = "front:gzip"\nlevels = [true]', "")
    alone = alone[: alone.rindex("[[knobs]]")].replace("php:pm.max_children", "pm.max_children")
    study = _study(folder, alone)
    assert [knob.name for knob in study.knobs] == ["php:pm.max_children"]
    assert configuration_from("pm.max_children=10", study) == configuration_from(
        "php:pm.max_children=10", study
    )
    with pytest.raises(UsageError, match="sets no knob"):
        configuration_from("max_children=10", study)


@each_row(
    ("name", "members", "whole"),
    [
        ("gzip", ["front"], "front:gzip@shop.example"),
        ("front:gzip", ["front", "php"], "front:gzip@shop.example"),
        # Which member's is not said, and which scope's.
        ("gzip", ["front", "php"], "gzip"),
        ("front:expires", ["front"], "front:expires"),
        ("expires@a.example", ["front"], "front:expires@a.example"),
        # A scope may hold a colon.
        ("backlog@0.0.0.0:80", ["front"], "front:backlog@0.0.0.0:80"),
        ("gzip", [], "gzip"),
    ],
)
def test_what_is_left_out_of_a_name_is_put_in_where_there_is_one(name, members, whole):
    assert whole_name(name, members, INFOS) == whole


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("format = 2", "format = 1", "site is not a key of format 1"),
        ("[site]", '[server]\nadapter = "x"\n[site]', "[server] and [site] exclude each other"),
        ('kind = "php-fpm"\n', "", "object missing required field `kind`"),
        ('name = "php"', 'name = "front"', "[1].name is 'front'; expected a name that no other"),
        ('name = "php"', 'name = "a:b"', "site.members[1].name is 'a:b'; expected letters"),
        ('main = "/etc/nginx/nginx.conf"', "", "site.members[0].main is ''; expected the path"),
        ("/etc/nginx/nginx.conf", "nginx.conf", "[0].main is 'nginx.conf'; expected whole paths"),
        ('"/var/www/shop/cache"', '"cache"', "site.writes is 'cache'; expected whole paths"),
        ('to = "127.0.0.1:5432"', 'to = ""', "site.doors[0].to is ''; expected an address"),
        ('ready_timeout = "30s"', 'ready_timeout = "0s"', "ready_timeout is '0s'; expected more"),
        ("ready_status = 204", "ready_status = 99", "site.ready_status is 99; expected 100 to 599"),
        ('ready = "/health"', 'ready = "health"', "site.ready is 'health'; expected a path"),
        ('isolation = "wall"', 'isolation = "jail"', "site.isolation is 'jail'; invalid enum"),
        ('isolation = "wall"', 'snapshot = "x"', "site.snapshot is 'x'; expected a folder in"),
        ('host = "shop', 'hots = "shop', "site.hots is not a key that there is"),
        ("php:pm.max_children", "pm.max_children", "is 'pm.max_children'; expected a setting of"),
        ("php:pm.max_children", "php:pm.max_requests", "start is 'as found'; expected a value"),
        ("levels = [10, 20]", "levels = [10, 200]", "is 200; expected at most 100"),
        ('start = "as found"', "start = 500", "(php:pm.max_children) is 500; expected at most 100"),
        ("levels = [10, 20]", "levels = [500]", "expected levels other than the start (500)"),
    ],
)
def test_what_makes_no_sense_of_a_site_is_named(folder, before, after, said):
    assert before in SITE
    with pytest.raises(StudyFileError) as caught:
        _study(folder, SITE.replace(before, after))
    assert said in str(caught.value)
    assert "study.toml" in str(caught.value)


def test_a_site_is_refused_where_nobody_knows_its_settings(folder):
    (folder / "study.toml").write_text(SITE, encoding="utf-8")
    with pytest.raises(StudyFileError, match="cannot be read here") as caught:
        load_study(folder, lambda _: {})
    assert caught.value.hint


def test_as_found_is_nothing_that_a_server_of_the_study_has(folder):
    at, end = SITE.index("[site]"), SITE.index("[[knobs]]")
    text = f'{SITE[:at]}[server]\nadapter = "fake"\n{SITE[end:]}'
    for wrong in (text, text.replace('start = "as found"', "")):
        with pytest.raises(StudyFileError, match=r"knobs\[0\].*start .*the server starts with"):
            _study(folder, wrong)


def test_a_text_may_start_empty(folder):
    at = SITE.index("[site]")
    knobs = '[[knobs]]\nname = "flags"\nstart = ""\nlevels = ["-O"]'
    study = _study(folder, f'{SITE[:at]}[server]\nadapter = "fake"\n{knobs}')
    assert study.start_configuration().values == {"flags": ""}
