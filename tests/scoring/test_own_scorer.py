"""What a scorer of the user's does wrong, and rows of a table of the user's that look odd."""

import json
import shutil

import pytest

from evaluate import load_run
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PICTURES, environment, run_here
from tests.support.stage import Stage
from utils.session.compare import main as compare_command

NAME = "Clocks"
QUESTIONS = [
    {"id": f"q{number}", "image": f"{number}.png", "question": f"Which day {number}?", **more}
    for number, more in enumerate(
        [
            {"answer": "Monday", "kind": "word"},
            {"answer": "7", "kind": "number"},
            {"answer": "Friday", "kind": "word"},
        ]
    )
]
OWN = """
    import numpy
    from benchmarks.answers import AnswerBenchmark

    class Clocks(AnswerBenchmark):
        folder = "clocks"
        split = "kind"

        def read_rows(self):
            for item in self.read_file("rows.json"):
                yield {"image_path": item.pop("image"), **item}

        def is_right(self, line, answer):
            return VALUE
"""
COMPARES = 'answer.casefold() == line["answer"].casefold()'


@pytest.fixture
def staged(tmp_path):
    """A data root with a few questions, and a function that writes the benchmark's scorer."""
    with MockServer(lambda request: Reply("Monday")) as server:
        stage = Stage.make(tmp_path, server, PICTURES)
        images = stage.root / "clocks/images"
        images.mkdir(parents=True)
        for number in range(4):
            shutil.copy(stage.picture(0), images / f"{number}.png")
        stage.data = {NAME: {"benchmark": "own.Clocks"}}
        write(stage)
        yield stage


def write(stage, returned=COMPARES, rows=QUESTIONS):
    stage.module(OWN.replace("VALUE", returned), "own")
    (stage.root / "clocks/rows.json").write_text(json.dumps(rows))


def manifest_entry(stage):
    return json.loads((stage.folder() / "manifest.json").read_bytes())["datasets"][NAME]


def folders(stage):
    return [path for path in (stage.work_dir / "m").glob("T*") if path.is_dir()]


def compare(stage, *models):
    paths = [str(stage.work_dir / model) for model in models]
    return run_here(compare_command, ["compare.py", *paths], stage.home, environment())


# -- what `is_right` returns ------------------------------------------------------------------------


@pytest.mark.parametrize("returned", ["0.5", "None", "1", "'yes'"])
def test_what_is_neither_true_nor_false_is_named_with_its_row(staged, returned):
    write(staged, f'{returned} if line["id"] == "q1" else True')
    run = staged.run()
    assert (run.code, len(run.requests)) == (1, 3)
    place = 'row 1 (id q1), image 1.png, "Which day 1?"'
    returned_text = f"own.Clocks.is_right returned {returned} at {place}; expected True or False"
    assert returned_text in run.stderr


def test_a_bool_of_numpy_is_a_bool(staged):
    write(staged, f"numpy.bool_({COMPARES})")
    assert staged.run().code == 0
    assert staged.scores(NAME)["num_correct"] == 1


# -- what it raises, and what to do then ------------------------------------------------------------


def test_a_mistake_in_the_data_file_is_scored_by_the_same_command_without_a_request(staged):
    write(staged, rows=[{**QUESTIONS[0], "answer": "Monday"}, {**QUESTIONS[1], "answer": 7}])
    run = staged.run()
    assert (run.code, len(run.requests)) == (1, 2)
    assert "is_right raised AttributeError: 'int' object has no attribute 'casefold'" in run.stderr
    assert 'at row 1 (id q1), image 1.png, "Which day 1?"' in run.stderr
    assert (
        "the same command without --mode eval scores them; it sends no request again" in run.stderr
    )
    write(staged, rows=QUESTIONS[:2])
    again = staged.run()
    assert (again.code, again.requests) == (0, [])
    assert staged.scores(NAME)["num_total"] == 2


