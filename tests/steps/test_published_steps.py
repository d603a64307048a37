"""Published figures of recorded steps stand beside one's own only where they were made alike."""

from benchmarks.steps.published import published_figures, published_section
from benchmarks.steps.rules import ALL_RULES

OS_ATLAS = {
    "level": "high",
    "history": "instructions",
    "rule": "os_atlas",
    "rows": "os_atlas",
    "texts": "whole",
}


def differing(dataset="AndroidControl", **protocol):
    """In what each published figure differs, by model and SR."""
    section = published_section(dataset, {**OS_ATLAS, **protocol})
    return {(row["name"], row["SR"]): row["differs in"] for row in section["rows"]}


def test_only_what_agrees_in_rows_rule_and_history_differs_in_nothing():
    rows = differing()
    alike = {name for name, difference in rows.items() if difference == "nothing"}
    assert alike == {("OS-Atlas-4B", 67.5), ("OS-Atlas-7B", 71.2)}
    assert list(rows)[:2] == list(alike) or set(list(rows)[:2]) == alike
    assert rows["UI-TARS-7B", 72.5] == "history: not stated"
    assert rows["InfiGUI-R1-3B", 71.1] == "rows: official, rule: infigui_r1, history: actions"
    assert rows["Magma-R1", 69.1] == ("rule: curated_box, history: not stated, texts: first_word")


def test_rows_that_are_missing_are_a_difference():
    rows = differing(rows="os_atlas, 8 of 7,708")
    assert "nothing" not in rows.values()


def test_levels_are_never_mixed_and_sets_without_rows_of_their_own_ask_for_none():
    assert ("OS-Atlas-7B", 71.2) not in differing(level="low")
    aitz = published_section("AITZ", {"level": "high", "history": "none", "rule": "aitz_agentcpm"})
    assert {row["differs in"] for row in aitz["rows"]} == {"history: not stated"}
    assert published_section("Unknown", OS_ATLAS) is None


def test_every_published_figure_names_its_source_and_a_rule_that_exists():
    figures = published_figures()
    assert len(figures) > 80
    for figure in figures:
        assert figure["source"]
        assert figure["rule"] in (None, *ALL_RULES)
        assert any(figure[name] is not None for name in ("Type", "Grounding", "SR"))
