import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row
from tests.servers.php_fpm.sample import (
    FOLDER,
    MAIN,
    MAIN_TEXT,
    OPCACHE,
    OPCACHE_TEXT,
    PHP_INI,
    POOL,
    POOL_TEXT,
    SHARED,
    changed_files,
    changed_lines,
    files,
    surveyed,
    values_in_force,
)

from httpdyno.errors import AdapterError
from httpdyno.report.shared.message import joined, text
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.knob import check
from httpdyno.servers.stack.adapter import MemberFiles

OWN = f"{FOLDER}/conf.d/99-httpdyno.ini"
SECOND = "[shop]\nlisten = 9001\npm = static\npm.max_children = 7"
TWO = {f"{FOLDER}/pool.d/shop.conf": SECOND}


def change(found, values):
    return PhpFpm().change_set(surveyed(found), found, values)


@each_row(
    ("values", "lines"),
    [
        ({}, []),
        ({"pm.max_children": 5, "pm.spare_servers": "2/1/3", "opcache.jit": "off"}, []),
        ({"pm.max_children": 20}, ["-pm.max_children = 5", "+pm.max_children = 20"]),
        (
            {"pm.spare_servers": "4/2/5"},
            [
                *(
                    "-pm.start_servers = 2",
                    "-pm.min_spare_servers = 1",
                    "-pm.max_spare_servers = 3",
                ),
                *(
                    "+pm.start_servers = 4",
                    "+pm.min_spare_servers = 2",
                    "+pm.max_spare_servers = 5",
                ),
            ],
        ),
        ({"pm.max_requests": 500}, ["+pm.max_requests = 500"]),
        ({"process_control_timeout": 10}, ["+process_control_timeout = 10"]),
        ({"zend.assertions": 1}, ["-zend.assertions = -1", "+zend.assertions = 1"]),
        (
            {"opcache.enable": False, "realpath_cache_size": "16M"},
            ["+; written by httpdyno", "+opcache.enable=0", "+realpath_cache_size=16M"],
        ),
        ({"realpath_cache_size": "4M"}, []),
        (
            {"opcache.jit": "tracing/64M"},
            ["+; written by httpdyno", "+opcache.jit_buffer_size=64M", "+opcache.jit=tracing"],
        ),
    ],
)
def test_the_smallest_change_is_made(values, lines):
    assert changed_lines(files(), values) == lines


def test_what_nothing_sets_is_put_behind_the_last_setting_of_its_section():
    found = files()
    after = changed_files(
        found, change(found, {"pm.max_requests": 9, "process_control_timeout": 1})
    )
    assert b"max_spare_servers = 3\npm.max_requests = 9\n;pm.max_requests = 500\n" in after[POOL]
    # Behind the include it would be the pool's.
    assert b".log\nprocess_control_timeout = 1\n\ninclude=" in after[MAIN]


def test_a_file_without_a_line_end_at_its_end_gets_a_line_of_its_own():
    after = changed_files(files(TWO), change(files(TWO), {"pm.max_requests@shop": 9}))
    assert after[f"{FOLDER}/pool.d/shop.conf"].decode() == f"{SECOND}\npm.max_requests = 9"


def test_line_ends_of_windows_stay():
    found = files({POOL: POOL_TEXT.replace("\n", "\r\n")})
    after = changed_files(found, change(found, {"pm.max_requests": 9, "pm.max_children": 8}))[POOL]
    assert after.count(b"\n") == after.count(b"\r\n") == POOL_TEXT.count("\n") + 1


def test_settings_in_a_file_that_others_read_too_get_a_file_of_their_own_and_it_is_said():
    found = files()
    changes = change(found, {"opcache.jit": "tracing/64M"})
    assert list(changes.added) == [OWN]
    assert changes.edits == ()
    assert SHARED in text(changes.notes[0])
    assert values_in_force(found, changes)["opcache.jit"] == "tracing/64M"


def test_a_file_of_ours_that_is_there_already_is_edited():
    found = files({OWN: "opcache.memory_consumption=256\n"})
    values = {"opcache.memory_consumption": 64, "opcache.enable": False}
    assert changed_lines(found, values) == [
        "-opcache.memory_consumption=256",
        "+opcache.memory_consumption=64",
        "+opcache.enable=0",
    ]
    assert change(found, values).added == {}


def test_a_file_that_would_be_read_later_is_overruled_too():
    late = f"{FOLDER}/conf.d/99-ours.ini"
    linked = files({late: "opcache.jit=off\n"})
    found = MemberFiles(texts=linked.texts, real={**linked.real, late: SHARED})
    changes = change(found, {"opcache.jit": "tracing/64M"})
    assert list(changes.added) == [f"{FOLDER}/conf.d/zz-httpdyno.ini"]
    assert values_in_force(found, changes)["opcache.jit"] == "tracing/64M"


