"""Published averages of the grounding tables follow from their published cells, but for a few."""

import pytest

from utils.datasets.published import PROTOCOLS, read_published

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
    # their average differs from their cells; why is not known (GUI-Spotlight's 52.81, of which the
    # cells make 52.75, is 52.8 in the table)
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
SPLITS = ("basic", "functional", "spatial")


def micro(table, model, rows):
    """The average over all rows that the whole numbers of hits of a model's cells come to."""
    hits = sum(
        round(texts * table["text"][model][column] / 100)
        + round(icons * table["icon"][model][column] / 100)
        for column, (texts, icons) in rows.items()
    )
    return 100 * hits / sum(map(sum, rows.values()))


def models_whose_average_differs(dataset, average_of, tolerance):
    table = read_published()[dataset]
    return {
        model
        for model, cells in table["average"].items()
        if abs(average_of(table, model) - cells["Overall"]) > tolerance
    }


@pytest.mark.parametrize(
    ("dataset", "rows", "count"), [("ScreenSpotPro", GROUPS, 89), ("ScreenSpotV2", PLATFORMS, 25)]
)
def test_micro_averages_follow_from_the_cells(dataset, rows, count):
    others = models_whose_average_differs(
        dataset, lambda table, model: micro(table, model, rows), 0.0501
    )
    assert others == EXCEPTIONS[dataset]
    assert len(read_published()[dataset]["average"]) == count


def test_averages_of_ui_vision_are_means_of_its_splits():
    def mean(table, model):
        return sum(table[split][model]["Overall"] for split in SPLITS) / len(SPLITS)

    assert models_whose_average_differs("UIVision", mean, 0.06) == EXCEPTIONS["UIVision"]


def test_averages_of_screenspot_are_means_of_its_cells():
    def mean(table, model):
        return sum(sum(table[kind][model].values()) for kind in ("text", "icon")) / 6

    assert models_whose_average_differs("ScreenSpot", mean, 0.0501) == set()
    assert len(read_published()["ScreenSpot"]["average"]) == 6


def test_rows_of_another_protocol_say_so():
    published = read_published()
    protocols = published[PROTOCOLS]
    names = published["ScreenSpotPro"]["average"]
    looks = ("zoomin", "zoom in", "zoom-in", "agentic", "mvp", "router", "refine")
    several = {name for name in names if any(word in name.lower() for word in looks)}
    assert several < {*protocols["ScreenSpotPro"]}
    assert {"V2P-7B", "Claude (Computer Use)"} < {*protocols["ScreenSpotPro"]}
    assert "MAI-UI-8B" not in protocols["ScreenSpotPro"]
    for dataset, models in protocols.items():
        row_models = {model for row in published[dataset].values() for model in row}
        assert {*models} <= row_models
