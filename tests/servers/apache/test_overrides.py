import os

from httpdyno.model import Member, Survey
from httpdyno.servers.apache import Apache

CONFIG = """LoadModule mpm_event_module m/x.so
DocumentRoot {root}
<Directory {root}>
  AllowOverride All
</Directory>
<Directory {root}/uploads>
  AllowOverride None
</Directory>
"""


def read(folder):
    """Return the member's files, and the `.htaccess` files by what they lie below."""
    main = folder / "httpd.conf"
    main.write_text(CONFIG.format(root=folder / "www"))
    return Apache().read(Member(name="front", kind="apache", main=str(main)))


def put(folder, *places):
    for place in places:
        file = folder / "www" / place / ".htaccess"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Options -Indexes\n")


def knobs(files):
    member = Member(name="front", kind="apache", main=next(iter(files.texts)))
    survey = Apache().survey(member, files, None)
    assert isinstance(survey, Survey)
    return Apache().knobs(survey)


def test_files_are_found_where_apache_looks_for_them(tmp_path):
    put(tmp_path, "", "a/b", "uploads/x")
    files = read(tmp_path)
    found = [path.removeprefix(f"{tmp_path}/www/") for path in files.texts if ".ht" in path]
    assert sorted(found) == [".htaccess", "a/b/.htaccess"]
    assert files.unreadable == ()
    assert "htaccess" in knobs(files)


def test_behind_a_link_there_may_be_more_so_they_are_not_inlined(tmp_path):
    put(tmp_path, "", "uploads")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "www/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "www/uploads/linked").symlink_to(tmp_path / "elsewhere")
    files = read(tmp_path)
    assert files.unreadable == (f"{tmp_path}/www/linked/.htaccess",)
    assert "htaccess" not in knobs(files)


def test_a_name_that_is_no_utf_8_is_told_as_text(tmp_path):
    put(tmp_path, "")
    put(tmp_path, os.fsdecode(b"\xe9t\xe9"))
    files = read(tmp_path)
    assert files.unreadable == (
        f"{tmp_path}/www/\N{REPLACEMENT CHARACTER}t\N{REPLACEMENT CHARACTER}/.htaccess",
    )
    assert "htaccess" not in knobs(files)
