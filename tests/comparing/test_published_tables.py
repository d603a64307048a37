"""Published averages of the grounding tables follow from their published cells, but for a few."""

import pytest

from utils.published import read_published

GROUPS = {
    "Dev": (154, 145),
    "Creative": (198, 143),
    "CAD": (197, 64),
    "Scientific": (144, 110),
    "Office": (177, 53),
    "OS": (107, 89),
}
PLATFORMS = {"mobile": (290, 211), "desktop": (194, 140), "web": (234, 203)}
EXCEPTIONS = {
    # their average differs from their cells; why is not known
    "ScreenSpotPro": {"GUI-ARP-7B", "SE-GUI-3B"},
    # Holo is grouped by data_source, which is wrong for 80 rows; why GUI-ARP differs is not known
    "ScreenSpotV2": {
        "Hcompany/Holo2-30B-A3B",
        "Hcompany/Holo2-8B",
        "Hcompany/Holo2-4B",
        "Holo1.5-72B",
        "Holo1.5-7B",
        "Holo1.5-3B",
        "GUI-ARP-7B",
    },
    # 4.34 is printed for 5.33
    "UIVision": {"MiniCPM-V-8B"},
}


def micro(table, model, rows):
    """The average over all rows that the cells of a model come to."""
    hits = sum(
        texts * table["text"][model][column] + icons * table["icon"][model][column]
        for column, (texts, icons) in rows.items()
    )
    return hits / sum(map(sum, rows.values()))


@pytest.mark.parametrize(
    ("dataset", "rows"), [("ScreenSpotPro", GROUPS), ("ScreenSpotV2", PLATFORMS)]
)
def test_micro_averages_follow_from_the_cells(dataset, rows):
    table = read_published()[dataset]
    others = {
        model
        for model, cells in table["average"].items()
        if abs(micro(table, model, rows) - cells["Overall"]) > 0.1
    }
    assert others == EXCEPTIONS[dataset]
    assert len(table["average"]) >= 25


def test_averages_of_ui_vision_are_means_of_its_splits():
    table = read_published()["UIVision"]
    others = set()
    for model, cells in table["average"].items():
        splits = [table[split][model]["Overall"] for split in ("basic", "functional", "spatial")]
        if abs(sum(splits) / 3 - cells["Overall"]) > 0.06:
            others.add(model)
    assert others == EXCEPTIONS["UIVision"]


def test_only_single_shot_rows_stand_beside_a_result():
    names = read_published()["ScreenSpotPro"]["average"]
    assert not [name for name in names if "zoom" in name.lower() or "agentic" in name.lower()]
