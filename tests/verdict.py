"""How many tests passed, failed and were skipped, and the gate's last lines."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of tests; `tried_again` are in one of the others, too."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    tried_again: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Return both together."""
        mine, others = asdict(self), asdict(other)
        return Counts(**{name: mine[name] + others[name] for name in mine})

    def with_one_tried_again(self) -> "Counts":
        """Return the same after one more was tried again."""
        return replace(self, tried_again=self.tried_again + 1)

    def with_one_mended(self) -> "Counts":
        """Return the same after one that had failed passed."""
        return replace(self, passed=self.passed + 1, failed=self.failed - 1)

    def of_step(self, status: int) -> "Counts":
        """Return the same of a step that ended so; failing without a failed test is a failure."""
        return replace(self, failed=self.failed or int(status != 0))

    def ending(self) -> str:
        """Return the last lines."""
        return (
            f"tests tried again: {self.tried_again}\n"
            f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        )

    def write(self, file: Path) -> None:
        """Keep them for who started the tests."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> "Counts":
        """Return what was kept; nothing, where the tests did not come to their end."""
        return cls(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else cls()
