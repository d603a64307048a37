"""The audit that names a server which answers differently from the others."""

import random

import pytest

from utils.analysis.columns import AuditSettings, SampleColumns
from utils.analysis.server_audit import difference_of, server_audit


def samples(count, *, of_an_image=2, servers=("n1:1", "n2:1", "n3:1"), seed=0, **odd):
    """Samples on `count` images; `odd`: the share of an event at the last server."""
    chance = random.Random(seed)
    columns = SampleColumns()
    for image in range(count):
        for _ in range(of_an_image):
            server = chance.choice(servers)
            shares = {"hit": 0.7, "unparsed": 0.02, "cut_off": 0.01}
            if server == servers[-1]:
                shares |= odd
            unparsed = chance.random() < shares["unparsed"]
            hit = not unparsed and chance.random() < shares["hit"]
            columns.add(
                {
                    "image": f"{image}.png",
                    "hit": int(hit),
                    "verdict": "unparsed" if unparsed else "hit" if hit else "miss",
                    "finish_reason": "length" if chance.random() < shares["cut_off"] else "stop",
                    "server": server,
                }
            )
    return columns


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"hit": 0.3}, "% hits on n3:1, "),
        ({"unparsed": 0.4}, "% unparsed replies on n3:1, "),
        ({"cut_off": 0.3}, "% replies cut off on n3:1, "),
    ],
    ids=["hits", "unparsed", "cut-off"],
)
def test_a_server_that_answers_differently_is_named(odd, words):
    section = server_audit(samples(300, **odd), AuditSettings())
    texts = [finding.text for finding in section["findings"] if finding.row == "n3:1"]
    assert any(text.startswith("n3:1 answers differently") and words in text for text in texts)
    assert any("--retry-server n3:1" in text for text in texts)


def test_servers_that_answer_alike_are_seldom_named():
    named = sum(
        bool(server_audit(samples(60, seed=seed), AuditSettings())["findings"])
        for seed in range(200)
    )
    assert named / 200 <= 0.08


def test_equal_samples_of_one_image_count_once():
    """Ten copies of each sample, all with one server: the same difference is no surer."""
    values = [float(image % 3 == 0) for image in range(60)]
    is_its = [image % 2 == 0 for image in range(60)]
    once = difference_of(values, is_its, list(range(60)))
    copied = difference_of(
        [value for value in values for _ in range(10)],
        [its for its in is_its for _ in range(10)],
        [image for image in range(60) for _ in range(10)],
    )
    assert copied == pytest.approx(once)


def test_one_server_has_nothing_to_be_compared_with():
    assert server_audit(samples(30, servers=("n1:1",)), AuditSettings()) is None
    assert server_audit(SampleColumns(), AuditSettings()) is None


def test_few_images_are_too_few_to_tell():
    section = server_audit(samples(9, of_an_image=30, hit=0.0), AuditSettings())
    assert section["findings"] == []


def test_two_servers_that_differ_are_one_finding_which_accuses_neither():
    section = server_audit(samples(300, servers=("n1:1", "n2:1"), hit=0.3), AuditSettings())
    [finding] = section["findings"]
    assert finding.text.startswith("the two servers answer differently: ")
    assert "% hits on n1:1, " in finding.text and "% on n2:1 (p = " in finding.text
    assert finding.row == "n2:1"  # the weaker one
    assert "--retry-server ADDRESS" in finding.text
    assert [row["name"] for row in section["rows"]] == ["n1:1", "n2:1"]