def test_a_scorer_that_fails_at_one_of_the_first_answers_is_told_and_the_run_asks_on(staged):
    rows = [{**QUESTIONS[0], "id": f"q{number}"} for number in range(25)]
    write(staged, '{}[answer] if line["id"] == "q7" else True', rows)
    run = staged.run()
    assert (run.code, len(run.requests)) == (1, 25)
    [warned] = [line for line in run.stdout.splitlines() if line.startswith("warning: m, Clocks:")]
    assert "own.Clocks.is_right raised KeyError: 'Monday' (own.py, line" in warned
    assert "The run goes on and keeps all replies" in warned
    assert "All replies are kept. After a change of your code, --mode eval scores" in run.stderr
    write(staged, COMPARES, rows)
    again = staged.run("--mode", "eval")
    assert (again.code, again.requests) == (0, [])
    assert staged.scores(NAME)["num_total"] == 25


JUDGES = "def judge_parsed(self, line, sizes, parsed, reply):"
SUMS_UP = "def summarise(self, counted, settings):"
SECTIONS = "def sections(self, columns, settings):"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            f"{JUDGES}\n            return 1 / 0",
            "own.Clocks.judge_parsed raised ZeroDivisionError: division by zero (own.py, line 17) at "
            "row 0, image 0.png",
        ),
        (
            f"{SUMS_UP}\n            return nothing",
            "own.Clocks.summarise raised NameError: name 'nothing' is not defined (own.py, line 17)",
        ),
        (
            f"{SECTIONS}\n            return 1 / 0",
            "own.Clocks.sections raised ZeroDivisionError: division by zero (own.py, line 17)",
        ),
        (
            f"{SECTIONS}\n            sections = super().sections(columns, settings)\n"
            "            sections['table']['rows'].append({'name': 'credit', 'cells': [0.5]})\n"
            "            return sections",
            "own.Clocks.sections returned the cell 0.5 in the row 'credit'; expected the result of "
            "utils.analysis.columns.share, or None",
        ),
    ],
    ids=["judge_parsed", "summarise", "sections", "a cell"],
)
def test_a_method_that_fails_costs_no_reply_and_is_named_without_a_traceback(staged, code, problem):
    more = f"        {code}\n"
    staged.module(f"{OWN.replace('VALUE', COMPARES)}\n{more}", "own")
    run = staged.run()
    assert (run.code, len(run.requests)) == (1, len(QUESTIONS))
    assert problem in run.stderr
    assert "All replies are kept. After a change of your code" in run.stderr
    assert "Traceback" not in run.output
    write(staged)
    again = staged.run("--mode", "eval")
    assert (again.code, again.requests) == (0, [])


def test_a_ping_that_cannot_be_judged_says_nothing_of_kept_replies(staged):
    rows = [{**QUESTIONS[0], "answers": ["x"]}]
    write(staged, "{}[answer] if answer == 'Monday' else True", rows)
    pinged = staged.run("--check", "--ping")
    assert pinged.code == 2
    assert "Clocks: ping: own.Clocks.is_right raised KeyError: 'Monday'" in pinged.output
    assert "kept" not in pinged.output


@pytest.mark.parametrize(
    ("written", "changed", "problem"),
    [
        (
            "def is_right(self, line, answer)",
            "def is_right(self, answer)",
            "own.Clocks.is_right is called as is_right(line, answer) but is defined as "
            "(self, answer): too many positional arguments",
        ),
        (
            "def is_right(self, line, answer)",
            "def is_right(line, answer)",
            "own.Clocks.is_right is called as is_right(line, answer) but is defined as (line, answer)",
        ),
        (
            "def read_rows(self)",
            "def read_rows(self, file)",
            "own.Clocks.read_rows is called as read_rows() but is defined as (self, file): "
            "missing a required argument",
        ),
        (
            'split = "kind"',
            "default_parse = staticmethod(lambda reply: reply)",
            "own.Clocks.default_parse is called as default_parse(response, meta) but is defined "
            "as (reply)",
        ),
    ],
)
def test_a_method_that_cannot_be_called_is_named_before_anything_is_asked(
    staged, written, changed, problem
):
    code = OWN.replace("VALUE", COMPARES).replace(written, changed)
    staged.module(code, "own")
    run = staged.run()
    assert (run.code, run.requests) == (2, [])
    assert problem in run.stderr


