"""`comparison.html` in headless Chromium, opened from disk as a user opens it."""

import shutil
from zipfile import ZipFile

import pytest

from tests.support.browser import DESKTOP, PHONE, Tab, tabs_of
from tests.support.counted_links import counts_of_comparison
from tests.support.finished import L1, L2, l2_set, make_run
from tests.support.report_runs import l1_sample, l2_sample, make_pictures, many_samples
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.datasets.published import read_published
from utils.findings import warning
from utils.geometry.images import image_digest
from utils.pages.comparison import write_page
from utils.pages.report import build_report
from utils.session.compare import main

BAD = "<script>alert(1)</script><img src=x onerror=alert(2)>"
NAMES = ("old", "new <script>alert(1)</script>")
WH = {"os_web/a.png": (400, 300), "os_windows/b.png": (1920, 1080), "os_ios/tall.png": (300, 640)}
A_POINT, B_POINT, BOX = [0.6214, 0.3593], [0.2604, 0.1602], [0.251, 0.1458, 0.2708, 0.1792]
HIT = {"verdict": "hit", "point_frac": [0.2, 0.3]}
MISS, FAR, UNPARSED = {}, {"point_frac": [0.9, 0.9]}, {"verdict": "unparsed", "point_frac": None}
BOTH = [
    (HIT, HIT),
    (HIT, MISS),
    (HIT, FAR),
    (MISS, HIT),
    (MISS, FAR),
    (MISS, MISS),
    (UNPARSED, HIT),
]
WARNING = warning(
    "coordinate_audit.other_frame",
    "read as per mille, the 144 replies with coordinates score 59.69 %",
    detail="as configured 0.69 %",
    topic="coordinate audit",
)
OUTCOMES = {
    "only-a-right": 2,
    "only-b-right": 3,
    "both-wrong-different": 2,
    "both-wrong-same-reply": 1,
    "both-right": 1,
}


