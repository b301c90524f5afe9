"""From parts of a trace to calls per request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.reason import because
from httpdyno.telemetry.syscalls.count import NONE, PerRequest, SyscallProfile, census
from httpdyno.telemetry.syscalls.trace import trace

PARENT, WORKER, OTHER = 10, 11, 12
PROCESS_OF = {PARENT: PARENT, WORKER: WORKER, OTHER: OTHER}
HERE = "AT_FDCWD</srv>"
NOT_THERE = "-1 ENOENT (No such file or directory)"
DONE = "poll([{fd=7<socket:[%d]>, events=POLLIN}], 1, 2000) = 1 ([{fd=7, revents=POLLIN|POLLHUP}])"


def lines(*texts: str, thread: int = WORKER) -> list[str]:
    return [f"{thread} {text}" for text in texts]


def request(inode: int, *texts: str, thread: int = WORKER) -> list[str]:
    """Return a request over a connection of its own, as Apache as prefork answers it."""
    connection = f"7<socket:[{inode}]>"
    return lines(
        "poll([{fd=3<socket:[1]>, events=POLLIN}], 1, -1) = 1 ([{fd=3, revents=POLLIN}])",
        "accept4(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(41054), "
        f'sin_addr=inet_addr("127.0.0.1")}}, [128 => 16], SOCK_CLOEXEC) = {connection}',
        f"fcntl({connection}, F_GETFL) = 0x2 (flags O_RDWR)",
        f'read({connection}, ""..., 8000) = 104',
        *texts,
        f"writev({connection}, [...], 5) = 205",
        f"shutdown({connection}, SHUT_WR) = 0",
        DONE % inode,
        f'read({connection}, "", 512) = 0',
        f"close({connection}) = 0",
        thread=thread,
    )


def counted(*parts: list[str]) -> SyscallProfile:
    return census(trace([[], *parts]), PROCESS_OF, rest_s=0.3)


def of_kinds(seen):
    return {each.kind: each.calls.mean for each in seen.kinds}


def test_the_frame_of_a_connection_is_not_the_request():
    seen = counted(request(70), request(71))
    assert of_kinds(seen) == {"read": 1, "write": 1}
    assert seen.connection == PerRequest(mean=7, low=7, high=7)
    assert (seen.n_requests, seen.n_connections, seen.warnings) == (2, 2, ())
    assert seen.is_same


def test_a_poll_of_a_connection_that_is_kept_is_the_request():
    kept = "poll([{fd=7<socket:[70]>, events=POLLIN}], 1, 5000) = 1 ([{fd=7, revents=POLLIN}])"
    assert counted(request(70, kept)).of("poll").mean == 1


def test_the_walk_through_folders_is_told_with_its_files():
    walk = (
        f'newfstatat({HERE}, "/srv/www/news", 0x7f, 0) = {NOT_THERE}',
        f'openat({HERE}, "/.htaccess", O_RDONLY|O_CLOEXEC) = {NOT_THERE}',
        f'newfstatat({HERE}, "/srv", {{st_mode=S_IFDIR|0755, ...}}, AT_SYMLINK_NOFOLLOW) = 0',
        f'openat({HERE}, "/srv/.htaccess", O_RDONLY|O_CLOEXEC) = 8</srv/.htaccess>',
        "read(8</srv/.htaccess>, \"\"..., 4096) = 17",
        "close(8</srv/.htaccess>) = 0",
    )  # fmt: skip
    seen = counted(request(70, *walk), request(71, *walk, walk[0]))
    assert of_kinds(seen) == {"stat": 1.5, "lstat": 1, "open": 2, "read": 2, "write": 1, "close": 1}
    assert not seen.is_same
    assert seen.of("stat") == PerRequest(mean=1.5, low=1, high=2)
    assert (seen.missing_opens.mean, seen.htaccess_opens.mean, seen.missing_stats.mean) == (
        1,
        2,
        1.5,
    )
    assert [(each.path, each.calls.mean, each.is_missing) for each in seen.files] == [
        ("/srv/www/news", 1.5, True),
        ("/.htaccess", 1, True),
        ("/srv", 1, False),
        ("/srv/.htaccess", 1, False),
    ]


def test_the_time_zone_is_not_the_request():
    zone = (
        f'newfstatat({HERE}, "/etc/localtime", {{st_mode=S_IFREG|0644, ...}}, 0) = 0',
        f'openat({HERE}, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 8</usr/share/zoneinfo/UTC>',
        'read(8</usr/share/zoneinfo/UTC>, ""..., 4096) = 114',
        "close(8</usr/share/zoneinfo/UTC>) = 0",
    )
    seen = counted(request(70, *zone), request(71))
    assert of_kinds(seen) == {"read": 1, "write": 1}
    assert seen.zone == PerRequest(mean=2, low=0, high=4)


def test_processes_that_only_wait_took_no_part():
    parent = lines(
        "wait4(-1, 0x7ff, WNOHANG|WSTOPPED, NULL) = 0",
        "pselect6(0, NULL, NULL, NULL, {tv_sec=1, tv_nsec=0}, NULL) = 0 (Timeout)",
        thread=PARENT,
    )
    idle = lines("utimensat(9</tmp/x>, NULL, NULL, 0) = 0", "read(4<anon_inode:[e]>, 0, 8) = 8",
                 thread=OTHER)  # fmt: skip
    seen = counted([*parent, *request(70), *idle])
    assert of_kinds(seen) == {"read": 1, "write": 1}
    assert (seen.n_traced, seen.n_took_part) == (3, 1)


def test_threads_of_a_process_and_what_it_begins_take_part():
    begins = (
        "clone3({flags=CLONE_VM|CLONE_THREAD, ...} => {parent_tid=[20]}, 88) = 20",
        "vfork() = 21",
    )
    work = lines("futex(0x1, FUTEX_WAKE, 1) = 1", thread=20)
    child = lines('execve("/usr/bin/perl", [...], 0x55 /* 4 vars */) = 0', thread=21)
    grandchild = lines("getpid() = 22", thread=22)
    forks = lines("clone(child_stack=NULL, flags=SIGCHLD) = 22", thread=21)
    seen = counted([*request(70, *begins), *work, *child, *forks, *grandchild])
    assert of_kinds(seen) == {"read": 1, "write": 1, "futex": 1, "fork": 4, "other": 1}
    assert seen.n_took_part == 3


def test_what_a_parent_begins_beside_the_request_took_no_part():
    spawned = [
        *lines("clone(child_stack=NULL, flags=SIGCHLD) = 30", thread=PARENT),
        *lines("getpid() = 30", thread=30),
    ]
    seen = counted([*spawned, *request(70)])
    assert (of_kinds(seen), seen.n_took_part) == ({"read": 1, "write": 1}, 1)


@each_row(
    ("address", "text", "is_names"),
    [
        ('{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}',
         "127.0.0.53:53", True),
        ('{sa_family=AF_INET6, sin6_port=htons(53), sin6_flowinfo=htonl(0), '
         'inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}', "[::1]:53", True),
        ('{sa_family=AF_UNIX, sun_path="/run/nscd/socket"}', "/run/nscd/socket", True),
        ('{sa_family=AF_INET, sin_port=htons(5353), sin_addr=inet_addr("127.0.0.1")}',
         "127.0.0.1:5353", False),
        ('{sa_family=AF_UNIX, sun_path="/run/php.sock"}', "/run/php.sock", False),
    ],
)  # fmt: skip
def test_whom_a_request_connects_to_is_told(address, text, is_names):
    connect = ("socket(AF_INET, SOCK_DGRAM, 0) = 9<socket:[90]>",
               f"connect(9<socket:[90]>, {address}, 28) = 0")  # fmt: skip
    seen = counted(request(70, *connect))
    assert seen.of("socket").mean == 2
    assert [(each.address, each.calls.mean) for each in seen.connected] == [(text, 1)]
    assert seen.name_servers.mean == float(is_names)


def test_connections_of_others_make_a_warning():
    seen = counted([*request(70), *request(71, thread=OTHER)])
    assert (seen.n_connections, seen.n_took_part) == (2, 2)
    assert seen.warnings == (because("telemetry.others_asked", n_connections=2, n_requests=1),)


def test_connections_within_a_server_are_not_others():
    own = "accept(5<socket:[2]>, {sa_family=AF_UNIX}, [110 => 2]) = 9<socket:[91]>"
    assert counted(request(70, own)).warnings == ()


def test_requests_that_somebody_else_answered_make_a_warning():
    seen = counted(request(70), lines("getpid() = 11"))
    assert seen.warnings == (because("telemetry.nobody_took_part", n=1, n_requests=2),)


def test_lines_that_are_not_understood_make_a_warning():
    assert counted([*request(70), "what is this"]).warnings


def test_a_connection_from_before_is_known_to_be_one():
    first, *others = request(70)
    rest = [first, others[0]]
    seen = census(trace([rest, others[1:]]), PROCESS_OF, rest_s=0.3)
    assert (of_kinds(seen), seen.rest_calls) == ({"read": 1, "write": 1}, 2)


def test_no_requests_are_no_figures():
    seen = counted()
    assert (seen.total, seen.kinds, seen.warnings) == (NONE, (), ())


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_all_calls_are_in_one_kind(counts):
    calls = ("getpid() = 1", f'newfstatat({HERE}, "/a", {{...}}, 0) = 0', "times(0x7f) = 5")
    parts = [request(70 + k, *calls * n) for k, n in enumerate(counts)]
    seen = counted(*parts)
    assert sum(each.calls.mean for each in seen.kinds) == pytest.approx(seen.total.mean)
    assert seen.of("time") == PerRequest(
        mean=sum(counts) / len(counts), low=min(counts), high=max(counts)
    )