# -- another version of the class --------------------------------------------------------------------

SAYS_YES = "True"
BY_ROW = f'bool(line.get("is_easy")) or {COMPARES}'
OTHER_CODE = (
    "note: m, Clocks: these scores are by another version of own.py than the scores before; "
)


def test_scores_by_a_changed_class_say_what_they_replace(staged):
    assert "own.py" not in staged.run().output
    write(staged, SAYS_YES)
    before = manifest_entry(staged)["code"]
    assert [*before] == ["own"]
    for options in ([], ["--mode", "eval"]):
        again = staged.run(*options)
        assert (again.code, again.requests, len(folders(staged))) == (0, [], 1)
        is_told = OTHER_CODE + "accuracy was 33.33 % and is 100.00 % now" in again.stdout
        assert is_told == (options == [])
        assert manifest_entry(staged)["code"] != before


def test_a_comment_or_a_docstring_is_no_other_version(staged):
    staged.run()
    code = (staged.code / "own.py").read_text("utf-8")
    staged.module(code.replace("class Clocks", "# a comment\nclass Clocks"), "own")
    assert "another version" not in staged.run("--mode", "eval").output


@pytest.mark.parametrize(
    ("code", "more", "rules"),
    [(SAYS_YES, {}, "versions of own.py"), (BY_ROW, {"is_easy": True}, "rules")],
)
def test_equal_answers_with_different_verdicts_are_counted_in_a_comparison(
    staged, code, more, rules
):
    write(staged, BY_ROW)
    staged.run()
    staged.model["n"] = staged.model["m"]
    write(staged, code, [{**row, **more} for row in QUESTIONS])
    staged.run("--model", "n")
    note = (
        "2 samples have the same answer and different verdicts: the two runs were scored by "
        f"different {rules}"
    )
    assert note in " ".join(compare(staged, "m", "n").stdout.split())


def test_runs_by_one_rule_have_no_such_note(staged):
    staged.model["n"] = staged.model["m"]
    staged.run()
    assert "different verdicts" not in compare(staged, "m", "n").stdout


# -- `--check` --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["--check"], []])
def test_a_check_and_a_run_call_the_scorer_once_before_anything_is_asked(staged, options):
    write(staged, 'line["anwser"] == answer')
    checked = staged.run(*options)
    assert (checked.code, checked.requests) == (2, [])
    assert "Clocks: own.Clocks.is_right raised KeyError: 'anwser' (own.py, line" in checked.stderr
    assert "at row 0 (id q0), image 0.png" in checked.stderr
    assert "for the answer 'Monday'" in checked.stderr


def test_a_scorer_that_refuses_the_right_answer_is_warned_of(staged):
    write(staged, 'line["answer"] == answer.casefold()')
    checked = staged.run("--check")
    assert checked.code == 0
    refused = 'warning: Clocks: own.Clocks.is_right says that "Monday" is wrong'
    assert checked.stdout.count(refused) == 1
    assert "No problems, 1 warning. No request was sent." in checked.stdout
    run = staged.run()
    assert (run.code, len(run.requests)) == (0, 3)
    assert run.stdout.count(refused) == 1


def test_a_split_with_the_name_of_a_figure_is_refused(staged):
    source = OWN.replace("VALUE", COMPARES).replace('split = "kind"', 'split = "accuracy"')
    staged.module(source, "own")
    checked = staged.run("--check")
    assert checked.code == 2
    assert 'split = "accuracy" is the name of a figure in the score file' in checked.output


# -- its parse function and its audits ---------------------------------------------------------------


