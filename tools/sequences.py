"""Random sequences of commands, checked against a second account of what they must come to.

python -m tools.sequences [--count 500] [--seed 1]

Each sequence is a work-dir of its own and six to ten commands: --limit, --fresh, --mode, circular,
--retry-refused, one data set or both, two settings, a server that changes its mind, two processes
at once. After each command the number of requests, the verdict of every sample, the score file and
the full files that a part may not touch are compared with an account that shares no code with the
program: it reads the annotations itself, and scores by hand.

Prints what differs and exits with 1 if anything does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support.mock_server import MockServer, Reply, Request
from tests.support.stage import L1, L2, Ran, Stage, dataset_of

PICTURES = (("os_windows", (64, 36)), ("os_ios", (30, 64)))
MODES = {L1: ("all", "easy", "medium", "hard"), L2: ("all", "basic", "advanced")}
REFUSED = ("Question 1 medium?", "Click advanced target 0.")
TEXTS = {"yes": "B", "no": "A", "maybe": "C"}


@dataclass(frozen=True)
class Question:
    """One sample as its annotation has it."""

    text: str
    picture: str
    split: str


@dataclass(frozen=True)
class Wish:
    """A request: a question in one rotation of its options, at one temperature."""

    question: Question
    rotation: int
    temperature: int


@dataclass(frozen=True)
class Answer:
    """The outcome of a request."""

    status: str  # "ok", "refused", "failed"
    is_hit: bool


@dataclass(frozen=True)
class Command:
    """One command of a sequence."""

    modes: tuple[tuple[str, str], ...]  # data set and its mode
    temperature: int = 0
    is_circular: bool = False
    limit: int | None = None
    is_fresh: bool = False
    stage: str = "all"  # of --mode
    retries_refused: bool = False

    def arguments(self) -> list[str]:
        """Of the command line."""
        arguments = ["--mode", self.stage, "--no-report", "--retry", "0"]
        if self.limit is not None:
            arguments += ["--limit", str(self.limit)]
        if self.is_fresh:
            arguments.append("--fresh")
        if self.retries_refused:
            arguments.append("--retry-refused")
        return arguments

    def data(self) -> dict[str, dict[str, Any]]:
        """The config's section."""
        section: dict[str, dict[str, Any]] = {name: {"mode": mode} for name, mode in self.modes}
        if L1 in section:
            section[L1]["circular"] = self.is_circular
        return section


@dataclass
class Server:
    """Answers by question and by how often it has changed its mind."""

    mind: int = 0

    def __call__(self, request: Request) -> Reply:
        name = dataset_of(request)
        if name == L1:
            [text] = re.findall(r"Question \d+ \w+\?", request.text)
            options = dict(re.findall(r"\b([ABC])\. (yes|no|maybe)", request.text))
            rotation = "ABC".index(next(letter for letter in options if options[letter] == "yes"))
        else:
            [text] = re.findall(r"Click \w+ target \d+\.", request.text)
            rotation = 1
        answer = answer_of(self.mind, text, rotation, int(request.body["temperature"]))
        if answer.status == "refused":
            return Reply(status=400, body=b'{"error": {"message": "I may not"}}')
        if name == L2:
            return Reply("(0.2, 0.15)" if answer.is_hit else "(0.8, 0.9)")
        right = "ABC"[rotation]
        wrong = "ABC"[(rotation + 1) % 3]
        return Reply(right if answer.is_hit else wrong)


def answer_of(mind: int, text: str, place_of_answer: int, temperature: int) -> Answer:
    """The server's answer; `place_of_answer` identifies the rotation (1: as annotated)."""
    if text in REFUSED and mind % 3 == 0 and place_of_answer == 1:
        return Answer("refused", is_hit=False)
    chance = random.Random(f"{mind} {text} {place_of_answer} {temperature}").random()
    return Answer("ok", is_hit=chance < 0.5)