def test_a_pool_that_has_a_value_of_its_own_is_changed_there():
    pool = f"{POOL_TEXT}php_admin_value[realpath_cache_ttl] = 30\nphp_flag[opcache.enable] = off\n"
    found = files({POOL: pool})
    values = {"realpath_cache_ttl": 600, "opcache.enable": True}
    assert changed_lines(found, values) == [
        "-php_admin_value[realpath_cache_ttl] = 30",
        "-php_flag[opcache.enable] = off",
        "+php_admin_value[realpath_cache_ttl] = 600",
        "+php_flag[opcache.enable] = on",
    ]


def test_opcache_that_both_the_pool_and_the_server_switch_off_is_switched_on_in_both():
    found = files(
        {
            POOL: f"{POOL_TEXT}php_admin_flag[opcache.enable] = off\n",
            PHP_INI: "opcache.enable = 0\n",
        }
    )
    changes = change(found, {"opcache.enable": True})
    assert {edit.file for edit in changes.edits} == {POOL, PHP_INI}
    assert values_in_force(found, changes)["opcache.enable"] is True


@each_row(
    ("values", "spare"),
    [
        ({"pm.max_children": 2}, "2/1/2"),
        ({"pm.max_children": 1}, "1/1/1"),
        ({"pm.max_children": 100}, "2/1/3"),
        ({"pm": "static", "pm.max_children": 1}, "2/1/3"),
    ],
)
def test_idle_children_that_php_fpm_would_refuse_are_put_right_and_it_is_said(values, spare):
    found = files()
    changes = change(found, values)
    assert values_in_force(found, changes)["pm.spare_servers"] == spare
    assert bool(changes.notes) is (spare != "2/1/3")


def test_a_pool_that_becomes_dynamic_gets_idle_children():
    found = files(TWO)
    changes = change(found, {"pm@shop": "dynamic", "pm.max_children@shop": 16})
    in_force = values_in_force(found, changes)
    assert in_force["pm.spare_servers@shop"] == "4/4/8"
    assert "pm.spare_servers" in text(changes.notes[0])


@each_row(
    ("values", "words"),
    [
        ({"pm.spare_servers": "2/1/9"}, "most ≤ max_children"),
        ({"pm.spare_servers": "1/2/3"}, "fewest ≤ start"),
        ({"pm.max_children": 2, "pm.spare_servers": "2/2/3"}, r"`pm\.max_children` 2"),
        ({"pm.spare_servers": "2-3"}, "three numbers"),
        ({"pm.max_children": 0}, "at least 1"),
        ({"pm": "adaptive"}, "one of static"),
        ({"opcache.jit": "fast"}, "kind and memory"),
        ({"realpath_cache_size": "big"}, "a size"),
        ({"opcache.revalidate_freq@nowhere": 60}, "names no pool"),
        ({"memory_limit": 3}, "expected one of"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_rule(values, words):
    with pytest.raises(AdapterError, match=words):
        change(files(), values)


@each_row(
    ("values", "words"),
    [
        ({"pm.max_children": 3}, "names no pool"),
        ({"opcache.memory_consumption@shop": 64}, "counts for the whole server"),
        ({"opcache.enable@shop": True}, "counts for the whole server"),
    ],
)
def test_with_several_pools_a_value_needs_the_right_scope(values, words):
    with pytest.raises(AdapterError, match=words):
        change(files(TWO), values)


def test_with_several_pools_one_may_get_an_ini_value_of_its_own():
    assert changed_lines(files(TWO), {"realpath_cache_ttl@www": 600}) == [
        "+php_admin_value[realpath_cache_ttl] = 600"
    ]


LEVELS = {
    "pm": st.sampled_from(["static", "dynamic", "ondemand"]),
    "pm.max_children": st.integers(1, 300),
    "pm.max_requests": st.integers(0, 9999),
    "listen.backlog": st.integers(-1, 4096),
    "process_control_timeout": st.integers(0, 60),
    "opcache.enable": st.booleans(),
    "opcache.memory_consumption": st.integers(8, 512),
    "opcache.revalidate_freq": st.integers(0, 60),
    "opcache.jit": st.sampled_from(["off", "tracing/64M", "function/16M"]),
    "realpath_cache_size": st.sampled_from(["4M", "16384K"]),
    "zend.assertions": st.integers(-1, 1),
}


@given(
    st.fixed_dictionaries({}, optional=LEVELS),
    st.sampled_from([{}, {OPCACHE: f"{OPCACHE_TEXT}opcache.memory_consumption=64"}]),
)
def test_what_was_asked_for_is_in_force_and_what_was_not_stays(values, changed):
    found = files(changed)
    before = {name: info.default for name, info in PhpFpm().knobs(surveyed(found)).items()}
    changes = change(found, values)
    after = values_in_force(found, changes)
    said = joined(changes.notes)
    for name, level in values.items():
        check(name, level)
    for name, level in after.items():
        if name in values:
            assert level == values[name] or name == "realpath_cache_size"
        elif level != before[name]:
            assert f"`{name}`" in said
    # Asked for once more it is in force already.
    again = MemberFiles(texts=changed_files(found, changes), real=found.real)
    assert change(again, values).edits == ()
    assert MAIN_TEXT.encode().splitlines()[0] in again.texts[MAIN]
