"""Studies by name or path."""

import pytest

from httpdyno.catalog import bundled_studies, study_path
from httpdyno.errors import StudyFileError


def test_the_bundled_studies_are_found_by_name():
    assert set(bundled_studies()) >= {"asp-bookmarks", "bookmarks", "maxclients"}
    assert study_path("bookmarks") == bundled_studies()["bookmarks"]


def test_a_study_can_be_a_file_or_its_folder(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text("")
    assert study_path(str(tmp_path)) == file
    assert study_path(str(file)) == file


def test_a_bundled_name_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bookmarks").mkdir()
    assert study_path("bookmarks") == bundled_studies()["bookmarks"]


def test_a_folder_without_a_study_is_named(tmp_path):
    with pytest.raises(StudyFileError, match=r"holds no study\.toml"):
        study_path(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "hint"), [("bokmarks", "did you mean `bookmarks`?"), ("xyz", "`httpdyno study list`")]
)
def test_an_unknown_name_suggests_one(name, hint):
    with pytest.raises(StudyFileError, match=f"`{name}` is neither") as caught:
        study_path(name)
    assert hint in caught.value.hint
