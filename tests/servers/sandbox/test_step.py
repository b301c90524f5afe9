from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.servers.sandbox.holder import packed, unpacked
from httpdyno.servers.sandbox.mount import unescaped

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VERBS = st.sampled_from(["keep", "hold", "freeze", "overlay", "unlink"])


@given(st.lists(st.tuples(VERBS, st.lists(TEXTS))))
def test_steps_are_read_as_they_were_written(found):
    steps = [(verb, *fields) for verb, fields in found]
    assert unpacked(packed(steps)) == steps


@each_row(
    ("field", "path"),
    [
        (b"/srv", "/srv"),
        (rb"/a\040b\134c", "/a b\\c"),
        (rb"\040", " "),
        (rb"/caf\303\251", "/café"),
        (b"/\xff", "/\udcff"),
    ],
)
def test_a_mount_point_is_read_as_the_kernel_writes_it(field, path):
    assert unescaped(field) == path
