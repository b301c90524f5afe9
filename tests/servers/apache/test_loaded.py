"""Which interpreters a study's Apache has, of modules whose files say what real ones do."""

import pytest

from httpdyno.model import ServerSpec
from httpdyno.servers.apache.made import Installation, interpreters

SAYS = '#!/bin/sh\ncase "$*" in *"LoadModule perl_module {}"*Perl*) echo Perl/v5.36.0;; esac\n'


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def installation(tmp_path):
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "mod_perl.so").write_bytes(b"\x7fELF\0mod_perl/2.0.12\0Perl/%-p\0")
    return Installation(
        binary=executable(tmp_path / "apache2", SAYS.format(modules / "mod_perl.so")),
        version="Apache/2.4.62 (Debian)",
        module_folder=modules,
        built_in=frozenset(),
    )


def found(tmp_path, installation, base="", **settings):
    (tmp_path / "base.conf.j2").write_text(base)
    spec = ServerSpec(adapter="apache", base="base.conf.j2", settings=settings)
    return interpreters(spec, tmp_path, installation)


def test_mod_perl_says_its_version_and_its_perl_is_asked(tmp_path, installation):
    both = ("mod_perl/2.0.12", "Perl/v5.36.0")
    assert found(tmp_path, installation, modules="dir perl") == both
    line = f"LoadModule perl_module {installation.module_file('perl')}\n"
    assert found(tmp_path, installation, base=line) == both
    assert found(tmp_path, installation, modules="dir") == ()


@pytest.mark.parametrize("name", ["php_module", "php7_module"])
def test_php_that_a_base_file_loads_says_its_version(tmp_path, installation, name):
    module = tmp_path / "libphp.so"
    module.write_bytes(b"\x7fELF\0X-Powered-By: PHP/8.2.29\0PHP/8.2.29\0")
    for line in (f"LoadModule {name} {module}", f'  loadmodule {name} "{module}"'):
        assert found(tmp_path, installation, base=f"Timeout 9\n{line}\n") == ("PHP/8.2.29",)
    for line in (f"# LoadModule {name} {module}", f"LoadModule {name} {{{{ knob.php }}}}"):
        assert found(tmp_path, installation, base=f"{line}\n") == ()


def test_perl_beside_apache_is_the_one_that_is_installed(tmp_path, installation, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    perl = executable(tmp_path / "perl", "#!/bin/sh\necho perl v5.40.1\n")
    settings = {"modules": "fcgid", "perl_modules": "FCGI"}
    assert found(tmp_path, installation, **settings) == (f"perl v5.40.1 ({perl})",)


def test_what_cannot_be_told_is_left_out(tmp_path, installation):
    installation.module_file("perl").unlink()
    executable(tmp_path / "apache2", "#!/bin/sh\necho Cannot load it >&2\nexit 1\n")
    assert found(tmp_path, installation, modules="perl") == ()
