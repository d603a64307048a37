"""Pages of episodes of tasks with tiers: every count leads to exactly its episodes."""

import pytest

from tests.live.test_graded_episodes import half_done
from tests.support.browser import tabs_of
from tests.support.counted_links import counted_links, counts_of_comparison
from tests.support.graded import ENVIRONMENT
from tests.support.mock_server import MockServer
from tests.support.runs import api_model
from tests.support.stage import Stage

L3 = "GUITaskAutomation"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Two models that do the same."""
    home = tmp_path_factory.mktemp("tiers")
    with MockServer(half_done) as server:
        models = {name: api_model(server.url) for name in "mn"}
        stage = Stage(home, server, models, {L3: {"environment": ENVIRONMENT, "max_steps": 20}})
        assert stage.run().code == 0
    return stage.work_dir


@pytest.fixture
def open_tab(browser, outputs):
    with tabs_of(browser) as open_:
        yield lambda pattern: open_(next(outputs.glob(pattern)))


def test_of_a_report(open_tab):
    links = counted_links(open_tab("m/T*/report/index.html"))
    assert [link for link in links if link.is_wrong] == []
    tiers = {link.href.partition("check=")[2] for link in links if link.kind == "scores"}
    assert {"tier%3A+basic", "tier%3A+standard", "tier%3A+long"} <= tiers


def test_of_a_comparison(open_tab):
    counts = counts_of_comparison(open_tab("comparisons/*/comparison.html"))
    assert [link for link in counts if link.is_wrong] == []
    assert any("tier=long" in link.href for link in counts)
