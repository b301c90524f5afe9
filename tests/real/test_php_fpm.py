"""php-fpm as Debian has it, privately: what each knob costs, and who tells the truth about it."""

import threading
import time
from pathlib import Path

import psutil
import pytest
from tests.servers.php_fpm.seat import copy_of, seated

from httpdyno.errors import AdapterError
from httpdyno.model import Level, Member
from httpdyno.report.shared import message
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.fastcgi import ask

pytestmark = pytest.mark.real_server("php-fpm8.2", "ss")

PROGRAM = "/usr/sbin/php-fpm8.2"
READY = "ready to handle connections"
DEADLINE_S = 15.0
POOL = """[www]
user = www-data
group = www-data
listen = /run/php/private.sock
pm = dynamic
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
"""
OTHERS: dict[str, Level] = {
    "pm": "static",
    "pm.max_children": 4,
    "pm.spare_servers": "3/2/4",
    "pm.max_requests": 500,
    "pm.max_spawn_rate": 7,
    "listen.backlog": 77,
    "process_control_timeout": 3,
    "opcache.enable": True,
    "opcache.memory_consumption": 64,
    "opcache.interned_strings_buffer": 16,
    "opcache.max_accelerated_files": 20_000,
    "opcache.revalidate_freq": 60,
    "opcache.validate_timestamps": False,
    "opcache.jit": "tracing/32M",
    "realpath_cache_size": "8M",
    "realpath_cache_ttl": 600,
    "zend.assertions": 1,
}
"""A level of each knob that Debian does not have; `opcache.enable` is tried apart."""


@pytest.fixture
def php(own_folders):
    """Return what makes a member of a pool's text; its ini files are Debian's."""

    def made(pool=POOL):
        main = own_folders / "php-fpm.conf"
        main.write_text(
            f"[global]\nerror_log = /var/log/not-ours.log\ninclude={own_folders}/*.pool\n"
        )
        (own_folders / "www.pool").write_text(pool)
        return Member(name="php", kind="php-fpm", main=str(main), program=PROGRAM)

    return made


def until(condition, what):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)


def await_ready(copy, *, n_times=1):
    log = copy.seat.folder / "php-fpm" / "error.log"
    until(lambda: log.is_file() and log.read_text().count(READY) >= n_times, "not ready")
    until(lambda: not copy.fresh().lacking(), "children are missing")


def texts(levels):
    return {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in levels.items()}


def reloaded(copy):
    copy.reload()
    await_ready(copy, n_times=2)
    return copy.fresh().effective().values


def test_every_knob_takes_what_its_cost_says(php):
    member, wanted = php(), texts(OTHERS)
    with copy_of(member, {}) as copy:
        await_ready(copy)
        before = copy.fresh().effective().values
        knobs = PhpFpm().knobs(copy.survey)
        assert set(wanted) == set(knobs) == set(before)
        unchanged = {name for name in wanted if wanted[name] == before[name]}
        assert unchanged == {"opcache.enable"}
        copy.write(OTHERS)
        after = reloaded(copy)
    restart = {name for name, info in knobs.items() if info.cost == "restart"}
    assert {name: after[name] for name in knobs if name not in restart} == {
        name: text for name, text in wanted.items() if name not in restart
    }
    assert {name: after[name] for name in restart} == {name: before[name] for name in restart}
    with copy_of(member, {name: OTHERS[name] for name in restart}) as copy:
        await_ready(copy)
        effective = copy.fresh().effective()
        assert {name: effective.values[name] for name in restart} == {
            name: wanted[name] for name in restart
        }


def test_opcache_is_switched_off_and_on_by_a_reload(php):
    with copy_of(php(), {}) as copy:
        await_ready(copy)
        assert copy.fresh().effective().values["opcache.enable"] == "true"
        copy.write({"opcache.enable": False})
        assert reloaded(copy)["opcache.enable"] == "false"


def test_a_pools_value_that_changes_nothing_is_not_believed(php):
    pool = (
        f"{POOL}php_admin_value[opcache.memory_consumption] = 64\n"
        "php_admin_value[opcache.max_accelerated_files] = 100000\n"
        "php_admin_value[opcache.revalidate_freq] = 30\n"
        "php_admin_flag[opcache.enable] = on\n"
    )
    with copy_of(php(pool), {}) as copy:
        await_ready(copy)
        assert len(copy.survey.notices) == 2
        insight = copy.fresh()
        says = insight.php("www")
        assert says is not None
        # PHP's own word for it is the pool's.
        assert says.values["opcache.memory_consumption"] == "64"
        values = insight.effective().values
        assert values["opcache.memory_consumption"] == "128"
        assert values["opcache.max_accelerated_files"] == "room for 16229"
        assert values["opcache.revalidate_freq"] == "30"


