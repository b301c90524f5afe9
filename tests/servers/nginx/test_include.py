from pathlib import Path

import crossplane
import pytest
from tests.rows import each_row
from tests.servers.nginx.layouts import DEBIAN, GLOBS, LAYOUTS, SYMLINK_FARM

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import read_file
from httpdyno.servers.nginx.conf import files_of, included, tree_of
from httpdyno.servers.nginx.text import flat, walk
from httpdyno.servers.stack import snapshot

# What crossplane itself says of these it cannot do: Lua without a plug-in, `${a}b` outside of
# quotes, and quotes that are escaped.
NOT_OF_THE_ORACLE = {"lua", "tight", "one-file"}


def names(directives):
    return [
        (d.name, without_parentheses(d), names(d.block) if d.is_block else None)
        for d in flat(directives)
    ]


def without_parentheses(directive):
    # crossplane takes away those of `if (…)`.
    if directive.name != "if":
        return directive.texts
    text = " ".join(directive.texts).removeprefix("(").removesuffix(")")
    return tuple(text.split())


def names_of_oracle(statements):
    return [
        (
            each["directive"],
            tuple(each["args"]),
            names_of_oracle(each["block"]) if "block" in each else None,
        )
        for each in statements
    ]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_is_read_as_nginx_names_its_files(layout, own_folders):
    main = layout.written(own_folders)
    files = files_of(str(main))
    assert next(iter(files.texts)) == str(main)
    for path, text in files.texts.items():
        assert text == Path(path).read_bytes()
    linked = {f"{own_folders}{link}": f"{own_folders}{to}" for link, to in layout.links.items()}
    assert files.real == linked
    ours = {f"{own_folders}{path}" for path in (*layout.files, *layout.links)}
    assert set(files.texts) == ours - set(linked.values())


@pytest.mark.parametrize(
    "layout", [x for x in LAYOUTS if x.name not in NOT_OF_THE_ORACLE], ids=lambda x: x.name
)
def test_the_tree_is_the_one_that_crossplane_sees(layout, own_folders):
    main = str(layout.written(own_folders))
    payload = crossplane.parse(main, combine=True, check_ctx=False, check_args=False, strict=False)
    assert payload["errors"] == []
    ours = names(tree_of(files_of(main).texts))
    assert ours == names_of_oracle(payload["config"][0]["parsed"])


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_tree_from_texts_alone_is_that_from_the_disk(layout, own_folders):
    on_disk = tree_of(files_of(str(layout.written(own_folders))).texts)
    alone = tree_of(layout.texts())
    # Its users are not those of this machine.
    assert [
        (d.name, tuple(text.replace(str(own_folders), "") for text in d.texts))
        for d in walk(on_disk)
        if d.name != "user"
    ] == [(d.name, d.texts) for d in walk(alone) if d.name != "user"]


def test_files_of_a_pattern_come_in_the_order_of_bytes():
    sites = [d for d in walk(tree_of(SYMLINK_FARM.texts())) if d.name == "server_name"]
    assert [d.texts[0] for d in sites] == ["beta.example", "alpha.example", "gamma.example"]


@each_row(
    ("pattern", "expected"),
    [
        ("a.conf", ["/e/a.conf"]),
        ("*.conf", ["/e/a.conf", "/e/b.conf"]),
        (".*", ["/e/.hidden.conf"]),
        ("[!a].conf", ["/e/b.conf"]),
        ("[^a].conf", ["/e/b.conf"]),
        ("?/x", ["/e/1/x"]),
        ("/e/*/y", ["/e/2/y"]),
        ("none/*", []),
        ("missing", ["/e/missing"]),
    ],
)
def test_patterns_match_as_in_c(pattern, expected):
    tree = {"/e": ["b.conf", "a.conf", ".hidden.conf", "1", "2"], "/e/1": ["x"], "/e/2": ["y"]}
    assert included(pattern, "/e", lambda folder: tree.get(folder, [])) == expected


def test_a_file_that_is_named_must_be_there(own_folders):
    main = DEBIAN.written(own_folders)
    mime = own_folders / "etc/nginx/mime.types"
    mime.unlink()
    with pytest.raises(
        AdapterError, match=rf"`{mime}`, included by `{main}` line 2., .*no such"
    ) as refused:
        files_of(str(main))
    assert "take its `include` out" in refused.value.hint
    with pytest.raises(AdapterError, match=r"`/etc/none` cannot be read: no such file"):
        files_of("/etc/none")


def test_a_folder_in_a_pattern_is_refused_as_nginx_refuses_it(own_folders):
    main = DEBIAN.written(own_folders)
    (own_folders / "etc/nginx/conf.d/old.conf").mkdir(parents=True)
    with pytest.raises(AdapterError, match=r"old\.conf`, included by .* line \d+, .*folder"):
        files_of(str(main))


def test_a_file_that_includes_itself_is_named(own_folders):
    main = GLOBS.written(own_folders)
    loop = own_folders / "etc/nginx/http.d/30-loop.conf"
    loop.write_text("\ninclude http.d/30*.conf;\n")
    with pytest.raises(AdapterError, match=rf"`{loop}` line 2 includes `{loop}`"):
        files_of(str(main))


def test_a_file_that_may_not_be_read_asks_for_rights(own_folders, monkeypatch):
    main = DEBIAN.written(own_folders)

    def read(path, *, limit_bytes):
        if path.endswith("mime.types"):
            raise PermissionError(13, "Permission denied")
        return read_file(path, limit_bytes=limit_bytes)

    monkeypatch.setattr(snapshot, "read_file", read)
    with pytest.raises(AdapterError, match=r"mime\.types.*permission denied") as caught:
        files_of(str(main))
    assert "sudo" in caught.value.hint