@dataclass
class Logged:
    """One run in a folder: what it covers, and its place."""

    number: int
    mode: str
    limit: int | None
    group: tuple[int, frozenset[str]]  # temperature, pictures: what must be equal to share answers
    covered: list[Question]


@dataclass
class Account:
    """The expected content of the disk, derived only from the commands and the annotations."""

    questions: dict[str, list[Question]]
    answers: dict[Wish, Answer] = field(default_factory=dict)  # the newest of each
    runs: dict[tuple[str, str], list[Logged]] = field(default_factory=dict)  # by folder, data set
    # By folder, data set and group: the newest answer to each question.
    logged: dict[tuple[Any, ...], dict[Question, Answer]] = field(default_factory=dict)
    limited: dict[tuple[str, str, int], list[Question]] = field(default_factory=dict)
    count: int = 0  # of runs

    def of_mode(self, dataset: str, mode: str) -> list[Question]:
        """All questions of a mode."""
        return [question for question in self.questions[dataset] if mode in ("all", question.split)]

    def ask(
        self, command: Command, covered: dict[str, list[Question]], mind: int
    ) -> dict[str, int]:
        """Asks what must be asked; the number of requests of each data set."""
        requests = {L1: 0, L2: 0}
        wishes: list[Wish] = []
        refused_again: set[Wish] = set()
        for name, _ in command.modes:
            rotations = range(3 if command.is_circular and name == L1 else 1)
            for question in covered[name]:
                for rotation in rotations:
                    wish = Wish(question, rotation, command.temperature)
                    before = self.answers.get(wish)
                    is_done = before is not None and before.status == "ok"
                    is_done |= before is not None and (
                        before.status == "refused" and not command.retries_refused
                    )
                    if is_done and not command.is_fresh:
                        continue
                    is_again = before is not None and before.status == "refused"
                    if is_again and not command.is_fresh:
                        refused_again.add(wish)
                    position = (1 - rotation) % 3
                    self.answers[wish] = answer_of(mind, question.text, position, wish.temperature)
                    wishes.append(wish)
                    requests[name] += 1
        if wishes and all(self.answers[wish].status == "refused" for wish in wishes):
            # A server that refuses everything says nothing about the samples, the first time.
            for wish in {*wishes} - refused_again:
                self.answers[wish] = Answer("failed", is_hit=False)
        return requests

    def log(self, command: Command, folder: str, covered: dict[str, list[Question]]) -> None:
        """Notes a finished run in its folder."""
        self.count += 1
        for name, mode in command.modes:
            questions = covered[name]
            group = (
                command.temperature,
                frozenset(sample_question.picture for sample_question in questions),
            )
            run = Logged(self.count, mode, command.limit, group, questions)
            self.runs.setdefault((folder, name), []).append(run)
            of_group = self.logged.setdefault((folder, name, group), {})
            for question in questions:
                of_group[question] = self.answers[Wish(question, 0, command.temperature)]

    def newest(self, name: str) -> tuple[str, list[Logged]] | None:
        """The folder with the newest run of a data set, and its runs."""
        candidates = [
            (runs[-1].number, run_name[0], runs)
            for run_name, runs in self.runs.items()
            if run_name[1] == name
        ]
        if not candidates:
            return None
        _, folder, runs = max(candidates, key=lambda entry: entry[0])
        return folder, runs


def read_annotations(root: Path) -> dict[str, list[Question]]:
    """The questions of both data sets."""
    home = root / "MMBench-GUI"
    first = json.loads((home / "L1_annotations.json").read_text())
    second = json.loads((home / "L2_annotations.json").read_text())
    return {
        L1: [
            Question(group["question"], image["image_path"], group["difficulty"])
            for image in first
            for group in image["groups"]
        ],
        L2: [
            Question(entry["instruction"], entry["image_path"], entry["grounding_type"])
            for entry in second
        ],
    }


def score(pairs: Sequence[tuple[Question, Answer]], name: str) -> dict[str, float]:
    """The figures of a score file, by hand: accuracy of each split, and of L2 their mean."""
    figures: dict[str, float] = {}
    for split in MODES[name][1:]:
        hits = [answer.is_hit for question, answer in pairs if question.split == split]
        if hits:
            figures[split] = sum(hits) / len(hits)
    return figures


