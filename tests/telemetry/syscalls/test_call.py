"""Lines as strace 6.1 wrote them, read as system calls."""

from tests.rows import each_row

from httpdyno.telemetry.syscalls.trace import KINDS, NAMES, TracedCall, kind_of, trace

SOCKET = "7<socket:[4711]>"
FOLDER = "AT_FDCWD</srv>"
STAT = "{st_mode=S_IFREG|0644, st_size=588, ...}"
LINES = (
    # line, kind, path, result, error
    (f'newfstatat({FOLDER}, "/etc/hosts", {STAT}, 0) = 0', "stat", "/etc/hosts", 0, ""),
    (f'newfstatat({FOLDER}, "pr.py", {STAT}, 0) = 0', "stat", "/srv/pr.py", 0, ""),
    (f'newfstatat(7</srv/a>, "pr.py", {STAT}, 0) = 0', "stat", "/srv/a/pr.py", 0, ""),
    (
        f'newfstatat({FOLDER}, "/srv/www", {STAT}, AT_SYMLINK_NOFOLLOW) = 0',
        "lstat",
        "/srv/www",
        0,
        "",
    ),
    (
        f'newfstatat({FOLDER}, "/srv/n", 0x7ffe38baa710, AT_SYMLINK_NOFOLLOW) = -1 ENOENT (No such '
        "file or directory)",
        "lstat",
        "/srv/n",
        -1,
        "ENOENT",
    ),
    (f'newfstatat(8</srv/x>, "", {STAT}, AT_EMPTY_PATH) = 0', "fstat", "", 0, ""),
    (
        f'statx({FOLDER}, "/etc/nothing", AT_STATX_SYNC_AS_STAT, STATX_ALL, 0x7ffd80) = -1 ENOENT '
        "(No such file or directory)",
        "stat",
        "/etc/nothing",
        -1,
        "ENOENT",
    ),
    (
        f'openat({FOLDER}, "/.htaccess", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or '
        "directory)",
        "open",
        "/.htaccess",
        -1,
        "ENOENT",
    ),
    ('access("/etc/nothing", R_OK)      = -1 ENOENT (No such file or directory)',
     "access", "/etc/nothing", -1, "ENOENT"),
    (f'read({SOCKET}, ""..., 8000) = 104', "read", "", 104, ""),
    (
        f"read({SOCKET}, 0x7fb082a37048, 8000) = -1 EAGAIN (Resource temporarily unavailable)",
        "read",
        "",
        -1,
        "EAGAIN",
    ),
    (f"writev({SOCKET}, [...], 5) = 205", "write", "", 205, ""),
    (f"shutdown({SOCKET}, SHUT_WR) = 0", "other", "", 0, ""),
    (f"close({SOCKET})       = 0", "close", "", 0, ""),
    (
        "poll([{fd=4<socket:[1]>, events=POLLIN}, {fd=5<socket:[2]>, events=POLLIN}], 2, 10) = 2 "
        "([{fd=4, revents=POLLOUT}, {fd=5, revents=POLLOUT}])",
        "poll",
        "",
        2,
        "",
    ),
    ("mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</lib/c.so>, 0) = 0x7fdc7e0d4000",
     "other", "", 0x7FDC7E0D4000, ""),
    ("umask(077) = 022", "other", "", 0o22, ""),
    ("exit_group(0)                     = ?", "other", "", None, ""),
    (
        "restart_syscall(<... resuming interrupted poll ...>) = 0",
        "poll",
        "",
        0,
        "",
    ),
)  # fmt: skip


def calls(*lines: str) -> list[TracedCall]:
    found = trace([lines])
    assert found.not_understood == ()
    return list(found.parts[0])


@each_row(("line", "kind", "path", "result", "error"), LINES)
def test_a_line_is_a_call(line, kind, path, result, error):
    [call] = calls(f"7493  {line}")
    assert (call.thread, kind_of(call)) == (7493, kind)
    assert (call.path, call.result, call.error) == (path, result, error)


def test_descriptors_are_told_with_what_they_are_of():
    accept = (
        "7493  accept4(3<socket:[26177371]>, {sa_family=AF_INET, sin_port=htons(41054), "
        'sin_addr=inet_addr("127.0.0.1")}, [128 => 16], SOCK_CLOEXEC) = 7<socket:[26177471]>'
    )
    opened = (
        f'7493  openat({FOLDER}, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 8</usr/share/zoneinfo/UTC>'
    )
    waited = "7493  pselect6(6, [4<socket:[1]>], [5<pipe:[2]>], NULL, NULL, NULL) = 1 (out [5])"
    first, second, third = calls(accept, opened, waited)
    assert (first.file, first.made) == ("socket:[26177371]", "socket:[26177471]")
    assert second.made == "/usr/share/zoneinfo/UTC"
    assert (third.file, third.files) == ("", ("socket:[1]", "pipe:[2]"))


def test_a_path_that_looks_like_the_end_of_a_call_is_a_path():
    [call] = calls(f'7  openat({FOLDER}, "/srv/a) = 3<b>, \\"c", O_RDONLY) = 9</srv/x>')
    assert (call.path, call.result, call.made) == ('/srv/a) = 3<b>, \\"c', 9, "/srv/x")


def test_a_call_that_others_interrupt_is_one_and_belongs_to_where_it_ended():
    parts = (
        ["12 accept4(3<socket:[1]>, NULL, NULL, 0 <unfinished ...>", "13 getpid() = 13"],
        ["12 <... accept4 resumed>) = 7<socket:[2]>"],
    )
    found = trace(parts)
    assert [[each.name for each in part] for part in found.parts] == [["getpid"], ["accept4"]]
    assert (found.parts[1][0].file, found.parts[1][0].made) == ("socket:[1]", "socket:[2]")


def test_a_call_that_began_before_the_trace_is_known_by_its_name():
    [call] = calls("12 <... epoll_wait resumed>[], 512, 1000) = 0")
    assert kind_of(call) == "poll"


@each_row(
    "line",
    [
        "12 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=13, si_uid=0} ---",
        "12 +++ exited with 0 +++",
        "12 +++ killed by SIGKILL +++",
        "12 +++ superseded by execve in pid 14 +++",
        "12 [ Process PID=12 runs in 32 bit mode. ]",
        # The kernel begins it again, which is another line.
        "12 read(5<pipe:[3]>, 0x7ffd, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)",
        "12 accept4(3<socket:[1]>,  <detached ...>",
        "12 read(5<pipe:[3]>, <unfinished ...>",
    ],
)
def test_what_is_no_call_that_ended_is_left_out(line):
    assert calls(line) == []


def test_a_process_that_died_in_a_call_leaves_nothing_to_one_of_its_id():
    killed = ["12 read(5<pipe:[3]>, <unfinished ...>", "12 +++ killed by SIGKILL +++"]
    [call] = calls(*killed, "12 <... write resumed>) = 1")
    assert call.name == "write"


@each_row("line", ["strace: what is this", "12 something else", ""])
def test_what_is_not_understood_is_told(line):
    assert trace([[line]]).not_understood


def test_every_kind_has_a_place_in_the_order():
    assert len(set(KINDS)) == len(KINDS)
    names = [name for kind in NAMES.values() for name in kind]
    assert len(set(names)) == len(names)


def test_who_is_begun_in_a_namespace_of_its_own_has_the_number_that_its_lines_have():
    flags = "child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD"
    [[begun]] = trace([[f"900 clone({flags}) = 7 /* 907 in strace's PID NS */"]]).parts
    assert (begun.thread, begun.result) == (900, 907)
