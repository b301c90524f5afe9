import pytest
from tests.conformance.memory_store import MemoryStore
from tests.conformance.store import LoadStoreConformance, StudyStoreConformance


class TestMemoryStore(StudyStoreConformance, LoadStoreConformance):
    @pytest.fixture
    def store(self):
        return MemoryStore()

    @pytest.fixture
    def run_id(self):
        return "1"
