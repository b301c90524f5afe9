"""From recorded output of Apache 2.4.71 (Debian)."""

from tests.rows import each_row

from httpdyno.report.shared.message import text
from httpdyno.servers.apache.in_force import (
    Directive,
    adjustments,
    directives,
    effective,
    processes_at_start,
    status_paths,
)
from httpdyno.servers.stack.service import difference

DUMP = """\
# In file: /r/httpd.conf
#   3:
PidFile /r/httpd.pid
#  15:
StartServers 5
# In file: /r/base.conf
#   1:
KeepAlive off
#   2:
<IfModule prefork.c>
  #   3:
  MaxRequestWorkers 10
</IfModule>
#   5:
<Directory /r/site>
  #   6:
  AllowOverride None
  #   7:
  <Files ~ "\\.asp$">
    #   8:
    EnableSendfile On
  </Files>
</Directory>
# In file: /r/httpd.conf
#  20:
MaxRequestWorkers 300
"""
CLIPPED = (
    "AH00180: WARNING: MaxRequestWorkers of 300 exceeds ServerLimit value of 50 servers, "
    "decreasing MaxRequestWorkers to 50. To increase, please see the ServerLimit directive.\n"
)
LIMITED = (
    "AH00175: WARNING: ServerLimit of 400000 exceeds compile-time limit of 200000 servers, "
    "decreasing to 200000.\n"
)
RAISED = "AH00182: WARNING: MaxRequestWorkers of 0 not allowed, increasing to 1.\n"


def test_directives_come_in_order_with_the_section_they_stand_in():
    found = directives(DUMP)
    assert found[:3] == [
        Directive(name="PidFile", arguments="/r/httpd.pid", section=""),
        Directive(name="StartServers", arguments="5", section=""),
        Directive(name="KeepAlive", arguments="off", section=""),
    ]
    assert found[3].section == "", "a condition is no section"
    assert found[4].section == "<Directory /r/site>"
    assert found[5].section == '<Files ~ "\\.asp$">'
    assert found[6] == Directive(name="MaxRequestWorkers", arguments="300", section="")


@each_row(
    ("words", "expected"),
    [
        (CLIPPED, {"MaxRequestWorkers": 50}),
        (LIMITED, {"ServerLimit": 200000}),
        (RAISED, {"MaxRequestWorkers": 1}),
        (LIMITED + CLIPPED, {"ServerLimit": 200000, "MaxRequestWorkers": 50}),
        ("[core:notice] AH00094: Command line: 'apache2'", {}),
    ],
)
def test_what_apache_says_that_it_changed_is_understood(words, expected):
    assert adjustments(words) == expected


def complaint(dump, asked, words=""):
    found = effective(dump, words, asked)
    different = difference(found.values, found.asked)
    return "" if different is None else text(different)


def test_the_last_of_several_holds_and_on_and_off_are_written_one_way():
    found = effective(DUMP, "", {})
    assert found.values["MaxRequestWorkers"] == "300"
    assert found.values["KeepAlive"] == "Off"
    assert "PidFile" not in found.values, "only knobs"


def test_workers_over_the_servers_limit_are_not_what_was_asked():
    assert complaint(DUMP, {"MaxRequestWorkers": "300"}) == ""
    assert complaint(DUMP, {"MaxRequestWorkers": "300"}, CLIPPED) == (
        "MaxRequestWorkers is 50 where 300 was asked"
    )


@each_row(
    ("least", "most", "in_force"),
    [(8, 6, "9"), (8, 8, "9"), (8, 9, "9"), (8, 10, "10"), (None, 3, "6"), (None, 6, "6")],
)
def test_most_spares_are_always_above_least_spares(least, most, in_force):
    dump = f"MinSpareServers {least}\n" if least else ""
    found = effective(dump + f"MaxSpareServers {most}\n", "", {})
    assert found.values["MaxSpareServers"] == in_force


def test_no_more_servers_start_than_may_run():
    dump = "StartServers 9\nMaxRequestWorkers 4\n"
    assert complaint(dump, {"StartServers": "9"}) == "StartServers is 4 where 9 was asked"


def test_a_directive_that_is_not_in_force_at_all_is_a_difference():
    assert complaint("", {"KeepAlive": "On"}) == "KeepAlive is not set where On was asked"