def samples_of(side):
    """What one of the two runs (0: A, 1: B) has made of nine instructions and a question."""
    wide = {
        "file_wh": [1920, 1080],
        "box_frac": BOX,
        "point_frac": (A_POINT, B_POINT)[side],
        "split": "advanced",
    }
    first = l2_sample(
        0,
        "os_windows/b.png",
        **wide,
        verdict=("miss", "hit")[side],
        kind="text",
        text=f"Delete {BAD}",
        prediction=f"{'AB'[side]} said {BAD}",
        app=BAD,
    )
    others = [
        l2_sample(n, ("os_web/a.png", "os_ios/tall.png")[n % 2], **changes[side], text=f"Open {n}")
        for n, changes in enumerate(BOTH, 1)
    ]
    failed = {
        "verdict": None,
        "status": "failed",
        "point_frac": None,
        "error": {"class": BAD, "message": BAD},
    }
    others.append(l2_sample(8, "os_web/a.png", text="Fails in A", **(failed, FAR)[side]))
    chosen = (("B", "hit"), ("A", "miss"))[side]
    questions = [
        l1_sample(
            0,
            "os_web/a.png",
            chosen=chosen[0],
            verdict=chosen[1],
            text=f"Why {BAD}?",
            options={"A": BAD, "B": "yes", "C": "no"},
            prediction=f"({chosen[0]}) {BAD}",
        ),
    ]
    return {L1: questions, L2: [first, *others]}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with two runs, their reports, and the page that compares them."""
    home = tmp_path_factory.mktemp("comparison")
    for name, wh in WH.items():
        make_pictures(home / "images", [name], wh)
    runs = []
    for side in (0, 1):
        model = {"model": {"m": {"generate_cfg": {"stop": f"{side} {BAD}"}}}}
        run = make_run(
            home / "out" / "ab"[side] / "T20260101_Gaa",
            samples_of(side),
            manifest={"config": model},
            findings={"coordinate_audit": [WARNING]} if side else {},
        )
        build_report(run, image_root=home / "images", cache=home / "cache")
        runs.append(f"{NAMES[side]}={run}")
    write_page(compare(read_runs(runs)), home / "comparison")
    return home


@pytest.fixture
def open_tab(browser, work):
    own_page = work / "comparison" / "comparison.html"
    with tabs_of(browser) as open_:
        yield lambda address="", page=own_page, **settings: open_(page, address=address, **settings)


def shown(tab):
    """How many samples the list has."""
    return int(tab.page.get_attribute(".pair", "aria-setsize"))


def test_one_that_a_run_has_made_leads_back_to_the_list_of_all_runs(open_tab, work):
    listed = shutil.copytree(work / "comparison", work / "comparisons" / "a_vs_b")
    link = open_tab(page=listed / "comparison.html").page.locator("#to-all")
    assert (link.is_visible(), link.get_attribute("href")) == (True, "../../index.html")
    assert not open_tab().page.locator("#to-all").is_visible()


def test_the_overview_has_the_headline_of_each_data_set_and_who_is_right(open_tab):
    text = open_tab().text("#view-overview").replace("\n", " ")
    expected = ("average", "easy", "too few images", "only A right", "stop", "0 <script>alert(1)")
    assert [word for word in expected if word not in text] == []


def test_an_audit_that_doubts_a_score_stands_beside_the_headline_and_leads_to_the_report(open_tab):
    lines = open_tab().page.locator(".set > .problems")
    expected = WARNING.headline
    assert lines.all_inner_texts() == [f"{NAMES[1]}: {expected}; see its report"] * 2  # L1, L2
    assert lines.first.locator("a").get_attribute("href") == (
        "../out/b/T20260101_Gaa/report/index.html"
    )


def test_every_count_leads_to_exactly_its_samples(open_tab):
    tab = open_tab()
    counts = counts_of_comparison(tab)
    assert len(counts) > 12
    assert [row for row in counts if row.is_wrong] == []
    assert set(tab.texts(".groups tbody td:nth-child(8)")) == {"-"}  # too few images


def test_no_choice_of_a_filter_leaves_those_without_a_value_too(open_tab):
    tab = open_tab(f"#/samples?dataset={L1}")  # its questions have no kind of element
    assert tab.texts("#selects option:first-child") == ["All (10)", "All (1)", "All (1)", "All (1)"]


@pytest.mark.parametrize(("outcome", "count"), OUTCOMES.items())
def test_flips_are_filters_that_live_in_the_address(open_tab, outcome, count):
    tab = open_tab(f"#/samples?outcome={outcome}&dataset={L2}")
    assert shown(tab) == count
    assert tab.text(".chip[aria-pressed=true] b") == str(count)
    tab.press("j")
    address = tab.hash
    assert f"outcome={outcome}" in address
    tab.page.reload()
    tab.page.wait_for_function(f"() => {Tab.READY}")
    assert (tab.hash, shown(tab)) == (address, count)


@pytest.mark.parametrize("keys", ["", "1", "t", "+ + +"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_both_clicks_and_the_target_lie_where_the_image_has_them(open_tab, keys, viewport):
    tab = open_tab(f"#/sample/{L2}/0", viewport=viewport)
    tab.press(*keys.split())
    x, y, width, height = tab.box("#canvas img")
    assert width / height == pytest.approx(1920 / 1080, rel=1e-3)
    for mark, point in (("A", A_POINT), ("B", B_POINT)):
        position = [x + point[0] * width, y + point[1] * height]
        assert tab.box(f"#canvas .point[data-mark={mark}]")[:2] == pytest.approx(position, abs=1)
    x1, y1, x2, y2 = BOX
    target = [x + x1 * width, y + y1 * height, (x2 - x1) * width, (y2 - y1) * height]
    assert tab.box("#canvas .target") == pytest.approx(target, abs=1)


def test_a_sample_has_both_replies_and_leads_into_both_reports(open_tab, work):
    tab = open_tab(f"#/sample/{L2}/0")
    sides = tab.page.locator(".side").all_inner_texts()
    for text, words in zip(
        sides,
        (
            ["old", "A said <script>", "px from the target"],
            ["new <script>", "B said <script>", "inside the target"],
        ),
        strict=True,
    ):
        assert [word for word in words if word not in text] == []
    links = [link.get_attribute("href") for link in tab.page.locator("#sample-links a").all()]
    ends = [f"out/{side}/T20260101_Gaa/report/index.html#/sample/{L2}/0" for side in "ab"]
    assert links == [f"../{end}" for end in ends]
    tab.page.click("#sample-links a")
    tab.page.wait_for_url(lambda url: "/report/index.html" in url)
    tab.page.wait_for_function(f"() => {Tab.READY}")
    assert "Delete <script>" in tab.text("#view-sample")


def test_a_sample_says_what_the_judge_read_and_where_images_were_sent_in_other_sizes(
    open_tab, tmp_path
):
    runs = []
    for name, sent_wh, choice in (("a", [400, 300], None), ("b", [392, 308], "C")):
        answer = {"sent_wh": sent_wh, "chosen": None, "verdict": "unparsed"}
        judge = {"judge": {"for": "unread", "status": "read", "choice": choice}} if choice else {}
        sample = l1_sample(0, "os_web/a.png", **answer, **judge)
        runs.append(f"{name}={make_run(tmp_path / name, {L1: [sample]})}")
    tab = open_tab(f"#/sample/{L1}/0", page=write_page(compare(read_runs(runs)), tmp_path))
    sides = tab.page.locator(".side h3").all_inner_texts()
    assert "image sent: 400x300" in sides[0] and "the judge" not in sides[0]
    assert "image sent: 392x308" in sides[1] and "the judge reads C" in sides[1]


def test_a_question_says_who_chose_what(open_tab):
    tab = open_tab(f"#/sample/{L1}/0")
    options = tab.page.locator(".options li").all_inner_texts()
    assert [" ".join(option.split()) for option in options] == [
        f"A {BAD} new <script…(1)</script> chose",
        "B yes ✓ right old chose",
        "C no",
    ]
    heads = tab.page.locator(".side h3 > .quiet").all_inner_texts()
    assert heads == ["chose B, right B", "chose A, right B"]


def test_who_is_better_is_said_by_name(open_tab, tmp_path):
    runs = [
        f"{name}={make_run(tmp_path / name, {L2: l2_set(hits, 40)})}"
        for name, hits in (("good", "x" * 40), ("bad", "." * 40))
    ]
    for arguments in (runs, runs[::-1]):
        tab = open_tab(page=write_page(compare(read_runs(arguments)), tmp_path))
        assert tab.texts(".tag.lead") == ["good is better"] * 3


def test_the_page_can_be_used_with_the_keyboard_alone(open_tab):
    tab = open_tab()
    tab.press("s")
    assert (tab.focus, shown(tab)) == ("rows", 10)
    tab.press("j", "j", "k")
    assert tab.text("#sample-title") == "L2 sample 0"
    for key, outcome in (
        ("a", "only-a-right"),
        ("b", "only-b-right"),
        ("w", "both-wrong-different"),
    ):
        tab.press(key)
        assert tab.hash == f"#/samples?outcome={outcome}"
    tab.press("e", "/")
    tab.type("said")
    assert (shown(tab), tab.hash) == (1, "#/samples?q=said")
    tab.press("Escape", "h")
    assert tab.page.is_visible("#help")
    tab.press("Escape", "o")
    assert tab.page.is_visible("#view-overview")


def test_the_search_keeps_the_focus_while_a_sample_is_still_loaded(open_tab):
    tab = open_tab()
    tab.hold("Report.pairs", "details")
    tab.press("/")
    tab.wait_until_held()
    assert tab.focus == "search"
    tab.release()
    assert tab.focus == "search"


def test_nothing_that_a_model_or_a_data_set_says_becomes_markup(open_tab):
    tab, count = open_tab(), 0
    for address in (
        "",
        "samples",
        f"sample/{L2}/0",
        f"sample/{L2}/8",
        f"sample/{L1}/0",
        "sample/no/1",
    ):
        tab.go(f"#/{address}")
        count += tab.run("document.body.innerText").count("alert(")
        assert tab.texts("main script, main img[src=x]") == [], address
    assert count > 5


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_tab, scheme, viewport):
    tab, violations = open_tab(color_scheme=scheme, viewport=viewport), {}
    for address in (
        "#/overview",
        "#/samples",
        "#/samples?q=nowhere",
        f"#/sample/{L2}/0",
        f"#/sample/{L1}/0",
    ):
        tab.go(address)
        if address == "#/overview":
            tab.run("for (const each of document.querySelectorAll('details')) each.open = true")
        violations[address] = tab.findings()
    tab.press("h")
    violations["help"] = tab.findings()
    assert violations == {view: [] for view in violations}


def test_on_a_phone_the_list_comes_first_and_nothing_sticks_out(open_tab):
    tab = open_tab("#/samples", viewport=PHONE)
    assert tab.page.is_visible("#list") and not tab.page.is_visible("#pane")
    tab.click(".pair")
    assert tab.page.is_visible("#pane") and not tab.page.is_visible("#list")
    assert tab.run("document.documentElement.scrollWidth") == PHONE["width"]
    tab.page.go_back()
    tab.settle()
    assert tab.page.is_visible("#list")


def test_one_run_beside_published_figures_has_scores_and_no_samples(open_tab, work, tmp_path):
    comparison = compare(read_runs([work / "out" / "a"]), published=read_published())
    tab = open_tab(page=write_page(comparison, tmp_path))
    text = tab.text("#view-overview")
    assert "GPT-4o" in text and "60.16" in text and not tab.page.is_visible("#to-samples")
    assert (
        tab.run("getComputedStyle(document.querySelector('tr.published')).display") == "table-row"
    )
    assert tab.findings() == []


def test_each_pair_of_three_runs_has_its_own_address(open_tab, work, tmp_path):
    third = make_run(tmp_path / "c", {L2: samples_of(0)[L2][:4]}, model="c")
    runs = read_runs([*(work / "out" / side for side in "ab"), third])
    tab = open_tab("#/samples?pair=2", page=write_page(compare(runs, all_pairs=True), tmp_path))
    tab.page.wait_for_selector("text=c − m")
    assert shown(tab) == 4
    tab.page.select_option("#match", "0")
    tab.settle()
    assert (tab.hash, tab.page.is_visible("#view-overview")) == ("#/overview", True)
    tab.press("s")
    assert shown(tab) == 10
    title = tab.text("#title")
    tab.hold("Report.pairs", "choose")
    tab.go("#/samples?pair=3")
    tab.wait_until_held()
    tab.go("#/overview")  # while the samples of the third pair still come
    tab.release()
    assert tab.page.input_value("#match") == "0"
    assert (tab.page.is_visible("#view-overview"), tab.page.title()) == (True, title)


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ("b", None),
        ("ab", "was in ../b/T20260101_Gaa/report when the page was built, but it is gone"),
    ],
)
def test_an_image_whose_report_is_gone_is_that_of_the_other_run(
    open_tab, work, tmp_path, gone, expected
):
    runs = [shutil.copytree(work / "out" / side, tmp_path / side) for side in "ab"]
    page = write_page(compare(read_runs([f"a={runs[0]}", f"b={runs[1]}"])), tmp_path / "page")
    for side in gone:
        shutil.rmtree(tmp_path / side)
    tab = open_tab(f"#/sample/{L2}/0", page=page)
    if expected is None:
        tab.page.wait_for_function("() => document.querySelector('#canvas img')?.naturalWidth")
    else:
        tab.page.wait_for_function("() => document.querySelector('#canvas .absent')")
        assert expected in tab.text("#canvas .absent")
    harmless = ("/report/pictures/", "ERR_FILE_NOT_FOUND")
    assert not [t for t in tab.troubles if not any(text in t for text in harmless)]
    tab.troubles.clear()


def test_images_of_flips_are_made_where_no_report_has_them(open_tab, work, tmp_path, monkeypatch):
    runs = [shutil.copytree(work / "out" / side, tmp_path / side) for side in "ab"]
    for run in runs:
        shutil.rmtree(run / "T20260101_Gaa" / "report")
    comparison = compare(read_runs([f"a={runs[0]}", f"b={runs[1]}"]))
    monkeypatch.setenv("IMAGE_ROOT_DIR", str(work / "images"))
    page = write_page(comparison, tmp_path / "out")
    images = list((tmp_path / "out" / "comparison_files" / "pictures").iterdir())
    tab = open_tab(f"#/sample/{L2}/0", page=page)
    assert len(images) == 3 and tab.box("#canvas img")[2] > 300
    tab.page.wait_for_function("() => document.querySelector('#canvas img').naturalWidth")
    shutil.rmtree(tmp_path / "out" / "comparison_files" / "pictures")


def test_a_click_is_drawn_on_the_image_it_was_made_on_alone(open_tab, tmp_path):
    image = "os_web/a.png"
    runs = []
    make_pictures(tmp_path / "images", [image])
    digests = {"a": image_digest(tmp_path / "images" / image), "b": "0123456789abcdef"}
    for name, digest in digests.items():
        samples = [l2_sample(0, image, image_digest=digest), l2_sample(1, image)]
        run = make_run(tmp_path / "out" / name / "T20260101_Gaa", {L2: samples}, model=name)
        runs.append(run)
    build_report(runs[0], image_root=tmp_path / "images", cache=tmp_path / "cache")
    comparison = compare(read_runs(runs))
    assert "1 sample with different images in the two runs" in comparison.pairs[0].notes
    tab = open_tab(f"#/sample/{L2}/0", page=write_page(comparison, tmp_path / "page"))
    assert "image was replaced since B saw" in tab.text("#legend")
    assert len(tab.texts("#canvas .point.of-a")) == len(tab.texts("#canvas .target")) == 1
    assert not tab.texts("#canvas .point.of-b")
    tab.press("j")
    assert "replaced" not in tab.text("#legend")
    assert len(tab.texts("#canvas .point")) == 2


def test_seven_thousand_samples_are_compared_and_shown_a_few_at_a_time(open_tab, tmp_path):
    images = [f"os_web/pic{n}.png" for n in range(1200)]
    first = list(many_samples(7000, images))
    verdicts = [sample["verdict"] for sample in many_samples(7000, images, seed=8)]
    second = [
        {**sample, "verdict": verdict, "hit": int(verdict == "hit")}
        for sample, verdict in zip(first, verdicts, strict=True)
    ]
    for number, samples in enumerate((first, second), 1):
        make_run(tmp_path / str(number), {L2: samples}, model=f"m{number}")
    page = write_page(compare(read_runs([tmp_path / "1", tmp_path / "2"])), tmp_path / "out")
    tab = open_tab("#/samples", page=page)
    tab.run("document.getElementById('rows').scrollTop = 1e9")
    tab.settle()
    assert len(tab.texts('.pair[aria-posinset="7000"]')) == 1
    assert tab.run("document.querySelectorAll('*').length") < 1000


@pytest.mark.parametrize("source", ["reports", "data"])
def test_one_that_is_sent_around_opens_elsewhere(
    open_tab, work, tmp_path, monkeypatch, capsys, source
):
    runs = [shutil.copytree(work / "out" / side, tmp_path / "here" / side) for side in "ab"]
    if source == "data":
        for run in runs:
            shutil.rmtree(run / "T20260101_Gaa" / "report")
        monkeypatch.setenv("IMAGE_ROOT_DIR", str(work / "images"))
    output = tmp_path / "here" / "page"
    arguments = [f"a={runs[0]}", f"b={runs[1]}", "--output", str(output), "--small-images"]
    assert main(arguments) == 0
    assert f"To send around: {output / 'comparison.zip'} (" in capsys.readouterr().out
    with ZipFile(output / "comparison.zip") as archive:
        archive.extractall(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    sent = tmp_path / "elsewhere" / "comparison"
    texts = [path.read_text("utf-8", "replace") for path in sent.rglob("*") if path.is_file()]
    assert not any(str(tmp_path) in text for text in texts)
    tab = open_tab(f"#/sample/{L2}/0", page=sent / "comparison.html")
    tab.page.wait_for_function("() => document.querySelector('#canvas img')?.naturalWidth")
    assert tab.run("document.querySelector('#canvas img').src").endswith("_1600.webp")
    assert tab.texts("#sample-links a") == []
    tab.go("#/overview")
    assert not tab.run("[...document.links].some((link) => link.href.includes('report'))")


def test_a_zip_of_an_earlier_comparison_does_not_stay(work, tmp_path):
    runs = [str(work / "out" / side) for side in "ab"]
    assert main([*runs, "--output", str(tmp_path), "--small-images"]) == 0
    assert (tmp_path / "comparison.zip").is_file()
    assert main([*runs, "--output", str(tmp_path)]) == 0
    assert not (tmp_path / "comparison.zip").exists()
    assert main([*runs, "--output", str(tmp_path), "--small-images", "--format", "csv"]) == 2
