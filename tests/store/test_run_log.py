"""The run's log: whatever happens to a run, and whatever a model replies, nothing is lost."""

import json
import re
import signal
import threading
import tracemalloc
from concurrent.futures import Future

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import L1, L2, Stage, end_of, some_right
from utils.store.log import RunLog

SAMPLES = 15


def answered(stage):
    logs = stage.work_dir.rglob("T*/*.jsonl")
    return sum(log.read_bytes().count(b'"kind":"answer"') for log in logs)


@pytest.fixture
def released():
    """Whether the server of `stage` answers."""
    event = threading.Event()
    event.set()
    yield event
    event.set()


@pytest.fixture
def stage(staged, released):
    return staged(answer=lambda request: released.wait(600) and some_right(request))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """After a run that nothing happened to."""
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path_factory.mktemp("undisturbed"), server)
        assert stage.run().code == 0
        yield stage


@pytest.mark.parametrize("count", [1, 6, 11, SAMPLES])
def test_after_a_kill_the_same_command_asks_only_what_is_missing(count, staged, finished):
    victim = Future()

    def answer(request):
        if len(stage.server.requests) >= count:
            victim.result().kill()
        return some_right(request)

    stage = staged(answer=answer)
    victim.set_result(stage.start("--api-nproc", "2"))
    code, _ = end_of(victim.result())
    request_count, kept_answers = len(stage.server.requests), answered(stage)
    stage.server.answer = some_right
    ran = stage.run("--api-nproc", "2")
    assert code == -signal.SIGKILL
    assert (
        0 < request_count - kept_answers <= 3
    )  # two workers, and one answer on its way into the log
    # As texts: the last request of the killed run may be read only now.
    assert (ran.code, len({r.text for r in ran.requests})) == (0, SAMPLES - kept_answers), (
        ran.output
    )
    assert sum(map(int, re.findall(r"queried (\d+)", ran.output))) == SAMPLES - kept_answers
    assert len({request.text for request in stage.server.requests}) == SAMPLES
    assert len(list(stage.work_dir.glob("m/T*"))) == 1  # it goes on in the folder
    assert stage.both_scores() == finished.both_scores()


def test_a_second_process_is_refused_until_the_first_is_gone(stage, released, finished):
    released.clear()
    first = stage.start()
    stage.server.wait_for(4)
    for arguments in ([], ["--mode", "eval"]):
        second = stage.run(*arguments)
        assert second.code in (1, 2) and second.requests == [], second.output
        assert "another process is writing this log" in second.output
    first.kill()
    end_of(first)
    released.set()
    third = stage.run()
    assert third.code == 0, third.output
    assert stage.both_scores() == finished.both_scores()


def test_one_interrupt_finishes_what_is_in_flight(stage, released, finished):
    released.clear()
    process = stage.start("--api-nproc", "3")
    stage.server.wait_for(3)
    process.send_signal(signal.SIGINT)
    stopping_line = next(
        line for line in process.stdout if "Stopping after the requests in flight" in line
    )
    released.set()
    code, output = end_of(process)
    assert (code, "Ctrl-C again stops now" in stopping_line) == (130, True)
    assert "the same command continues from here" in output
    assert (len(stage.server.requests), answered(stage)) == (3, 3)  # nothing new was begun
    ran = stage.run()
    assert (ran.code, len(ran.requests)) == (0, SAMPLES - 3), ran.output
    assert stage.both_scores() == finished.both_scores()


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (lambda log: log[:-40], 1),
        (lambda log: log[:-1], 1),
        (lambda log: log[:-40] + bytes(4096), 1),
        (lambda log: log + bytes(70_000), 0),
        (lambda log: log + b'{"kind":"answer","key":"' + b"x" * 70_000, 0),
    ],
    ids=["torn", "without-line-feed", "torn-and-nul-filled", "nul-filled", "half-a-long-line"],
)
def test_a_damaged_tail_is_repaired_by_the_next_run(damage, lost, finished, tmp_path):
    stage = finished.copy_to(tmp_path)
    log = stage.log(L2)
    lines = log.read_bytes().splitlines(keepends=True)[:-1]  # a crash leaves no end of the run
    log.write_bytes(damage(b"".join(lines)))
    ran = stage.run()
    assert (ran.code, ran.asked) == (0, {L1: 0, L2: lost}), ran.output
    assert "skipped" not in ran.output
    assert all(json.loads(line) for line in log.read_bytes().splitlines())
    assert stage.both_scores() == finished.both_scores()