@pytest.mark.parametrize("failure", ["ValueError('bad reply')", "AttributeError('bad reply')"])
def test_an_exception_of_its_parse_function_is_told_with_its_place_and_stops_after_ten(
    staged, failure
):
    write(staged, rows=[{**QUESTIONS[0], "id": f"q{number}"} for number in range(11)])
    staged.run()
    before = staged.scores(NAME)
    parse = f"""
        @staticmethod
        def default_parse(response, meta):
            raise {failure}
"""
    staged.module(OWN.replace("VALUE", COMPARES) + parse, "own")
    again = staged.evaluate(staged.model, "--mode", "eval", data=staged.data)
    assert again.code == 1
    kind = failure.partition("(")[0]
    assert "the parse function failed 10 times in a row" in again.output
    assert f"{kind}: bad reply" in again.output and "own.py" in again.output
    assert staged.scores(NAME) == before


def test_audits_of_a_class_without_the_comma_of_a_tuple_are_one_message(staged):
    staged.module(
        OWN.replace("VALUE", COMPARES).replace('split = "kind"', 'audits = ("own.long")'), "own"
    )
    checked = staged.run("--check")
    assert checked.code == 2
    assert 'own.Clocks: audits must be a tuple or list: ("my_module.my_audit",)' in checked.output
    assert "1 problem" in checked.output


# -- rows -------------------------------------------------------------------------------------------


def test_rows_without_a_label_and_rows_with_one_id_are_named(staged):
    first, second, third = QUESTIONS
    write(staged, rows=[first, {**second, "kind": None}, {**third, "id": "q0", "kind": " "}])
    checked = staged.run("--check")
    assert checked.code == 0
    assert (
        'warning: Clocks: 2 rows without "kind": in the score table under "none": row 1 (q1), '
        "row 2 (q0)" in checked.stdout
    )
    same_id = "warning: Clocks: 2 rows share an id with another row: row 0 (q0), row 2 (q0)"
    assert same_id in checked.stdout
    staged.run()
    assert {*staged.scores(NAME)["kind"]} == {"word", "none"}


def test_a_row_with_an_empty_list_of_answers_is_named(staged):
    first, *others = QUESTIONS
    write(staged, rows=[{**first, "answers": []}, *others])
    checked = staged.run("--check")
    assert 'warning: Clocks: 1 row with an empty "answers": row 0 (q0)' in checked.stdout


def test_an_exception_at_a_row_of_the_file_names_the_row(staged):
    write(staged, rows=[*QUESTIONS, {"id": "q3"}])
    checked = staged.run("--check")
    assert checked.code == 2
    assert "own.Clocks.read_rows raised KeyError: 'image'" in checked.stderr
    assert "at row 3" in checked.stderr


# -- its data file ----------------------------------------------------------------------------------

READS_CSV = 'self.read_file("rows.csv")'
OPENS_FILE = """[
                dict(zip(("id", "image", "question", "answer"), line.rstrip("\\n").split(";")))
                for line in open(self.root / "FILE", encoding="utf-8")
            ]"""


def write_csv(stage, *lines, reader=READS_CSV, file="rows.csv"):
    (stage.root / "clocks/rows.json").unlink(missing_ok=True)
    code = OWN.replace("VALUE", COMPARES).replace('split = "kind"', "")
    stage.module(code.replace('self.read_file("rows.json")', reader), "own")
    (stage.root / "clocks" / file).write_text("\n".join(lines), encoding="utf-8-sig")


@pytest.mark.parametrize(
    ("reader", "sign"), [(READS_CSV, ","), (OPENS_FILE.replace("FILE", "rows.csv"), ";")]
)
def test_a_changed_right_answer_in_a_csv_file_is_scored_in_a_new_folder(staged, reader, sign):
    head = "id,image,question,answer"
    first, second = '{},0.png,"Which day, please?",{}', "{},1.png,Which day?,{}"
    lines = [first.format(1, "Monday"), second.format(2, "Friday")]
    if sign == ";":
        lines = [line.replace('"', "").replace(", ", " ").replace(",", ";") for line in lines]
    write_csv(staged, *[head] * (sign == ","), *lines, reader=reader)
    run = staged.run()
    assert (run.code, len(run.requests)) == (0, 2), run.output
    assert "warning" not in run.stdout
    assert (
        manifest_entry(staged)["annotations"]["bytes"]
        == (staged.root / "clocks/rows.csv").stat().st_size
    )
    assert staged.scores(NAME)["num_correct"] == 1
    changed = [line.replace("Friday", "Monday") for line in lines]
    write_csv(staged, *[head] * (sign == ","), *changed, reader=reader)
    again = staged.run()
    assert (again.code, again.requests, len(folders(staged))) == (0, [], 2)
    assert staged.scores(NAME)["num_correct"] == 2


