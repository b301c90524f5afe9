import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.servers.php_fpm.configuration import Entry, Section, parsed, truth

FILE = "/etc/php/some.conf"
WORDS = ["pm", "5", "a b", "x.y", "/run/php", '"q; r"', "'s'", '"a\\"b"', "10s", "64M", "%R", '""']


def entries(text, *, by_line=True):
    return [e for e in parsed(text.encode(), file=FILE, by_line=by_line) if isinstance(e, Entry)]


@each_row(
    ("line", "text", "span"),
    [
        ("pm = 3", "3", "3"),
        ("pm=3 ; most", "3", "3"),
        ("pm=3;most", "3", "3"),
        (' pm\t=\t"3" ; x', "3", '"3"'),
        ("pm = '3'", "3", "'3'"),
        ("pm = 3 # no comment", "3 # no comment", "3 # no comment"),
        ('pm = "a ; b"', "a ; b", '"a ; b"'),
        (r'pm = "%R \"%{m}\" %d"', '%R "%{m}" %d', r'"%R \"%{m}\" %d"'),
        ('pm = "x" y', "xy", '"x" y'),
        ("pm = a b  c  ", "a b  c", "a b  c"),
        ("pm = ${HOME}/x", "${HOME}/x", "${HOME}/x"),
        ("pm =", "", ""),
        # PHP drops the rest of such a line.
        ("pm = it's so ; x", "it", "it's so ; x"),
        ("pm = ''", "", "''"),
        ("pm = $pool.sock\r", "$pool.sock", "$pool.sock"),
    ],
)
def test_a_value_is_what_php_makes_of_it_and_its_span_is_where_it_stands(line, text, span):
    [entry] = entries(f"; first\n{line}\n")
    assert (entry.name, entry.text, entry.line) == ("pm", text, 2)
    assert f"; first\n{line}\n"[entry.start : entry.end] == span


def test_names_with_brackets_sections_and_lines():
    text = "[www] ; a pool\nphp_admin_value[memory_limit] = 1\nenv['A']=2\nx[]=3\n[b]y=4"
    found = parsed(text.encode(), file=FILE, by_line=True)
    assert [(i.name, i.line) for i in found if isinstance(i, Section)] == [("www", 1), ("b", 5)]
    assert [(e.name, e.index, e.text, e.line) for e in found if isinstance(e, Entry)] == [
        ("php_admin_value", "memory_limit", "1", 2),
        ("env", "A", "2", 3),
        ("x", "", "3", 4),
        ("y", None, "4", 5),
    ]


def test_a_quoted_value_of_php_ini_may_go_over_lines_and_one_of_php_fpm_not():
    text = 'a = "one\ntwo"\nb = 1\n'
    assert [(e.text, e.line) for e in entries(text, by_line=False)] == [("one\ntwo", 1), ("1", 3)]
    with pytest.raises(AdapterError, match=r"a quote is not closed \(/etc/php/some\.conf:1\)"):
        entries(text)


@each_row(
    ("line", "words"),
    [
        ("[www", "section's name does not end"),
        ('a = "x', "quote is not closed"),
        ("just words", "`just words` has no value"),
        ("a = ${X", r"`\$\{` is not closed"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(line, words):
    with pytest.raises(AdapterError, match=rf"{words} \(/etc/php/some\.conf:3\)"):
        entries(f"a = 1\n\n{line}\n")


def test_switches():
    assert [truth(t) for t in ("On", "1", "yes", "Off", "0", "none", "2")] == [
        *([True] * 3),
        *([False] * 3),
        None,
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(WORDS), st.sampled_from(["", " ", " ; c", ";c"])), max_size=8
    )
)
def test_every_span_holds_its_value_and_replacing_it_changes_that_value_alone(drawn):
    lines = [f"k{i} = {word}{after}\n" for i, (word, after) in enumerate(drawn)]
    text = "".join(lines)
    found = entries(text)
    assert [e.name for e in found] == [f"k{i}" for i in range(len(drawn))]
    for position, entry in enumerate(found):
        assert text[entry.start : entry.end] == drawn[position][0]
        again = entries(f"{text[: entry.start]}new{text[entry.end :]}")
        assert [e.text for e in again] == [
            "new" if i == position else e.text for i, e in enumerate(found)
        ]


READ_BY_LINE = """
foreach (json_decode(stream_get_contents(STDIN)) as $line) $read[] = parse_ini_string($line);
echo json_encode($read);
"""


@pytest.mark.real_server("php")
@pytest.mark.parametrize("after", ["", " ; c"])
def test_php_reads_the_same(after):
    """PHP itself is the oracle: `parse_ini_string` is the scanner to which php-fpm gives lines."""
    words = [*WORDS, "3k", "%R - %u", "a$b", "x\ty", "-1", "010", "0x10", '"it\'s"', "a\\b", "[x]"]
    lines = [f"k = {word}{after}\n" for word in [*words, "it's", "''", "x'y'z"]]
    said = subprocess.run(
        ["php", "-n", "-r", READ_BY_LINE],
        input=json.dumps(lines),
        capture_output=True,
        check=True,
        text=True,
        timeout=20,
    )
    read = [{e.name: e.text for e in entries(line)} for line in lines]
    assert read == json.loads(said.stdout)