def test_a_section_that_says_otherwise_is_a_difference():
    assert complaint(DUMP + "EnableSendfile Off\n", {"EnableSendfile": "Off"}) == (
        'EnableSendfile is Off (On in <Files ~ "\\.asp$">) where Off was asked'
    )
    assert complaint(DUMP + "EnableSendfile On\n", {"EnableSendfile": "On"}) == ""


@each_row(("written", "taken"), [("soon", "0"), ("12s", "12"), ('"30"', "30")])
def test_numbers_are_read_as_apache_reads_them(written, taken):
    assert effective(f"Timeout {written}\n", "", {}).values["Timeout"] == taken


UNEVEN = (
    "AH00513: WARNING: MaxRequestWorkers of 30 is not an integer multiple of ThreadsPerChild of "
    "25, decreasing to nearest multiple 25, for a maximum of 1 servers.\n"
)
TOO_FEW = (
    "AH00511: WARNING: MaxRequestWorkers of 10 is less than ThreadsPerChild of 25, increasing to "
    "25. MaxRequestWorkers must be at least as large as the number of threads in a single server.\n"
)
TOO_MANY = (
    "AH00515: WARNING: MaxRequestWorkers of 1000 would require 40 servers and would exceed "
    "ServerLimit of 16, decreasing to 400. To increase, please see the ServerLimit directive.\n"
)
LIMITED_THREADS = (
    "AH00507: WARNING: ThreadsPerChild of 100 exceeds ThreadLimit of 64 threads, decreasing to 64. "
    "To increase, please see the ThreadLimit directive.\n"
    "AH00513: WARNING: MaxRequestWorkers of 400 is not an integer multiple of ThreadsPerChild of "
    "64, decreasing to nearest multiple 384, for a maximum of 6 servers.\n"
)


@each_row(
    ("mpm", "dump", "words", "n_processes"),
    [
        ("prefork", "", "", 5),
        ("prefork", "MaxRequestWorkers 3", "", 3),
        ("prefork", "StartServers 8", "", 8),
        ("event", "", "", 3),
        ("worker", "", "", 3),
        ("event", "StartServers 30", "", 16),
        ("event", "MaxRequestWorkers 30", UNEVEN, 1),
        ("event", "MaxRequestWorkers 10", TOO_FEW, 1),
        ("event", "MaxRequestWorkers 1000", TOO_MANY, 3),
        ("event", "StartServers 9\nThreadsPerChild 100", LIMITED_THREADS, 6),
        ("event", "ThreadsPerChild 10\nMaxRequestWorkers 20\nStartServers 5", "", 2),
    ],
)
def test_as_many_processes_start_as_were_seen_to(mpm, dump, words, n_processes):
    assert processes_at_start(mpm, dump, words) == n_processes


@each_row(
    ("dump", "words", "name", "value"),
    [
        ("MaxRequestWorkers 30", UNEVEN, "MaxRequestWorkers", "25"),
        ("MaxRequestWorkers 10", TOO_FEW, "MaxRequestWorkers", "25"),
        ("MaxRequestWorkers 1000", TOO_MANY, "MaxRequestWorkers", "400"),
        ("StartServers 30", "", "StartServers", "16"),
    ],
)
def test_what_a_threaded_module_makes_of_a_number_is_in_force(dump, words, name, value):
    assert effective(dump, words, {}, mpm="event").values[name] == value


def test_places_of_the_scoreboard_are_found_by_path_alone():
    dump = """
<Location "/server-status">
  SetHandler server-status
</Location>
<VirtualHost *:80>
  <Location /own>
    SetHandler "server-status"
  </Location>
</VirtualHost>
<LocationMatch "/any">
  SetHandler server-status
</LocationMatch>
<Location /info>
  SetHandler server-info
</Location>
<Location ~ "/a b">
  SetHandler server-status
</Location>
"""
    assert status_paths(dump) == ("/server-status?auto", "/own?auto")


def test_the_mpm_is_what_the_log_says_and_asked_for_only_where_it_is_a_knob():
    words = "[Tue Nov 24 22:00:00.1 2026] [mpm_event:notice] [pid 7:tid 7] AH00489: Apache/2.4.71\n"
    found = effective("", words, {"mpm": "worker"}, mpm="worker")
    different = difference(found.values, found.asked)
    assert different is not None
    assert text(different) == "mpm is event where worker was asked"
    assert "mpm" not in effective("", words, {}).values