@pytest.mark.parametrize("values", ["2,1.png,Which day, please?,Friday", "2,1.png"])
def test_a_csv_row_with_another_number_of_values_is_named(staged, values):
    write_csv(staged, "id,image,question,answer", "1,0.png,Which day?,Monday", values)
    checked = staged.run("--check")
    assert checked.code == 2
    count = len(values.split(","))
    problem = f"rows.csv: cannot be read: line 3: {count} values, but the first line has 4 names"
    assert problem in checked.stderr


@pytest.mark.parametrize("options", [["--check"], []])
def test_a_data_file_that_the_program_does_not_know_is_warned_of(staged, options):
    reader = OPENS_FILE.replace("FILE", "rows.txt")
    write_csv(staged, "1;0.png;Which day?;Monday", reader=reader, file="rows.txt")
    checked = staged.run(*options)
    assert checked.code == 0
    assert (
        "warning: Clocks: own.Clocks reads a data file that the program does not" in checked.stdout
    )
    code = (staged.code / "own.py").read_text("utf-8")
    files = 'files = lambda self: [self.root / "rows.txt"]'
    staged.module(code.replace('folder = "clocks"', f'folder = "clocks"\n    {files}'), "own")
    assert "warning" not in staged.run(*options).stdout


# -- a part of the rows -----------------------------------------------------------------------------


def test_the_column_of_the_split_chooses_rows_of_the_log_of_the_whole(staged):
    staged.run()
    for grouping in ("kind", "data_type"):
        part = staged.run("--mode", "eval", "--only", f"{grouping}=number")
        assert part.code == 0, part.output
        assert f"n = 1 · {grouping}=number only (partial)" in part.stdout
    asked = staged.run("--only", "kind=word")
    assert (asked.code, asked.requests) == (0, [])


@pytest.mark.parametrize(
    ("only", "problem"),
    [
        ("colour=red", "--only colour, Clocks: no grouping of this data set; there are "),
        ("kind=nubmer", '--only kind, Clocks: no row has the label "nubmer"; did you mean "number'),
    ],
)
def test_a_question_that_a_log_cannot_answer_leaves_the_run_as_it_was(staged, only, problem):
    staged.run()
    manifest = (staged.folder() / "manifest.json").read_bytes()
    asked = staged.run("--mode", "eval", "--only", only)
    assert asked.code == 1
    assert problem in asked.stderr
    assert (staged.folder() / "manifest.json").read_bytes() == manifest


def test_a_part_that_a_log_of_another_part_lacks_leaves_the_run_as_it_was(staged):
    staged.run("--only", "kind=word")
    manifest = (staged.folder() / "manifest.json").read_bytes()
    asked = staged.run("--mode", "eval", "--only", "kind=number")
    assert asked.code == 1
    assert "nothing to score" in asked.stderr
    assert (staged.folder() / "manifest.json").read_bytes() == manifest


def test_a_data_set_without_groupings_says_so(staged):
    write(staged, rows=[{**row, "kind": None} for row in QUESTIONS])
    run = staged.run("--only", "colour=red")
    assert run.code == 2
    assert "--only colour, Clocks: no grouping of this data set; it has none" in run.stderr


# -- what is said of it ------------------------------------------------------------------------------


def test_a_frame_of_the_samples_has_id_answer_and_truth(staged):
    staged.run()
    samples = load_run(staged.folder()).samples
    assert [*samples["id"]] == ["q0", "q1", "q2"]
    assert [*samples["answered"]] == ["Monday"] * 3
    assert [*samples["expected"]] == ["Monday", "7", "Friday"]
    assert [*samples["kind"]] == ["word", "number", "word"]


