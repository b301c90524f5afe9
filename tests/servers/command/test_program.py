import os
import sys
from pathlib import Path

import pytest

from httpdyno.servers.command.knob import GLIBC, GO, NODE, PHP
from httpdyno.servers.command.program import found_program, interpreter, parts_of, version_of


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_name_is_looked_for_in_path_and_a_path_in_the_folder(tmp_path):
    tool = executable(tmp_path / "tool", "#!/bin/sh\n")
    (tmp_path / "text").write_text("no program")
    assert found_program("tool", None, str(tmp_path)) == tool
    assert found_program("tool", tmp_path, "/nowhere") is None
    assert found_program("./tool", tmp_path, "/nowhere") == tmp_path / "tool"
    assert found_program("./tool", None, str(tmp_path)) is None
    assert found_program(str(tool), None, "") == tool
    assert found_program("./text", tmp_path, "") is None


def test_a_script_is_run_by_what_its_first_line_names(tmp_path):
    executable(tmp_path / "node", "\x7fELF")
    script = executable(tmp_path / "npm", "#!/usr/bin/env node\n")
    plain = executable(tmp_path / "plain", f"#!{sys.executable} -I\n")
    assert interpreter(script, str(tmp_path)) == tmp_path / "node"
    assert interpreter(plain, "") == Path(sys.executable)
    assert interpreter(tmp_path / "node", "") == tmp_path / "node"


def test_what_is_known_to_tell_its_version_is_asked_and_nothing_else_is_run(tmp_path):
    python = Path(sys.executable)
    version = ".".join(map(str, sys.version_info[:3]))
    assert version_of(python, dict(os.environ)) == f"Python {version} ({python})"
    server = executable(tmp_path / "server", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    assert version_of(server, {}) == str(server)
    assert not (tmp_path / "ran").exists()


def test_a_version_that_is_a_bare_number_gets_its_name(tmp_path):
    node = executable(tmp_path / "node", "#!/bin/sh\necho v20.1.0\n")
    assert version_of(node, {"PATH": "/bin"}) == f"node v20.1.0 ({node})"


@pytest.mark.parametrize("name", ["php", "php8.2", "php-fpm8.2", "php-cgi"])
def test_php_is_asked_for_its_version_by_whichever_name_it_goes(tmp_path, name):
    php = executable(tmp_path / name, '#!/bin/sh\ntest "$*" = --version && echo PHP 8.2.29\n')
    assert version_of(php, {"PATH": "/bin"}) == f"PHP 8.2.29 ({php})"


@pytest.mark.parametrize(
    ("name", "content", "arguments", "parts"),
    [
        ("api", "\x7fELF libc.so.6", (), {GLIBC}),
        ("api", "\x7fELF ld-musl-x86_64.so.1", (), set()),
        ("api", "\x7fELF libc.so.6 libjemalloc.so.2", (), set()),
        ("api", "\x7fELF libc.so.6 \xff Go buildinf:", (), {GO}),
        ("node", "\x7fELF libc.so.6", (), {NODE, GLIBC}),
        ("php8.2", "\x7fELF libc.so.6", ("-S", "127.0.0.1:80"), {PHP, GLIBC}),
        ("php8.2", "\x7fELF libc.so.6", ("worker.php",), {GLIBC}),
        ("api", "", (), {GLIBC}),
    ],
)
def test_what_hears_variables_is_seen_in_the_program(name, content, arguments, parts, tmp_path):
    program = tmp_path / name
    program.write_bytes(content.encode("latin-1"))
    assert parts_of(program, (name, *arguments)) == parts


def test_of_a_program_that_cannot_be_read_only_its_name_tells():
    assert parts_of(Path("/nowhere/node"), ("node",)) == {NODE, GLIBC}
