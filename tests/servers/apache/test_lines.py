from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.servers.apache.text import Places, lines_of, quoted, words

# Newlines, joints and quotes come often: that is where lines are lost.
TEXTS = st.lists(
    st.sampled_from(
        [b"\n", b"\\\n", b"\\\r\n", b"\r\n", b" ", b"\t", b"#", b"Listen", b"<If a>", b"\xff"]
    )
).map(b"".join)


def test_a_continued_line_is_named_by_its_last_number():
    text = b"# first \\\nKeepAlive Off\n  keepalivetimeout \\\n   7  \nListen 80"
    assert [(line.name, line.arguments, line.first, line.number) for line in lines_of(text)] == [
        ("keepalivetimeout", "7", 3, 4),
        ("Listen", "80", 5, 5),
    ]


@each_row(
    ("text", "name", "arguments"),
    [
        (b"KeepAlive On\r\n", "KeepAlive", b"On"),
        (b'  ErrorLog "/a b/c"  \n', "ErrorLog", b'"/a b/c"'),
        (b"<VirtualHost *:80>\n", "<VirtualHost", b"*:80"),
        (b"<If>\n", "<If", b""),
        (b"</VirtualHost>\n", "</VirtualHost>", b""),
        (b"SSLEngine", "SSLEngine", b""),
        (b"Listen \\\n80\n", "Listen", b"80"),
        (b"<FilesMatch \\.php$>\n", "<FilesMatch", b"\\.php$"),
    ],
)
def test_arguments_are_a_span_of_the_file(text, name, arguments):
    (line,) = lines_of(text)
    assert line.name == name
    assert text[line.arguments_start : line.arguments_end] == arguments


@given(TEXTS)
def test_lines_lie_in_order_and_hold_no_newline_but_a_continued_one(text):
    reached = 0
    for line in lines_of(text):
        assert reached <= line.start < line.end <= len(text)
        assert line.start <= line.arguments_start <= line.arguments_end <= len(text)
        inside = text[line.start : line.end].replace(b"\\\r\n", b"").replace(b"\\\n", b"")
        assert b"\n" not in inside
        assert line.number == text.count(b"\n", 0, line.end) + 1
        reached = line.end


@each_row(
    ("arguments", "split"),
    [
        ("a  b", ["a", "b"]),
        ('"a b" c', ["a b", "c"]),
        (r'"%h \"%r\"" combined', ['%h "%r"', "combined"]),
        ("'a b'", ["a b"]),
        ('""', [""]),
        (r"^/(.*)\.php$ x", [r"^/(.*)\.php$", "x"]),
    ],
)
def test_arguments_are_split_as_apache_does(arguments, split):
    assert words(arguments) == split


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_what_is_quoted_is_one_word_again(word):
    assert words(quoted(word)) == [word]


def test_a_place_that_is_not_in_a_file_has_no_span():
    places = Places({"/a": b"KeepAlive On\n"})
    assert places.origin("/a", 1, "keepalive").start == len("KeepAlive ")
    for file, line, name in (("-c/-C directives", 1, "KeepAlive"), ("/a", 1, "Listen")):
        origin = places.origin(file, line, name)
        assert (origin.start, origin.end) == (0, 0)
