"""Lines of /proc/PID/task/TID/syscall, as two machines write them."""

from tests.rows import each_row

from httpdyno.telemetry.profile.wait import _TABLES, RUNNING, Kind, call, kinds

REST = b"0x7f01 0x2 0x0 0x0 0x0 0x7ffd27b5bc08 0x7fdb23dd82ad\n"


@each_row(
    ("number", "kind"),
    [
        (43, Kind.ACCEPT),
        (288, Kind.ACCEPT),
        (232, Kind.EVENTS),
        (281, Kind.EVENTS),
        (7, Kind.POLL),
        (271, Kind.POLL),
        (23, Kind.SELECT),
        (0, Kind.READ),
        (45, Kind.READ),
        (1, Kind.WRITE),
        (40, Kind.SEND_FILE),
        (42, Kind.CONNECT),
        (202, Kind.FUTEX),
        (72, Kind.RECORD_LOCK),
        (73, Kind.FILE_LOCK),
        (65, Kind.SEMAPHORE),
        (61, Kind.CHILD),
        (435, Kind.CHILD),
        (230, Kind.SLEEP),
        (74, Kind.DISK),
        (2, Kind.OTHER),
        (9999, Kind.OTHER),
    ],
)
def test_a_number_says_what_is_waited_for(number, kind):
    assert call(b"%d 0x5 %s" % (number, REST), kinds("x86_64")).kind is kind


@each_row(
    ("number", "kind"),
    [(202, Kind.ACCEPT), (22, Kind.EVENTS), (63, Kind.READ), (98, Kind.FUTEX), (43, Kind.OTHER)],
)
def test_another_machine_has_other_numbers(number, kind):
    assert call(b"%d 0x5 %s" % (number, REST), kinds("aarch64")).kind is kind


def test_no_number_has_two_kinds():
    for machine, table in _TABLES.items():
        assert len(kinds(machine)) == sum(map(len, table.values()))
    assert kinds("riscv64") == {}


def test_arguments_are_those_of_the_call():
    found = call(b"0 0x5 " + REST, kinds("x86_64"))
    assert found.arguments == (5, 0x7F01, 2, 0, 0, 0)
    assert found.stack_pointer == 0x7FFD27B5BC08


def test_who_is_in_no_call_runs_or_waits_for_a_page():
    assert call(b"running\n", kinds("x86_64")) is RUNNING
    assert call(b"-1 0x7ffd27b5bc08 0x7fdb23dd82ad\n", kinds("x86_64")).kind is Kind.NONE
    assert call(b"", kinds("x86_64")).kind is Kind.NONE


def test_a_program_of_32_bits_is_not_read_by_the_wrong_table():
    text = b"43 0x5 0x0 0x0 0x0 0x0 0x0 0xffd12340 0xf7f01234\n"
    assert call(text, kinds("x86_64")).kind is Kind.OTHER
