from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import ServerSpec
from httpdyno.report.shared.message import texts
from httpdyno.servers.apache import Apache, made, server
from httpdyno.servers.apache.made import (
    Installation,
    found,
    missing_modules,
    missing_perl_modules,
)


def installed(folder):
    return Installation(
        binary="/x/apache2", version="Apache/2.4", module_folder=folder, built_in=frozenset({"so"})
    )


def test_modules_are_there_when_built_in_or_in_the_folder(tmp_path):
    (tmp_path / "mod_dir.so").write_text("")
    assert missing_modules(installed(tmp_path), ("so", "dir")) == ()


def test_each_missing_module_is_a_sentence_with_its_package(tmp_path):
    assert texts(missing_modules(installed(tmp_path), ("perl", "dir"))) == (
        "Apache's mod_perl is not installed: `apt-get install libapache2-mod-perl2`",
        "Apache's mod_dir is not installed: `apt-get install apache2-bin`",
    )


def test_each_missing_perl_module_is_a_sentence_with_its_package(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(made, "output_of", lambda command: "\n".join(command[3:]))
    assert texts(missing_perl_modules(("Apache::ASP", "CGI", "DBD::SQLite"))) == (
        "the Perl module Apache::ASP is not installed: `apt-get install libapache-asp-perl`",
        "the Perl module CGI is not installed: `apt-get install libcgi-pm-perl`",
        "the Perl module DBD::SQLite is not installed: `apt-get install libdbd-sqlite3-perl`",
    )


def test_without_perl_no_perl_module_is_looked_for(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert texts(missing_perl_modules(("Apache::ASP",))) == (
        "Perl is not installed: `apt-get install perl`",
    )
    assert missing_perl_modules(()) == ()


def test_without_apache_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(made, "find_binary", lambda: None)
    monkeypatch.setattr(server, "find_binary", lambda: None)
    with pytest.raises(AdapterError, match="Apache is not installed") as raised:
        found()
    assert "apt-get install apache2" in raised.value.hint
    assert texts(Apache().missing(ServerSpec(adapter="apache"))) == (
        "Apache is not installed: `apt-get install apache2`",
    )


def test_a_program_that_is_no_apache_is_an_error(tmp_path):
    with pytest.raises(AdapterError, match="cannot be run"):
        made.output_of([str(Path(tmp_path) / "gone"), "-v"])


def test_a_module_that_no_file_can_be_named_after_is_missing(tmp_path):
    assert not installed(tmp_path).has_module("x" * 5000)