def figures_in(scores: dict[str, Any], name: str) -> dict[str, float]:
    """The same figures as a score file has them."""
    if name == L1:
        return {
            split: scores[split]["level_score"]
            for split in MODES[L1][1:]
            if split in scores and scores[split]["level_sample_num"]
        }
    figures = {}
    for split in MODES[L2][1:]:
        blocks = list(scores.get(split, {}).values())
        total = sum(block["Total num"] for block in blocks)
        if total:
            figures[split] = sum(block["Correct num"] for block in blocks) / total
    return figures


class Sequences:
    """Plays sequences of commands on one data root and compares.

    Attributes:
        differences: what differs, one text each.
        checks: how many scorings were compared.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.differences: list[str] = []
        self.checks = 0
        self.commands = 0
        self._server = Server()
        with MockServer() as server:
            Stage.make(home / "stage", server, PICTURES)

    def play(self, seed: int) -> None:
        """Plays one sequence."""
        chance = random.Random(seed)
        self._server.mind = 0
        with MockServer(self._server) as server:
            stage = Stage(self.home / "stage", server, {})
            shutil.rmtree(stage.work_dir, ignore_errors=True)
            account = Account(read_annotations(stage.root))
            lines = [f"sequence {seed}"]
            for _ in range(chance.randint(6, 10)):
                if chance.random() < 0.3:
                    self._server.mind += 1
                    lines.append(f"the server changes its mind: {self._server.mind}")
                if chance.random() < 0.06:
                    commands = self._pair(chance)
                    lines.append(f"together: {commands}")
                    problems = self._together(stage, account, commands)
                else:
                    command = self._command(chance)
                    lines.append(str(command))
                    problems = self._one(stage, account, command)
                self.commands += 1
                if problems:
                    self.differences.append("\n".join([*lines, *problems]))
                    print(self.differences[-1], flush=True)
                    return

    def _command(self, chance: random.Random) -> Command:
        names = chance.choice([(L1,), (L2,), (L1, L2)])
        modes = tuple((name, chance.choice((*("all",) * 3, *MODES[name]))) for name in names)
        stage = chance.choices(("all", "infer", "eval"), (7, 1, 3))[0]
        return Command(
            modes,
            temperature=chance.choice((0, 0, 1)),
            is_circular=L1 in names and chance.random() < 0.2,
            limit=chance.choice((None, None, 2, 4)),
            is_fresh=stage != "eval" and chance.random() < 0.25,
            stage=stage,
            retries_refused=stage != "eval" and chance.random() < 0.2,
        )

    def _pair(self, chance: random.Random) -> list[Command]:
        first = replace(self._command(chance), stage="all", temperature=0)
        second = replace(self._command(chance), stage="all", temperature=1)
        return [first, second]

    def _run(self, stage: Stage, command: Command) -> Ran:
        entry = {
            "model_path": f"{stage.server.url}?api_key=test-key-123456&model=mock",
            "imp_type": "openai",
            "generate_cfg": {"max_tokens": 16, "temperature": command.temperature},
        }
        name = f"config{command.temperature}.json"
        config = stage.config({"model": {"m": entry}, "data": command.data()}, name)
        return stage.run("--config", config, "--work-dir", stage.work_dir, *command.arguments())

    def _one(self, stage: Stage, account: Account, command: Command) -> list[str]:
        before = _full_files(stage.work_dir)
        ran = self._run(stage, command)
        problems = []
        if command.stage == "eval":
            problems = self._scored_again(stage, account, command, ran)
        else:
            folder = _folder_in(ran.output)
            covered, problems = self._covered(account, command, folder, ran)
            if covered is None:
                return problems
            expected = account.ask(command, covered, self._server.mind)
            account.log(command, folder.name, covered)
            if ran.asked != expected:
                problems.append(f"requests: {ran.asked}, expected {expected}")
            if command.stage == "all":
                for name, _ in command.modes:
                    runs = account.runs[folder.name, name]
                    problems += self._compare(account, command, folder, name, runs[-1])
        if command.limit is not None:
            after = _full_files(stage.work_dir)
            changed = [str(path) for path in before if after.get(path) != before[path]]
            problems += [f"a part replaced {path}" for path in changed]
        return [*problems, ran.output] if problems else []

    def _together(self, stage: Stage, account: Account, commands: Sequence[Command]) -> list[str]:
        asked_before = len(stage.server.requests)
        children = []
        for number, command in enumerate(commands):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    ran = self._run(stage, command)
                    (stage.home / f"ran{number}.txt").write_text(ran.output)
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if any(codes):
            return [f"two processes ended with {codes}"]
        outputs = [(stage.home / f"ran{number}.txt").read_text() for number in range(2)]
        folders = [_folder_in(output) for output in outputs]
        if folders[0] == folders[1]:
            return [f"two experiments share {folders[0]}", *outputs]
        expected = 0
        problems: list[str] = []
        for command, folder, output in zip(commands, folders, outputs, strict=True):
            covered, covered_after = self._covered(account, command, folder, None)
            problems += covered_after
            if covered is None:
                return [*problems, output]
            requests = account.ask(command, covered, self._server.mind)
            expected += sum(requests.values())
        order = sorted(range(2), key=lambda number: _number_of(folders[number]))
        for number in order:
            covered, _ = self._covered(account, commands[number], folders[number], None)
            assert covered is not None
            account.log(commands[number], folders[number].name, covered)
            for name, _ in commands[number].modes:
                run = account.runs[folders[number].name, name][-1]
                problems += self._compare(account, commands[number], folders[number], name, run)
        request_count = len(stage.server.requests) - asked_before
        if request_count != expected:
            problems.append(f"requests: {request_count}, expected {expected}")
        return [*problems, *outputs] if problems else []

    def _covered(
        self, account: Account, command: Command, folder: Path, ran: Ran | None
    ) -> tuple[dict[str, list[Question]] | None, list[str]]:
        """The questions of a command; those of a limit are learned once, then checked."""
        covered: dict[str, list[Question]] = {}
        for name, mode in command.modes:
            questions = account.of_mode(name, mode)
            limit = command.limit
            if limit is not None and limit < len(questions):
                cell = (name, mode, limit)
                if cell not in account.limited:
                    texts = _texts_of_newest_run(folder, name)
                    chosen = [question for question in questions if question.text in texts]
                    if len(chosen) != limit or len(texts) != limit:
                        return None, [f"--limit {limit} took {texts} of {name} {mode}"]
                    account.limited[cell] = chosen
                questions = account.limited[cell]
                smaller = account.limited.get((name, mode, 2), [])
                if limit == 4 and not {*smaller} <= {*questions}:
                    return None, [f"--limit 4 lacks some of --limit 2 of {name} {mode}"]
            covered[name] = questions
        return covered, []

    def _scored_again(
        self, stage: Stage, account: Account, command: Command, ran: Ran
    ) -> list[str]:
        problems = []
        if ran.requests:
            problems.append("--mode eval has sent requests")
        for name, mode in command.modes:
            newest = account.newest(name)
            if newest is None:
                if f"{name}: no log under" not in ran.output:
                    problems.append(f"{name}: there is no log, and that is not said")
                continue
            folder, runs = newest
            fitting = [
                run
                for run in runs
                if run.mode in (mode, "all")
                and (
                    run.limit is None or (command.limit is not None and run.limit >= command.limit)
                )
            ]
            if fitting and (mode == "all") <= (fitting[-1].mode == "all"):
                run_folder = stage.work_dir / "m" / folder
                problems += self._compare(account, command, run_folder, name, fitting[-1], mode)
        return problems

    def _compare(
        self,
        account: Account,
        command: Command,
        folder: Path,
        name: str,
        run: Logged,
        mode: str = "all",
    ) -> list[str]:
        """Compares the files that were written last with the account."""
        self.checks += 1
        answers = account.logged[folder.name, name, run.group]
        questions = [
            covered_question
            for covered_question in run.covered
            if mode in ("all", covered_question.split)
        ]
        if command.stage == "eval" and command.limit is not None:
            chosen = account.limited.get((name, run.mode, command.limit))
            if command.limit < len(questions):
                if chosen is None or mode != run.mode:
                    self.checks -= 1  # which these are was not seen yet
                    return []
                questions = chosen
        if not questions:  # the log holds a part without any sample of this mode
            self.checks -= 1
            return []
        pairs = [(question, answers[question]) for question in questions]
        files = sorted(
            folder.glob(f"m_{name}_samples*.jsonl"), key=lambda path: path.stat().st_mtime_ns
        )
        if not files:
            return [f"{folder.name}: no samples of {name}"]
        lines = files[-1].read_text().splitlines()[1:]
        samples = {sample["text"]: sample for sample in map(json.loads, lines)}
        verdicts = {text: (samples[text]["status"], bool(samples[text]["hit"])) for text in samples}
        expected = {question.text: (answer.status, answer.is_hit) for question, answer in pairs}
        if verdicts != expected:
            return [f"{folder.name} {name}: {verdicts}, expected {expected}"]
        ending = files[-1].name.partition("_samples")[2].replace(".jsonl", ".json")
        kind = "scores" if name == L1 else "score"
        scores = json.loads((folder / f"m_{name}_{kind}{ending}").read_text())
        figures = figures_in(scores, name)
        right = score(pairs, name)
        is_equal = figures.keys() == right.keys() and all(
            abs(figures[split] - right[split]) < 1e-9 for split in right
        )
        if not is_equal:
            return [f"{folder.name} {name}: figures {figures}, expected {right}"]
        return []


def _folder_in(output: str) -> Path:
    [folder] = re.findall(r'^model "m" → (\S+)', output, re.MULTILINE)
    return Path(folder)


def _records(folder: Path, name: str) -> Iterable[dict[str, Any]]:
    log = folder / f"m_{name}.jsonl"
    return map(json.loads, log.read_text().splitlines())


def _number_of(folder: Path) -> int:
    logs = folder.glob("m_*.jsonl")
    return max(
        json.loads(line)["seq"]
        for log in logs
        if "_samples" not in log.name and "_rotations" not in log.name
        for line in log.read_text().splitlines()
    )


def _texts_of_newest_run(folder: Path, name: str) -> set[str]:
    """The questions that the newest run in a log covers."""
    keys: list[str] = []
    texts: dict[str, str] = {}
    for record in _records(folder, name):
        if record["kind"] == "run":
            keys = record["samples"]
        elif record["kind"] == "answer":
            line = record["line"]
            texts[record["key"]] = line["question"] if name == L1 else line["instruction"]
    return {texts[key] for key in keys}


def _full_files(work_dir: Path) -> dict[Path, bytes]:
    """Everything that is read back and stands for all samples."""
    paths = [*work_dir.glob("m/T*/m_*.json"), *work_dir.glob("m/T*/m_*_samples.jsonl")]
    return {path: path.read_bytes() for path in paths if "_partial" not in path.name}


def main() -> int:
    """Plays all sequences and prints what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        sequences = Sequences(Path(name))
        for seed in range(options.seed, options.seed + options.count):
            sequences.play(seed)
            if (seed - options.seed) % 25 == 24:
                counts = f"{sequences.commands} commands, {sequences.checks} scorings compared"
                print(f"{seed}: {counts}, {len(sequences.differences)} differ", flush=True)
    counts = f"{options.count} sequences, {sequences.commands} commands"
    print(f"{counts}, {sequences.checks} scorings compared: {len(sequences.differences)} differ")
    return 1 if sequences.differences else 0


if __name__ == "__main__":
    sys.exit(main())
