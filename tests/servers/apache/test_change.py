import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row
from tests.servers.apache.sample import (
    EVENT,
    MAIN,
    PREFORK,
    changed,
    difference,
    files,
    surveyed,
    text_of,
)

from httpdyno.advice.knob import rules
from httpdyno.advice.proposal import Offered, Shape, chosen
from httpdyno.errors import AdapterError
from httpdyno.report.shared import message
from httpdyno.servers.apache import Apache
from httpdyno.servers.stack.snapshot import edited_files

OVERRIDING = """LoadModule mpm_event_module m/mod_mpm_event.so
DocumentRoot /srv/shop
<Directory "/srv/shop">
  AllowOverride All
  Require all granted
</Directory>
"""
HTACCESS = {
    "/srv/shop/.htaccess": "Options -Indexes\r\n",
    "/srv/shop/a b/.htaccess": "DirectoryIndex x.html",
}


CLIPPED = PREFORK.replace("150", "400")


def test_workers_that_the_limit_cuts_are_a_level_that_takes_a_higher_limit():
    survey = surveyed(files(CLIPPED))
    assert Apache().knobs(survey)["MaxRequestWorkers"].default == 256
    assert difference(files(CLIPPED), {"MaxRequestWorkers": 256}) == []
    assert difference(files(CLIPPED), {"MaxRequestWorkers": 400}) == ["+    ServerLimit 400"]
    # What was not read may raise it.
    unknown = surveyed(files(f"{CLIPPED}Include ${{nowhere}}/x.conf\n"))
    assert Apache().knobs(unknown)["MaxRequestWorkers"].default == 400


@each_row(
    ("main", "values", "lines"),
    [
        (EVENT, {"KeepAlive": True}, []),
        (EVENT, {"KeepAlive": False}, ["-KeepAlive On", "+KeepAlive Off"]),
        (EVENT, {"KeepAliveTimeout": 2}, ["+KeepAliveTimeout 2"]),
        (EVENT, {"KeepAliveTimeout": 5}, []),  # what is compiled in
        (
            EVENT,
            {"MaxRequestWorkers": 800},
            ["-MaxRequestWorkers 150", "+MaxRequestWorkers 800", "+ServerLimit 32"],
        ),
        (
            EVENT,
            {"ThreadsPerChild": 100},
            [
                *("-MaxSpareThreads 75", "-ThreadsPerChild 25", "-MaxRequestWorkers 150"),
                *("+MaxSpareThreads 125", "+ThreadsPerChild 100", "+ThreadLimit 100"),
                "+MaxRequestWorkers 200",
            ],
        ),
        (
            PREFORK,
            {"MaxRequestWorkers": 300},
            [
                "-    MaxRequestWorkers  150",
                "+    MaxRequestWorkers  300",
                "+    ServerLimit 300",
            ],
        ),
        (
            EVENT,
            {"spare_servers": "narrow"},
            [
                *("-StartServers 2", "-MaxSpareThreads 75"),
                *("+StartServers 1", "+MaxSpareThreads 50"),
            ],
        ),
        # Between 25 and 75 idle threads, 25 to a process; between 5 and 10 processes.
        (
            EVENT.replace("s 2\n", "s 9\n"),
            {"spare_servers": "between"},
            ["-StartServers 9", "+StartServers 2"],
        ),
        (PREFORK, {"spare_servers": "between"}, ["+    StartServers 7"]),
        (
            PREFORK,
            {"spare_servers": "narrow"},
            ["+    StartServers 1", "+    MinSpareServers 1", "+    MaxSpareServers 2"],
        ),
    ],
)
def test_a_change_is_as_small_as_can_be(main, values, lines):
    assert sorted(difference(files(main), values)) == sorted(lines)


def test_what_nothing_sets_is_written_after_what_it_goes_with():
    text = "\tKeepAlive On\r\n# end\r\n"
    main = "LoadModule mpm_event_module m/x.so\r\n" + text
    after = edited_files(
        files(main).texts, changed(files(main), {"KeepAliveTimeout": 2, "ListenBacklog": 99}).edits
    )
    assert after[MAIN].decode() == main.replace(
        "\tKeepAlive On\r\n", "\tKeepAlive On\r\n\tKeepAliveTimeout 2\r\n\tListenBacklog 99\r\n"
    )