ODD_LINES = {
    "flipped-bit": lambda line: line.replace(b'"raw":"(0', b'"raw":"(1'),
    "flipped-bit-of-the-sum": lambda line: line[:-4] + bytes([line[-4] ^ 1]) + line[-3:],
    "nul": lambda line: bytes(len(line) - 1) + b"\n",
    "cut": lambda line: line[: len(line) // 2] + b"\n",
    "no-fields": lambda line: b'{"kind":"answer"}\n',
    "brackets": lambda line: b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("odd_line", ODD_LINES)
def test_an_odd_line_costs_its_sample_alone_and_is_named(odd_line, finished, tmp_path):
    stage = finished.copy_to(tmp_path)
    log = stage.log(L2)
    lines = log.read_bytes().splitlines(keepends=True)
    before, lines[3] = lines[3], ODD_LINES[odd_line](lines[3])
    assert lines[3] != before
    log.write_bytes(b"".join(lines))
    scored, ran, again = stage.run("--mode", "eval"), stage.run(), stage.run("--fresh")
    note = f"{log.parent.name}/{log.name}: line 4 is damaged"
    assert (scored.code, "(partial)" in scored.output, note in scored.output) == (1, True, True)
    assert (ran.code, ran.asked, note in ran.output) == (0, {L1: 0, L2: 1}, True), ran.output
    assert again.code == 0
    assert stage.both_scores() == finished.both_scores()


def test_a_run_whose_own_record_is_damaged_is_recognised_by_its_answers(finished, tmp_path):
    stage = finished.copy_to(tmp_path)
    stage.log(L2).write_bytes(stage.log(L2).read_bytes().replace(b'"kind":"run"', b'"kind":"ruN"'))
    ran = stage.run("--data", L2)
    assert (ran.code, ran.requests, "line 1 is damaged" in ran.output) == (0, [], True)


HOSTILE = {
    # reply: (letter that the protocol's parser finds, text in the spreadsheet if it differs)
    "formula": ("=1+1", None, None),
    "array-formula": ("{=1+1}", None, None),
    "formula-with-answer": ('=HYPERLINK("http://x/B:","B")', "B", None),
    "plus": ("+B", "B", None),
    "at": ("@SUM(1)\nB.", "B", None),
    "control": (
        "\x00\x01\x08\x0b\x0c\x1f\x7f B.",
        "B",
        "\\u0000\\u0001\\u0008\\u000b\\u000c\\u001f\x7f B.",
    ),
    "line-separators": ("x\u2028B.\u2029y\x85", "B", None),
    "lone-surrogates": ("\ud83d B. \udc00", "B", "\\ud83d B. \\udc00"),
    "noncharacters": ("\ufffe\uffff B.", "B", "\\ufffe\\uffff B."),
    "emoji": ("👩‍👩‍👧 B.", "B", None),
    "url": ("https://example.org/" + "y" * 3000 + "?q=1#top", None, None),
    "internal-url": ("internal:Sheet2!A1", None, None),
    "long": ("z" * 100_000, None, "cut"),
    "long-with-answer-at-the-end": ("z" * 100_000 + "\nB.", "B", "cut"),
    "missing-words": ("NaN", None, None),
    "none": ("None", None, None),
    "not-available": ("N/A", "A", None),
    "number": ("1e5", None, None),
    "true": ("TRUE", None, None),
    "blanks": ("  \t ", None, None),
    "xml": ("</t></is><c>&amp; ]]> B.", "B", None),
    # Excel shows it as it was; openpyxl leaves the format's own escape of "_" in.
    "escape-of-the-format": ("_x0041_ _x000D_", None, "_x005F_x0041_ _x005F_x000D_"),
    "json": ('{"kind": "run", "samples": []}\n{"kind": "answer"}', None, None),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """One L1 question and one L2 target for each reply."""
    texts = [text for text, *_ in HOSTILE.values()]

    def answer(request):
        number = re.search(r"Question (\d+) easy|basic target (\d+)\.", request.text)
        return Reply(texts[int(number[1] or number[2])])

    with MockServer(answer) as server:
        stage = Stage.make(tmp_path_factory.mktemp("hostile"), server, len(HOSTILE))
        stage.data = {L1: {"mode": "easy"}, L2: {"mode": "basic"}}
        ran = stage.run()
        assert ran.code == 0, ran.output
        return stage


def of_reply(name, rows, line_of=lambda row: row):
    """The row of the picture that stands for this reply."""
    picture = f"pic{list(HOSTILE).index(name)}.png"
    [matching_row] = [row for row in rows if picture in line_of(row)["image_path"]]
    return matching_row


@pytest.mark.parametrize("name", HOSTILE)
def test_any_reply_is_logged_as_it_came_readable_in_the_spreadsheets_and_scored(name, hostile):
    text, letter, displayed = HOSTILE[name]
    for dataset in (L1, L2):
        record = of_reply(name, hostile.answers(dataset), lambda record: record["line"])
        assert (record["raw"], record["status"]) == (text, "ok")
    result = of_reply(name, hostile.sheet(L1, "_exact_matching_result"))
    for row in (of_reply(name, hostile.sheet(L1)), result):
        cell = row["prediction"]
        if displayed == "cut":
            assert 30_000 < len(cell) <= 32_767 and cell.startswith("zzzz")
            assert f"{len(text)} characters in all" in cell
        else:
            assert cell == (text if displayed is None else displayed)
    assert (result["parsed_prediction"], result["hit"]) == (str(letter), int(letter == "B"))


def test_spreadsheets_hold_no_formula_and_no_link_and_pandas_reads_them_after_eval_too(hostile):
    import openpyxl
    import pandas

    files = list(hostile.folder().glob("*.xlsx"))
    assert len(files) == 4  # predictions and results of two data sets
    for file in files:
        cells = [cell for row in openpyxl.load_workbook(file).active.iter_rows() for cell in row]
        assert [cell.value for cell in cells if cell.data_type == "f" or cell.hyperlink] == []
        frame = pandas.read_excel(file, keep_default_na=False)
        assert len(frame) == len(HOSTILE)
        if file.stem != f"m_{L2}_result":  # points alone
            assert set(frame["prediction"]) >= {"=1+1", "NaN", "None", "N/A", "1e5", "TRUE"}
    before = hostile.both_scores()
    ran = hostile.run("--mode", "eval")
    assert (ran.code, ran.requests, hostile.both_scores()) == (0, [], before), ran.output


def test_of_a_long_log_only_the_end_is_read_before_it_is_written_on(tmp_path):
    path = tmp_path / "m_L2.jsonl"
    line = b'{"kind":"other","text":"' + b"x" * 10_000 + b'"}\n'
    log_bytes = line * 2_000
    path.write_bytes(log_bytes + b'{"kind":"answer","torn' + b"y" * 200_000)
    tracemalloc.start()
    RunLog(path).close()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.read_bytes() == log_bytes
    assert peak_bytes < 2_000_000


@pytest.mark.parametrize("content", [b"", b"torn", b"\n", b"a\n" + b"y" * 65_536, b"y" * 65_536])
def test_what_follows_the_last_line_break_is_cut_off(tmp_path, content):
    path = tmp_path / "m_L2.jsonl"
    path.write_bytes(content)
    RunLog(path).close()
    assert path.read_bytes() == content[: content.rfind(b"\n") + 1]
