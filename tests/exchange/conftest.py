"""What tests of imports share."""

import pytest

from tests.support import runs


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A data root with six rows of the second level, on three images."""
    return runs.make_data(tmp_path_factory.mktemp("data"))
