"""The run's log: whatever happens to a run, and whatever a model replies, nothing is lost."""

import json
import os
import random
import signal
import subprocess
import threading
import zlib

import pytest

from tests.support.bench import L1, L2, SCORES, Bench, dataset_of
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data

SAMPLES = 15


def reply(request):
    """Depends on the request alone; some right, some wrong."""
    if dataset_of(request) == L1:
        return Reply("B" if "1" in request.text else "A")
    return Reply("(0.2, 0.15)" if "basic" in request.text else "(0.9, 0.9)")


def answered(bench):
    """Answer records by data set and key, as far as the logs exist."""
    logs = bench.work_dir.rglob("T*/*.jsonl")
    records = [json.loads(line) for log in logs for line in log.read_bytes().splitlines()]
    return [(r["key"], r["status"]) for r in records if r["kind"] == "answer"]


def score_files(bench):
    return {dataset: bench.scores(dataset) for dataset in (L1, L2)}


def finish(process, timeout_s=60):
    """(exit code, everything printed) of a process that is about to end."""
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        pytest.fail(f"still running after {timeout_s} s:\n{stdout}{stderr}")
    return process.returncode, stdout + stderr


class Held:
    """An answer function that can hold requests back, and do something when one arrives."""

    def __init__(self):
        self.released = threading.Event()
        self.released.set()

    def __call__(self, request):
        self.released.wait(60)
        return reply(request)


@pytest.fixture
def held():
    gate = Held()
    yield gate
    gate.released.set()


@pytest.fixture
def bench(tmp_path, held):
    make_data(tmp_path / "data")
    with MockServer(held) as server:
        yield Bench(tmp_path, server, {"m": api_model(server.url)})
        held.released.set()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """After a run that nothing happened to."""
    home = tmp_path_factory.mktemp("undisturbed")
    make_data(home / "data")
    with MockServer(reply) as server:
        bench = Bench(home, server, {"m": api_model(server.url)})
        assert bench.run().code == 0
        yield bench


@pytest.fixture(scope="module")
def undisturbed(finished):
    """Score files of a run that nothing happened to."""
    return score_files(finished)


# ---- killed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 6, 11, SAMPLES])
def test_after_a_kill_the_same_command_asks_only_what_is_missing(count, tmp_path, undisturbed):
    make_data(tmp_path / "data")
    victim = []

    def answer(request):
        if victim and len(server.requests) >= count:
            os.kill(victim[0].pid, signal.SIGKILL)
        return reply(request)

    with MockServer(answer) as server:
        bench = Bench(tmp_path, server, {"m": api_model(server.url)})
        victim.append(bench.start("--api-nproc", "2"))
        code, _ = finish(victim[0])
        asked_before = [request.text for request in server.requests]
        kept = answered(bench)
        victim.clear()
        ran = bench.run("--api-nproc", "2")

        assert code == -signal.SIGKILL
        in_flight = len(asked_before) - len(kept)
        assert 0 < in_flight <= 3  # two workers, and one answer on its way into the log
        assert (ran.code, len(ran.requests)) == (0, SAMPLES - len(kept)), ran.output
        assert len({request.text for request in server.requests}) == SAMPLES
        assert score_files(bench) == undisturbed


# ---- torn and damaged ----------------------------------------------------------------------------


def without_the_end(log):
    """The lines of a log as a crash leaves it: nothing behind the last answer."""
    lines = log.read_bytes().splitlines(keepends=True)
    return [line for line in lines if b'"kind":"end"' not in line]


@pytest.mark.parametrize(("damage", "lost"), [
    (lambda log: log[:-40], 1),
    (lambda log: log[:-1], 1),
    (lambda log: log[:-40] + bytes(4096), 1),
    (lambda log: log + bytes(70_000), 0),
    (lambda log: log + b'{"kind":"answer","key":"' + b"x" * 70_000, 0),
], ids=["torn", "without-line-feed", "torn-and-nul-filled", "nul-filled", "half-a-long-line"])  # fmt: skip
def test_a_damaged_tail_is_repaired_by_the_next_run(damage, lost, finished, tmp_path, undisturbed):
    bench = finished.copy_to(tmp_path)
    log = bench.log(L2)
    log.write_bytes(damage(b"".join(without_the_end(log))))

    ran = bench.run()
    assert (ran.code, ran.asked) == (0, {L1: 0, L2: lost}), ran.output
    assert "passed over" not in ran.output
    assert all(json.loads(line) for line in log.read_bytes().splitlines())
    assert score_files(bench) == undisturbed


def flipped(line):
    """One bit of the reply."""
    return line.replace(b'"raw":"(0', b'"raw":"(1')


