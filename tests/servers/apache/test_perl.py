"""What of an Apache's Perl is found in files, in a file system made for it."""

import pytest
from tests.servers.apache.sample import files, surveyed

from httpdyno.servers.apache.perl import perl_files

PERL = "LoadModule perl_module m/mod_perl.so\n"
DEBIAN = "usr/lib/x86_64-linux-gnu/perl5/5.36"
SIZE_LIMIT, SMAPS = "Apache2/SizeLimit.pm", "Linux/Smaps.pm"


@pytest.fixture
def root(tmp_path):
    put(tmp_path, DEBIAN, SIZE_LIMIT)
    return tmp_path


def put(root, folder, module, text="1;\n"):
    path = root / folder / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def seen(root, text="", names=("PATH",)):
    found = perl_files(surveyed(files(PERL + text)), names, root)
    assert found is not None
    return found


def test_without_mod_perl_nothing_is_looked_for(root):
    assert perl_files(surveyed(files("Listen 80\n")), (), root) is None


def test_the_module_is_not_there_where_size_limit_is(root):
    assert seen(root).has_smaps is False


@pytest.mark.parametrize(
    "folder",
    [
        DEBIAN,
        "usr/local/lib/x86_64-linux-gnu/perl/5.36.0",
        "usr/local/share/perl/5.36.0",
        "usr/lib64/perl5/vendor_perl",
        "usr/lib/perl5/5.36/vendor_perl",
        "usr/local/lib/perl5/site_perl/5.36.0/x86_64-linux",
    ],
)
def test_it_is_found_where_perls_keep_modules(root, folder):
    put(root, folder, SMAPS)
    assert seen(root).has_smaps is True


@pytest.mark.parametrize(
    "text",
    [
        'PerlSwitches -I/srv/lib -w\n',
        "<Perl>\nuse lib '/srv/lib';\n</Perl>\n",
        "<Perl>\nuse lib qw(/srv/lib);\n</Perl>\n",
        "PerlPostConfigRequire /srv/startup.pl\n",
    ],
)  # fmt: skip
def test_it_is_found_where_the_configuration_says(root, text):
    put(root, "srv", "startup.pl", 'use strict;\nuse lib "/srv/lib";\n')
    assert seen(root, text).has_smaps is False
    put(root, "srv/lib", SMAPS)
    assert seen(root, text).has_smaps is True


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", None),
        ("", ("PATH", "PERL5LIB")),
        ("<Perl>\nuse lib $folder;\n</Perl>\n", ("PATH",)),
        ("<Perl>\nuse lib \"$root/lib\";\n</Perl>\n", ("PATH",)),
        ("PerlSwitches -I /srv/lib\n", ("PATH",)),
    ],
)  # fmt: skip
def test_where_folders_may_be_missing_it_is_not_known(root, text, names):
    assert seen(root, text, names).has_smaps is None


def test_a_perl_that_lies_elsewhere_is_not_known(tmp_path):
    assert seen(tmp_path).has_smaps is None


def test_what_is_run_at_the_start_is_read_where_it_may_be(root):
    put(root, "etc/apache2/perl", "startup.pl", "use Shop;\n")
    text = "ServerRoot /etc/apache2\nPerlRequire perl/startup.pl\nPerlConfigRequire /srv/gone.pl\n"
    assert seen(root, text).startup == {"/etc/apache2/perl/startup.pl": "use Shop;\n"}