def test_a_copy_is_all_there_before_it_is_asked_and_writes_in_its_own_folder(php):
    member = php(POOL.replace("pm = dynamic", "pm = static"))
    with copy_of(member, {"pm.max_children": 3}) as copy:
        await_ready(copy)
        assert len(psutil.Process(copy.process.pid).children()) == 3
        effective = copy.fresh().effective()
        assert (effective.values["pm"], effective.values["pm.max_children"]) == ("static", "3")
        assert effective.asked == {"pm.max_children": "3"}
        assert not Path("/run/php/private.sock").exists()
    assert not Path("/var/log/not-ours.log").exists()


def test_where_no_script_of_ours_may_run_it_is_what_php_reads_that_counts(php):
    pool = f"{POOL}php_admin_value[open_basedir] = /srv\nphp_value[realpath_cache_ttl] = 9\n"
    with copy_of(php(pool), {"opcache.memory_consumption": 64}) as copy:
        await_ready(copy)
        insight = copy.fresh()
        assert insight.php("www") is None
        effective = insight.effective()
        assert effective.values["opcache.memory_consumption"] == "64"
        assert effective.values["realpath_cache_ttl"] == "9"
        assert "php-fpm -i" in message.texts(effective.sources)


def test_all_that_the_kernel_allows_is_what_minus_one_asks_for(php):
    with copy_of(php(f"{POOL}listen.backlog = 5\n"), {"listen.backlog": -1}) as copy:
        await_ready(copy)
        effective = copy.fresh().effective()
        most = Path("/proc/sys/net/core/somaxconn").read_text().strip()
        assert effective.values["listen.backlog"] == effective.asked["listen.backlog"] == most


def test_the_status_page_answers_while_every_child_is_busy(php, own_folders):
    script = own_folders / "slow.php"
    script.write_text("<?php sleep(2); echo 'done';")
    member = php(POOL.replace("pm = dynamic", "pm = static"))
    with copy_of(member, {"pm.max_children": 1}) as copy:
        await_ready(copy)
        insight = copy.fresh()
        address = copy.seat.port("unix:/run/php/private.sock")
        parameters = {"SCRIPT_FILENAME": str(script), "SCRIPT_NAME": "/slow.php"}
        answers = []
        busy = threading.Thread(
            target=lambda: answers.append(ask(address, parameters, timeout_s=20))
        )
        busy.start()
        try:
            until(lambda: insight.status("www").n_active == 1, "nobody is busy")
            assert not answers
        finally:
            busy.join()
        assert answers[0].body == b"done"
        assert insight.status("www").manager == "static"


def test_what_php_fpm_refuses_is_refused_in_its_own_words(php):
    member = php(POOL.replace("pm.max_children = 5", "pm.max_children = 2"))
    with seated() as seat:
        found = PhpFpm().survey(member, PhpFpm().read(member), seat)
    assert isinstance(found, NotRunning)
    assert found.status == "refused"
    assert "cannot be greater than pm.max_children(2)" in text(found.detail)


def test_an_exit_over_its_configuration_is_told_from_a_crash(php):
    with copy_of(php(), {}) as copy:
        await_ready(copy)
        copy.break_files("pm.max_children = 5", "pm.max_children = 2")
        copy.reload()
        assert copy.process.wait(DEADLINE_S)
        insight, exit_code = copy.fresh(), copy.process.exit_code
        words = insight.words()
        assert "pm.max_children(2)" in words
        assert insight.refusal(exit_code, words)
        assert not insight.refusal(-9, words)
        assert not insight.refusal(exit_code, "Address already in use (98)")


def test_a_program_that_is_not_there_is_named(php):
    member = Member(name="php", kind="php-fpm", main=php().main, program="/nowhere/php-fpm8.2")
    files = PhpFpm().read(member)
    with seated() as seat, pytest.raises(AdapterError, match="/nowhere/php-fpm8"):
        PhpFpm().survey(member, files, seat)