def with_sum(content):
    """A line with the right checksum, whatever it holds."""
    return content[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(content)


ODD_LINES = {
    "flipped-bit": flipped,
    "flipped-bit-of-the-sum": lambda line: line[:-4] + bytes([line[-4] ^ 1]) + line[-3:],
    "nul": lambda line: bytes(len(line) - 1) + b"\n",
    "cut": lambda line: line[: len(line) // 2] + b"\n",
    "no-fields": lambda line: b'{"kind":"answer"}\n',
    "brackets": lambda line: b"[" * 100_000 + b"\n",
    "no-fields-with-sum": lambda line: with_sum(b'{"kind":"answer","seq":1}'),
    "unknown-status-with-sum": lambda line: with_sum(
        line[: line.rindex(b',"crc"')].replace(b'"status":"ok"', b'"status":"odd"') + b"}"
    ),
    "no-reply-with-sum": lambda line: with_sum(
        line[: line.rindex(b',"crc"')].replace(b'"raw":"', b'"rare":"') + b"}"
    ),
    "unknown-kind-with-sum": lambda line: with_sum(b'{"kind":"later"}'),
    "brackets-with-sum": lambda line: with_sum(b'{"a":' + b"[" * 100_000 + b"}"),
    "number-with-sum": lambda line: with_sum(b'{"kind":"answer","seq":' + b"9" * 5000 + b"}"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD_LINES)
def test_an_odd_line_costs_its_sample_alone_and_is_named(odd, finished, tmp_path, undisturbed):
    bench = finished.copy_to(tmp_path)
    log = bench.log(L2)
    lines = log.read_bytes().splitlines(keepends=True)
    assert ODD_LINES[odd](lines[3]) != lines[3]
    log.write_bytes(b"".join([*lines[:3], ODD_LINES[odd](lines[3]), *lines[4:]]))

    scored = bench.run("--mode", "eval")
    ran = bench.run()
    again = bench.run("--fresh")

    note = f"{log.parent.name}/{log.name}: line 4 is damaged"
    assert (scored.code, "(partial)" in scored.output, note in scored.output) == (1, True, True)
    assert (ran.code, ran.asked, note in ran.output) == (0, {L1: 0, L2: 1}, True), ran.output
    assert again.code == 0
    assert score_files(bench) == undisturbed


def test_a_flipped_bit_anywhere_changes_no_score_in_silence(finished, tmp_path, undisturbed):
    bench = finished.copy_to(tmp_path)
    whole, rng = bench.log(L2).read_bytes(), random.Random(7)
    for place in rng.sample(range(len(whole)), 60):
        bit = bytes([whole[place] ^ (1 << rng.randrange(8))])
        bench.log(L2).write_bytes(whole[:place] + bit + whole[place + 1 :])
        ran = bench.run("--mode", "eval", "--data", L2, "--no-report")
        is_known = ran.code == 1 or "passed over" in ran.output
        assert is_known or bench.scores(L2) == undisturbed[L2], (place, ran.output)


def test_a_run_whose_own_record_is_damaged_is_recognised_by_its_answers(finished, tmp_path):
    bench = finished.copy_to(tmp_path)
    bench.log(L2).write_bytes(bench.log(L2).read_bytes().replace(b'"kind":"run"', b'"kind":"ruN"'))

    ran = bench.run("--data", L2)

    assert (ran.code, ran.requests, "line 1 is damaged" in ran.output) == (0, [], True)


# ---- two processes -------------------------------------------------------------------------------


def test_a_second_process_is_refused_until_the_first_is_gone_even_by_a_kill(
    bench, held, undisturbed
):
    held.released.clear()
    first = bench.start()
    bench.server.wait_for(4)

    second = bench.run()
    assert (second.code, second.requests) in ((1, []), (2, [])), second.output
    assert "another process is writing this log" in second.output
    rescoring = bench.run("--mode", "eval")
    assert "another process is writing this log" in rescoring.output
    assert rescoring.code in (1, 2)

    first.kill()
    finish(first)
    held.released.set()
    third = bench.run()
    assert third.code == 0, third.output
    assert score_files(bench) == undisturbed


# ---- interrupted ---------------------------------------------------------------------------------


def interrupt_once(process):
    """Ctrl-C, and the line that the program prints about it."""
    process.send_signal(signal.SIGINT)
    seen = []
    for line in process.stdout:
        seen.append(line)
        if "Stopping after what is in flight" in line:
            return "".join(seen)
    pytest.fail("no word about the interrupt:\n" + "".join(seen))


def test_one_interrupt_finishes_what_is_in_flight_and_says_how_to_go_on(bench, held, undisturbed):
    held.released.clear()
    process = bench.start("--api-nproc", "3")
    bench.server.wait_for(3)
    said = interrupt_once(process)
    held.released.set()
    code, output = finish(process)

    assert code == 130
    assert "Ctrl-C again stops now" in said
    assert "the same command goes on from here" in output
    assert "Traceback" not in output
    assert len(bench.server.requests) == 3  # nothing new was begun
    assert len(answered(bench)) == 3
    ran = bench.run()
    assert (ran.code, len(ran.requests)) == (0, SAMPLES - 3), ran.output
    assert score_files(bench) == undisturbed


def test_a_second_interrupt_stops_at_once_though_every_request_hangs(bench, held):
    held.released.clear()
    process = bench.start("--api-nproc", "8")
    bench.server.wait_for(8)
    interrupt_once(process)
    process.send_signal(signal.SIGINT)
    code, output = finish(process, timeout_s=5)

    assert code == 130, output
    assert "Traceback" not in output
    assert answered(bench) == []
    held.released.set()
    ran = bench.run()
    assert (ran.code, len(ran.requests)) == (0, SAMPLES), ran.output


# ---- hostile replies -----------------------------------------------------------------------------

HOSTILE = {
    # reply: (letter that the protocol's parser finds, text in the spreadsheet if it differs)
    "formula": ("=1+1", None, None),
    "formula-with-answer": ('=HYPERLINK("http://x/B:","B")', "B", None),
    "plus": ("+B", "B", None),
    "at": ("@SUM(1)\nB.", "B", None),
    "array-formula": ("{=1+1}", None, None),
    "control": ("\x00\x01\x08\x0b\x0c\x1f\x7f B.", "B", "\\u0000\\u0001\\u0008\\u000b\\u000c\\u001f\x7f B."),
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
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """One L1 question and one L2 target for each reply."""
    home = tmp_path_factory.mktemp("hostile")
    names = list(HOSTILE)
    make_data(home / "data", [("os_web", (40, 30))] * len(names))

    def answer(request):
        [number] = [n for n in range(len(names)) if f"Question {n} easy" in request.text
                    or f"basic target {n}." in request.text]  # fmt: skip
        return Reply(HOSTILE[names[number]][0])

    with MockServer(answer) as server:
        data = {L1: {"mode": "easy"}, L2: {"mode": "basic"}}
        bench = Bench(home, server, {"m": api_model(server.url)}, data)
        ran = bench.run()
        assert ran.code == 0, ran.output
        return bench


@pytest.mark.parametrize("dataset", [L1, L2])
@pytest.mark.parametrize("name", HOSTILE)
def test_any_reply_is_in_the_log_as_it_came(name, dataset, hostile):
    record = by_number(hostile.answers(dataset), lambda r: r["line"])[list(HOSTILE).index(name)]
    assert record["raw"] == HOSTILE[name][0]
    assert record["status"] == "ok"


def by_number(rows, line_of=lambda row: row):
    """Rows by the number of their picture."""
    return {int(line_of(row)["image_path"].split("pic")[1].split(".")[0]): row for row in rows}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_reply_is_readable_in_the_spreadsheets(name, hostile):
    reply_text, _, shown = HOSTILE[name]
    number = list(HOSTILE).index(name)
    for suffix in ("", "_exact_matching_result"):
        cell = by_number(hostile.sheet(L1, suffix))[number]["prediction"]
        if shown == "cut":
            assert 30_000 < len(cell) <= 32_767
            assert cell.startswith("zzzz")
            assert f"{len(reply_text)} characters in all" in cell
        else:
            assert cell == (reply_text if shown is None else shown)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_reply_is_scored_as_it_is(name, hostile):
    row = by_number(hostile.sheet(L1, "_exact_matching_result"))[list(HOSTILE).index(name)]
    letter = HOSTILE[name][1]
    assert (row["parsed_prediction"], row["hit"]) == (str(letter), int(letter == "B"))


def test_the_spreadsheets_hold_no_formula_and_no_link(hostile):
    import openpyxl

    files = list(hostile.folder().glob("*.xlsx"))
    assert len(files) == 4  # predictions and results of two data sets
    for file in files:
        sheet = openpyxl.load_workbook(file).active
        cells = [cell for row in sheet.iter_rows() for cell in row]
        assert [cell.value for cell in cells if cell.data_type == "f" or cell.hyperlink] == []


def test_pandas_reads_the_spreadsheets(hostile):
    import pandas

    for dataset, suffix in ((L1, "_exact_matching_result"), (L2, "")):
        file = hostile.folder() / f"m_{dataset}{suffix}.xlsx"
        frame = pandas.read_excel(file, keep_default_na=False)
        assert len(frame) == len(HOSTILE)
        assert set(frame["prediction"]) >= {"=1+1", "NaN", "None", "N/A", "1e5", "TRUE"}


def test_a_log_of_hostile_replies_scores_the_same_when_it_is_read_again(hostile):
    before = {dataset: hostile.scores(dataset) for dataset in SCORES}
    ran = hostile.run("--mode", "eval")
    assert (ran.code, ran.requests) == (0, []), ran.output
    assert {dataset: hostile.scores(dataset) for dataset in SCORES} == before