def test_of_a_cache_only_the_size_changes_and_its_place_may_be_another_edit():
    main = EVENT + "LoadModule ssl_module m/x.so\nSSLSessionCache shmcb:${RUN}/cache(512000)\n"
    (edit,) = changed(files(main), {"SSLSessionCache": "5242880"}).edits
    assert main[edit.start : edit.end] == "512000"
    assert edit.text == "5242880"
    assert difference(files(main), {"SSLSessionCache": "none"})[1] == "+SSLSessionCache none"


@each_row(
    ("main", "values", "words"),
    [
        (EVENT, {"MaxRequestWorkers": 160}, "no multiple of ThreadsPerChild 25"),
        (EVENT, {"ThreadsPerChild": 64, "MaxRequestWorkers": 150}, "no multiple"),
        (EVENT, {"KeepAlive": "off"}, "expected true or false"),
        (EVENT, {"MinSpareServers": 3}, "no knob of Apache"),
        (PREFORK, {"ThreadsPerChild": 3}, "cannot be set in this server"),
        (EVENT, {"htaccess": "inlined"}, "cannot be set in this server"),
        (EVENT, {"ListenBacklog": 65_535_000}, "expected at most"),
    ],
)
def test_what_apache_would_change_or_refuse_is_refused(main, values, words):
    with pytest.raises(AdapterError, match=words):
        changed(files(main), values)


def test_what_a_macro_sets_is_no_knob():
    text = """LoadModule mpm_event_module m/x.so
<Macro wait $s>
KeepAliveTimeout $s
</Macro>
Use wait 9
"""
    survey = surveyed(files(text))
    assert text_of(survey, "KeepAliveTimeout") == "9"
    assert "KeepAliveTimeout" not in Apache().knobs(survey)
    assert any("cannot be changed" in message.text(notice.why) for notice in survey.notices)


@given(
    st.dictionaries(
        st.sampled_from(["KeepAliveTimeout", "MaxKeepAliveRequests", "MaxConnectionsPerChild"]),
        st.integers(0, 3600),
    ),
    st.booleans(),
)
def test_after_a_change_all_that_was_asked_is_found(numbers, keep_alive):
    values = {**numbers, "KeepAlive": keep_alive}
    before = files(EVENT)
    after = edited_files(before.texts, changed(before, values).edits)
    again = files(after.get(MAIN, EVENT.encode()).decode())
    knobs = Apache().knobs(surveyed(again))
    assert {name: knobs[name].default for name in values} == values
    assert changed(again, values).edits == ()


def test_files_that_override_are_written_after_the_section_that_lets_them():
    before = files(OVERRIDING, HTACCESS)
    assert Apache().knobs(surveyed(before))["htaccess"].effect == "visible"
    after = edited_files(before.texts, changed(before, {"htaccess": "inlined"}).edits)
    assert after[MAIN].decode() == OVERRIDING.replace("AllowOverride All", "AllowOverride None") + (
        "<Directory /srv/shop>\nOptions -Indexes\n</Directory>\n"
        '<Directory "/srv/shop/a b">\nDirectoryIndex x.html\n</Directory>\n'
    )


@each_row(
    "also",
    [
        '<Directory "/srv/shop/a b">\nOptions None\n</Directory>\n',
        "<VirtualHost *:80>\n<Directory /srv/shop>\nAllowOverride None\n</Directory>\n"
        "</VirtualHost>\n",
        "<VirtualHost *:80>\n<Directory /srv/shop>\nRequire all granted\n</Directory>\n"
        "</VirtualHost>\n",
    ],
)
def test_where_inlined_files_could_come_in_another_order_they_are_not_offered(also):
    survey = surveyed(files(OVERRIDING + also, HTACCESS))
    assert "htaccess" not in Apache().knobs(survey)
    assert any("2 `.htaccess` files" in message.text(notice.why) for notice in survey.notices)


def test_inlining_is_only_listed_until_somebody_allows_it():
    survey = surveyed(files(OVERRIDING, HTACCESS))
    knobs = Apache().knobs(survey)
    offered = Offered(
        kind="apache", survey=survey, knobs=knobs, shape=Shape(n_cpus=2, connections=16)
    )
    proposed = [each for rule in rules("apache") for each in rule(offered)]
    assert "htaccess" in [each.name for each in chosen(proposed, knobs).listed]
    assert "htaccess" in [each.name for each in chosen(proposed, knobs, allowed=["inline"]).tried]