def test_an_audit_sees_id_answer_truth_and_kind(staged):
    staged.module(
        """
        def audit(columns, settings):
            names = ("id", "answered", "expected", "kind")
            return {"title": "Seen", "notes": [str([columns[name][1] for name in names])]}
        """,
        "own_audit",
    )
    staged.data[NAME]["audits"] = ["own_audit.audit"]
    staged.run()
    analysis = load_run(staged.folder()).analysis[NAME]
    assert analysis["own_audit.audit"]["notes"] == ["['q1', 'Monday', '7', 'number']"]


def test_a_comparison_of_more_samples_than_a_limit_says_so(staged):
    staged.model["n"] = staged.model["m"]
    whole = staged.run()
    assert "The scores above are of a part" not in whole.stdout
    limited = staged.run("--mode", "eval", "--limit", "1")
    assert (
        "The scores above are of a part (--limit, --only). The comparison is of all samples of "
        "these runs:" in limited.stdout
    )


def test_a_model_without_a_log_is_not_called_failed(staged):
    staged.run()
    staged.model["parrot"] = staged.model["m"]
    scored = staged.run("--mode", "eval")
    assert "1 of 2 models were not scored: parrot" in scored.stderr


def test_one_sample_that_waits_is_one_sample(staged):
    staged.model["m"]["generate_cfg"]["max_tokens"] = 16
    staged.run("--limit", "2")
    with staged.log(NAME).open() as file:
        lines = file.readlines()
    answers = [number for number, line in enumerate(lines) if json.loads(line)["kind"] == "answer"]
    del lines[answers[-1]]
    staged.log(NAME).write_text("".join(lines))
    scored = staged.run("--mode", "eval", "--limit", "2")
    assert "1 sample of this run has not been queried yet" in scored.stdout
    assert "queries it" in scored.stdout


def test_a_report_says_whose_benchmark_it_is_and_names_the_filter_after_its_column(staged):
    staged.run()
    [summary] = (staged.folder() / "report/data").glob("summary_*.js")
    text = summary.read_text("utf-8")
    assert "Clocks: a benchmark of your own" in text
    assert "not the published files" not in text
    assert '"split_name":"kind"' in text.replace(" ", "")
    assert '"kind":[]' in text  # they are labels of the split already


def test_rows_without_an_image_path_are_named(staged):
    code = OWN.replace("VALUE", COMPARES)
    code = code.replace('{"image_path": item.pop("image"), **item}', "item")
    staged.module(code, "own")
    checked = staged.run("--check")
    assert checked.code == 2 and "Traceback" not in checked.output
    assert "image missing: the row has no image_path" in checked.output


# -- names of data sets -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Clocks (en)", "Clocks+1", "my clocks_2.0", "Überschriften"])
def test_a_name_with_signs_keeps_its_answers_and_gives_each_experiment_a_folder(staged, name):
    staged.data = {name: {"benchmark": "own.Clocks"}}
    first, again = staged.run(), staged.run()
    assert (first.code, len(first.requests)) == (0, 3)
    assert (again.code, again.requests) == (0, [])
    part = staged.run("--limit", "2")
    assert (part.code, part.requests) == (0, [])
    folders = [path for path in (staged.work_dir / "m").glob("T*") if path.is_dir()]
    assert len(folders) == 2
    assert staged.run("--mode", "eval").requests == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a/b", "the name has '/', but it is a part of file names"),
        ("a\\b", "the name has '\\\\', but it is a part of file names"),
        ("my_samples", 'the name ends in "_samples", as other files of a run do'),
    ],
)
def test_a_name_that_no_file_can_have_is_refused(staged, name, problem):
    staged.data = {name: {"benchmark": "own.Clocks"}}
    run = staged.run()
    assert (run.code, run.requests) == (2, [])
    assert problem in run.stderr
