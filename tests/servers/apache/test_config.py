from pathlib import Path

from tests.rows import each_row

from httpdyno.model import Configuration, Level, ServerSpec
from httpdyno.servers.apache.made import (
    Installation,
    argument_text,
    config_files,
    overlay,
    wanted_modules,
)
from httpdyno.servers.render import Variables

INSTALLATION = Installation(
    binary="/usr/sbin/apache2",
    version="Apache/2.4.71",
    module_folder=Path("/modules"),
    built_in=frozenset({"so", "version", "unixd"}),
)


def spec(**settings):
    return ServerSpec(adapter="apache", base="base.conf.j2", settings=settings)


def files(tmp_path, configuration, **settings):
    (tmp_path / "base.conf.j2").write_text("Level {{ knob.level }}\n")
    target = spec(**settings)
    variables = Variables.placeholders(target, configuration, server_user="www-data")
    return config_files(target, tmp_path, variables, INSTALLATION)


def test_the_overlay_comes_after_the_base_file_and_has_only_apaches_knobs(tmp_path):
    found = files(tmp_path, Configuration(values={"level": 3, "KeepAlive": False, "Timeout": 9}))
    assert found["base.conf"] == "Level 3\n"
    text = found["httpd.conf"]
    assert text.endswith(
        'Include "RUN/base.conf"\n# httpdyno\'s overlay\nKeepAlive Off\nTimeout 9\n'
    )
    assert "Listen 127.0.0.1:PORT\n" in text
    assert 'PidFile "RUN/httpd.pid"\n' in text


def test_built_in_modules_are_not_loaded(tmp_path):
    text = files(tmp_path, Configuration(values={"level": 1}), modules="perl version")["httpd.conf"]
    assert "LoadModule perl_module /modules/mod_perl.so\n" in text
    assert "version_module" not in text


def test_the_mpm_comes_first_and_nothing_is_loaded_twice():
    assert wanted_modules(spec(modules="perl dir authz_core perl")) == (
        *("mpm_prefork", "authz_core", "info", "perl", "dir"),
    )


def test_an_mpm_that_is_a_knob_is_loaded_and_is_no_directive(tmp_path):
    event = Configuration(values={"level": 1, "mpm": "event", "MaxRequestWorkers": 50})
    text = files(tmp_path, event)["httpd.conf"]
    assert "LoadModule mpm_event_module /modules/mod_mpm_event.so\n" in text
    assert "prefork" not in text
    assert text.endswith("# httpdyno's overlay\nMaxRequestWorkers 50\n")


@each_row(("workers", "limit"), [(5, "256"), (256, "256"), (300, "300")])
def test_the_servers_limit_is_large_enough(workers, limit):
    found = overlay(spec(), {"MaxRequestWorkers": workers})
    assert list(found) == ["ServerLimit", "MaxRequestWorkers"]
    assert found["ServerLimit"] == limit


def test_a_servers_limit_that_is_a_knob_is_left_alone():
    levels: dict[str, Level] = {"MaxRequestWorkers": 300, "ServerLimit": 100}
    assert overlay(spec(), levels) == {
        "MaxRequestWorkers": "300",
        "ServerLimit": "100",
    }


def test_another_mpm_gets_no_servers_limit():
    found = overlay(spec(mpm="event"), {"MaxRequestWorkers": 300})
    assert found == {"MaxRequestWorkers": "300"}


def test_levels_are_written_as_apache_writes_them():
    assert [argument_text(level) for level in (True, False, 5, "Double")] == (
        ["On", "Off", "5", "Double"]
    )
