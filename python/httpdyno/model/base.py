"""What all domain types share: frozen, keyword-only, strict about unknown fields."""

import msgspec

Level = bool | int | float | str
"""A value that a knob can have."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the domain types. Two equal records are the same thing."""
