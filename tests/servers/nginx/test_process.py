"""From what is installed, or runs, to a member."""

import pytest
from tests.rows import each_row
from tests.servers.nginx.layouts import DEBIAN, GLOBS

from httpdyno.model import Survey
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.nginx.server import of_command

NGINX = Nginx()
MASTER = "nginx: master process "


@pytest.fixture
def program(own_folders):
    """A file in which stands what Debian's says; it cannot be run."""
    file = own_folders / "nginx"
    file.write_bytes(
        b"\x7fELF\0nginx version: nginx/1.22.1\n\0"
        b"configure arguments: --with-cc-opt='-g -O2' --prefix=/usr/share/nginx "
        b"--conf-path=/etc/nginx/nginx.conf --with-threads\n\0"
    )
    return str(file)


def test_what_is_called_so_and_says_nothing_of_itself_is_none_and_is_not_run(own_folders):
    file = own_folders / "nginx"
    file.write_text(f"#!/bin/sh\ntouch {own_folders}/ran\n")
    file.chmod(0o755)
    assert NGINX.of_process(str(file), [MASTER + str(file)], "/") is None
    assert not (own_folders / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "main", "prefix"),
    [
        ([MASTER + "NGINX -g daemon on; master_process on;"], "/etc/nginx/nginx.conf", ""),
        ([MASTER + "NGINX -c /srv/n.conf\0\0\0"], "/srv/n.conf", ""),
        (["NGINX", "-c", "conf/x.conf"], "/usr/share/nginx/conf/x.conf", ""),
        (["NGINX", "-p", "mine", "-c", "x.conf"], "/folder/mine/x.conf", "/folder/mine"),
        (["NGINX", "-c", "../etc/x.conf"], "/usr/share/etc/x.conf", ""),
    ],
)
def test_a_master_is_a_member_with_its_main_file(program, arguments, main, prefix):
    words = [word.replace("NGINX", program) for word in arguments]
    member = NGINX.of_process(program, words, "/folder")
    assert member is not None
    assert (member.main, member.prefix, member.program) == (main, prefix, program)
    assert member.kind == NGINX.name


@each_row(
    ("name", "arguments"),
    [("nginx", ["nginx: worker process"]), ("apache2", ["apache2"]), ("nginx-ui", ["nginx-ui"])],
)
def test_nothing_else_is_one(name, arguments):
    assert NGINX.of_process(f"/usr/sbin/{name}", arguments, "/") is None


def test_a_main_file_is_told_from_a_part_of_one(own_folders):
    main = str(DEBIAN.written(own_folders))
    member = NGINX.at(main)
    assert member is not None
    assert member.main == main
    assert NGINX.at(f"{own_folders}/etc/nginx/sites-available/default") is None
    assert NGINX.at(f"{own_folders}/none") is None
    (own_folders / "other.conf").write_text("<VirtualHost *:80>\n")
    assert NGINX.at(f"{own_folders}/other.conf") is None


def test_what_the_service_gives_by_g_is_kept_but_how_it_runs():
    command = ["/usr/sbin/nginx", "-g", "daemon on; worker_processes 3; pid /run/x;"]
    assert [(d.name, d.texts) for d in of_command(command)] == [("worker_processes", ("3",))]


def test_a_survey_asks_the_program_for_its_version_only(program, own_folders):
    member = NGINX.of_process(program, [program, "-c", str(GLOBS.written(own_folders))], "/")
    assert member is not None
    survey = NGINX.survey(member, NGINX.read(member), None)
    assert isinstance(survey, Survey)
    assert survey.version == "nginx version: nginx/1.22.1"
    assert "--with-threads" in survey.modules
