"""Plug-in parts by name."""

from importlib.metadata import EntryPoint

import pytest

from httpdyno import registry
from httpdyno.errors import AdapterError, UsageError


class Here:
    """A server adapter as far as the registry looks."""

    name = "here"
    is_made = True


@pytest.fixture
def registered(monkeypatch):
    """Register one adapter that can be loaded and two that cannot."""
    points = {
        name: EntryPoint(name=name, value=value, group=registry.SERVER_GROUP)
        for name, value in (
            ("here", "tests.test_registry:Here"),
            ("gone", "tests.no_such_module:Gone"),
            ("absent", "tests.test_registry:Absent"),
        )
    }

    def entry_points(*, group):
        return tuple(points.values()) if group == registry.SERVER_GROUP else ()

    monkeypatch.setattr(registry, "entry_points", entry_points)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


def test_the_bundled_servers_are_registered_like_any_other():
    assert set(registry.adapter_names()) >= {"apache", "gunicorn"}


@pytest.mark.parametrize("name", ["apache", "gunicorn"])
def test_each_bundled_adapter_can_be_made_and_says_its_own_name(name):
    adapter = registry.load_adapter(name)
    assert adapter.name == name
    assert all(key == info.name for key, info in adapter.knobs().items())


def test_names_are_sorted(registered):
    assert registry.adapter_names() == ("absent", "gone", "here")


def test_an_adapter_is_made_from_its_class(registered):
    assert registry.load_adapter("here").name == "here"


def test_an_unknown_adapter_lists_the_known(registered):
    with pytest.raises(UsageError, match="`ngnix`") as caught:
        registry.load_adapter("ngnix")
    assert "`absent`, `gone`, `here`" in caught.value.hint


@pytest.mark.parametrize("name", ["gone", "absent"])
def test_an_adapter_that_cannot_be_imported_is_named(registered, name):
    with pytest.raises(AdapterError, match=f"`{name}`.*cannot be imported"):
        registry.load_adapter(name)
