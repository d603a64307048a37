"""Explains why two finished runs differ: for each sample the first thing that is not the same.

Samples are compared as the samples files have them, settings as the manifests have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from utils.comparing import words
from utils.comparing.files import SAMPLE_COLUMNS, as_csv, sample_row
from utils.comparing.pairing import SamplePair, pairs_of_samples
from utils.comparing.runs import ComparedRun
from utils.config.endpoint import parse_endpoint
from utils.contracts import Facts
from utils.coordinates import format_size
from utils.errors import UserError
from utils.geometry.images import is_url
from utils.protocol import IMPORTED, noun_of_question
from utils.scoring.sheets import write_text
from utils.store.folder import safe_name
from utils.store.logged_config import FUNCTION_CODE
from utils.store.run_facts import asking_entry, model_entry, parse_function, scoring_entry
from utils.text import as_json_text, counted, printable

STAGES: Mapping[str, Callable[[Facts], str]] = {
    "image": lambda facts: facts.get("image_digest") or "unknown",
    "image sent": lambda facts: format_size(facts.get("sent_wh") or facts["file_wh"]),
    "size seen": words.OF_A_SAMPLE["seen"],
    "prompt tokens": words.OF_A_SAMPLE["prompt_tokens"],
    "reply": lambda facts: words.plain(str(facts.get("raw") or words.reply_text(facts))),
    "postprocess": words.processed_text,
    "parse": words.parsed_text,
    "verdict": words.OF_A_SAMPLE["verdict"],
}
"""Stages of a sample after its messages, each with its text; equal texts mean no difference."""
HINTS = {
    "image": ": the file was replaced between the runs",
    "prompt tokens": " with the same messages and image: other pixel limits, another chat template "
    "(a default system message, the generation prompt), or special tokens that one side adds",
    "reply": ", with the same messages, image and settings: dtype, attention kernel or batching "
    "(rounding), generation settings of the checkpoint, sampling, or other weights",
    "postprocess": ", for the same reply",
}
_OF_SAME_MESSAGES = ("prompt tokens", "reply")  # stages whose hints go by equal messages
_LONGEST_TEXT = 80  # characters of a message or reply
_OTHER_NAMES = {"max_new_tokens": "max_tokens", "max_completion_tokens": "max_tokens"}
_COMPUTING = ("dtype", "attn_implementation")  # a server's own business


def explain(a: ComparedRun, b: ComparedRun, folder: Path | None) -> bool:
    """Print why two runs differ; return whether all replies are the same.

    Args:
        a: the baseline.
        b: the run that is held against it.
        folder: for a CSV file of each data set, which has every sample; None: no files.
    """
    is_same = True
    for text in _in_words(different_rules(a, b), a, b):
        print(printable(text))
    settings = _in_words(different_settings(a, b), a, b)
    for dataset in dict.fromkeys([*a.sets, *b.sets]):
        if dataset not in a.sets or dataset not in b.sets:
            print(f"\n{dataset} is in one run only; left out")
            continue
        pairs = pairs_of_samples(b.sets[dataset], a.sets[dataset])
        functions = _in_words(different_functions(a, b, [dataset]), a, b)
        parsers = [text for text in functions if text.startswith(_parser_key(dataset))]
        others = [text for text in functions if text not in parsers]
        causes = [
            first_difference(pair, a.label, b.label, [*settings, *others], parsers)
            for pair in pairs
        ]
        count = counted(len(pairs), noun_of_question(a.sets[dataset].level))
        title = f"{dataset}: {a.label} and {b.label}, {count}"
        print(f"\n{printable(title)}")
        for line in _summary(pairs, settings, functions, causes):
            print(f"  {printable(line)}")
        if folder is not None:
            rows = (
                {**sample_row(pair), "cause": cause, "detail": detail}
                for pair, (cause, detail) in zip(pairs, causes, strict=True)
            )
            text = as_csv((*SAMPLE_COLUMNS, "cause", "detail"), rows)
            name = "_".join(map(safe_name, (a.label, b.label, dataset))) + ".csv"
            print(f"File: {write_text(folder / name, text)}")
        if not pairs or any(len(set(_both(pair, "reply"))) > 1 for pair in pairs):
            is_same = False
    return is_same


def _in_words(
    differences: Sequence[tuple[str, str, str]], a: ComparedRun, b: ComparedRun
) -> list[str]:
    return [
        f"{name}: {in_a} (in {a.label}), {in_b} (in {b.label})" for name, in_a, in_b in differences
    ]


def first_difference(
    pair: SamplePair, a: str, b: str, settings: Sequence[str], parsers: Sequence[str]
) -> tuple[str, str]:
    """Return the kind of the first difference and its words; two empty texts where there is none.

    Args:
        pair: the sample in both runs.
        a: name of the baseline.
        b: name of the run.
        settings: those that differ between them, in words.
        parsers: the parse functions, in words, if they differ. They are the cause where equal
            replies are read otherwise, whatever was sent.
    """
    states = [facts["status"] for facts in (pair.baseline, pair.run)]
    if states != ["ok", "ok"]:
        return "no answer", f"{states[0]} in {a}, {states[1]} in {b}"
    is_same_text = all(len(set(_both(pair, stage))) == 1 for stage in ("reply", "postprocess"))
    if parsers and is_same_text and len(set(_both(pair, "parse"))) > 1:
        text_a, text_b = _both(pair, "parse")
        return "parse", f"{text_a} in {a}, {text_b} in {b}, of the same reply: {parsers[0]}"
    detail = _different_messages(pair, a, b)
    if detail:
        return "messages", detail
    for stage in STAGES:
        text_a, text_b = _both(pair, stage)
        if text_a == text_b or "unknown" in (text_a, text_b):
            continue
        if stage == "reply" and settings:
            return "settings", "; ".join(settings)
        text_a = words.one_line(text_a, _LONGEST_TEXT)
        text_b = words.one_line(text_b, _LONGEST_TEXT)
        hint = HINTS.get(stage, "")
        if changed_code := [text for text in settings if text.startswith("code of the ")]:
            hint = f". What may explain it: {'; '.join(changed_code)}"
        if stage in _OF_SAME_MESSAGES and not _are_messages_known(pair):
            hint = ""
        return stage, f"{text_a} in {a}, {text_b} in {b}{hint}"
    return "", ""


def _both(pair: SamplePair, stage: str) -> tuple[str, str]:
    return STAGES[stage](pair.baseline), STAGES[stage](pair.run)


def _are_messages_known(pair: SamplePair) -> bool:
    """Whether both runs kept the messages; samples files have none of episodes."""
    return bool(pair.baseline.get("prompt") and pair.run.get("prompt"))


def _different_messages(pair: SamplePair, a: str, b: str) -> str:
    """Return the first message that is not the same in both runs, in words; "" if all are."""
    if not _are_messages_known(pair):
        return ""
    for message_a, message_b in zip_longest(pair.baseline["prompt"], pair.run["prompt"]):
        if message_a != message_b:
            return f"{a} sends {_message_text(message_a)}; {b} sends {_message_text(message_b)}"
    return ""


def _message_text(message: Mapping[str, Any] | None) -> str:
    if message is None:
        return "no more"
    text = f"{message['role']} {message['type']}"
    if message["value"]:  # that of an image is not kept
        text += f" {words.one_line(message['value'], _LONGEST_TEXT)!r}"
    return text


def different_settings(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str, str]]:
    """Return settings that are not the same in both runs' configs: name, in `a`, in `b`.

    None are known of answers made elsewhere.
    """
    if IMPORTED in a.manifest or IMPORTED in b.manifest:
        return []
    names_of_server = _served_as(a), _served_as(b)
    differences = _different(*names_of_server) if all(names_of_server) else []
    differences += _different(_settings_of(a), _settings_of(b))
    return [
        (name, in_a, in_b)
        for name, in_a, in_b in differences
        if name not in _COMPUTING or "unset" not in (in_a, in_b)
    ]


def different_rules(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str, str]]:
    """Return by what the data sets of two runs were scored, where that differs."""
    return [
        (f"{dataset}, scored by", a.scored_by(dataset), b.scored_by(dataset))
        for dataset in a.sets
        if dataset in b.sets and a.scored_by(dataset) != b.scored_by(dataset)
    ]


def different_functions(
    a: ComparedRun, b: ComparedRun, datasets: Collection[str] = ()
) -> list[tuple[str, str, str]]:
    """Return the user's functions that differ between both configs: name, in `a`, in `b`.

    Those of all data sets, or of the given ones.
    """
    names = datasets or a.sets.keys() & b.sets.keys()
    functions = [_functions_of(run, datasets or run.sets) for run in (a, b)]
    return [*_different(*functions), *_different_code(a, b, names)]


def _different_code(
    a: ComparedRun, b: ComparedRun, datasets: Collection[str]
) -> list[tuple[str, str, str]]:
    """Return the functions of the same name whose code differs, as far as it was recorded."""
    differences: dict[str, tuple[str, str, str]] = {}
    for dataset in datasets:
        code_a, code_b = (run.entry(dataset).get(FUNCTION_CODE) or {} for run in (a, b))
        for stage in code_a.keys() & code_b.keys():
            if code_a[stage] != code_b[stage]:
                name = f"code of the {stage} function"
                differences[name] = (name, code_a[stage][:8], code_b[stage][:8])
    return list(differences.values())


def _different(in_a: Mapping[str, Any], in_b: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, as_json_text(in_a.get(name, "unset")), as_json_text(in_b.get(name, "unset")))
        for name in dict.fromkeys([*in_a, *in_b])
        if in_a.get(name) != in_b.get(name)
    ]


def _parser_key(dataset: str) -> str:
    return f"{dataset}.parse_function"


def _functions_of(run: ComparedRun, datasets: Collection[str]) -> dict[str, str]:
    """Return dotted paths by what they are for, of these data sets."""
    manifest = run.manifest
    paths = {"preprocess_function": model_entry(manifest).get("preprocess_function")}
    postprocess = [scoring_entry(manifest, name).get("postprocess_function") for name in datasets]
    paths["postprocess_function"] = ", ".join(filter(None, dict.fromkeys(postprocess)))
    for dataset in datasets:
        prompts = asking_entry(manifest, dataset).get("custom_prompt") or {}
        paths[f"custom_prompt.{dataset}"] = prompts.get(dataset)
        paths[_parser_key(dataset)] = parse_function(manifest, dataset)
    return {name: str(path) for name, path in paths.items() if path}


def _served_as(run: ComparedRun) -> dict[str, str]:
    """Return the model name sent to the server; empty for local checkpoints."""
    entry = model_entry(run.manifest)
    if entry.get("imp_type") != "openai" or not is_url(entry.get("model_path")):
        return {}
    return {"model": parse_endpoint(entry["model_path"]).model}


def _settings_of(run: ComparedRun) -> dict[str, Any]:
    """The settings in a run's model entry that decide how replies are made, by name."""
    entry = model_entry(run.manifest)
    options: dict[str, Any] = dict(entry.get("generate_cfg") or {})
    options |= options.pop("extra_body", None) or {}
    settings = {_OTHER_NAMES.get(name, name): value for name, value in options.items()}
    if entry.get("imp_type") == "transformers" and not settings.pop("do_sample", False):
        settings["temperature"] = 0
    for name, value in (entry.get("kwargs") or {}).items():
        settings[f"kwargs.{name}"] = value
    for name in ("serve_args", *_COMPUTING):
        settings[name] = entry.get(name)
    unset: tuple[Any, ...] = (None, "", "auto", [], {})
    return {name: value for name, value in settings.items() if value not in unset}


def _summary(
    pairs: Sequence[SamplePair],
    settings: Sequence[str],
    functions: Sequence[str],
    causes: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """Yield how much is equal, then the causes, the most frequent first, each with an example."""
    for stage in ("size seen", "prompt tokens", "reply", "verdict"):
        texts = [_both(pair, stage) for pair in pairs]
        comparable = [both_texts for both_texts in texts if "unknown" not in both_texts]
        equal = sum(text_a == text_b for text_a, text_b in comparable)
        if comparable:
            yield f"{stage:<20}equal in {equal} of {len(comparable)}"
        else:
            yield f"{stage:<20}unknown on one side or both"
    for setting in settings:
        yield f"setting             {setting}"
    for function in functions:
        yield f"function            {function}"
    # Which run is right is not the same in all samples whose verdicts differ.
    kinds = [(cause, detail if cause == "verdict" else "") for cause, detail in causes if cause]
    counts = Counter(kinds)
    examples: dict[str, str] = {}
    for cause, detail in causes:
        examples.setdefault(cause, detail)
    for (cause, detail), count in counts.most_common():
        yield f"{count} x {cause}: {detail or examples[cause]}"
    if not counts:
        yield "nothing differs" if pairs else "no sample has an answer on both sides"


def two_models(
    configs: Sequence[Path], models: Sequence[Sequence[str]], requested: Sequence[str]
) -> list[str]:
    """Return the two models that `--parity` compares: one of each config, or two of the same one.

    Args:
        configs: the two files; the same one twice for two models of it.
        models: the names in each config.
        requested: those given with `--model`.

    Raises:
        UserError: it is not clear which models are meant, or both have one name.
    """
    all_names = {name for names in models for name in names}
    unknown = [name for name in requested if name not in all_names]
    if unknown:
        raise UserError(f"--model {', '.join(unknown)}: in neither config")
    choices = list(zip(configs, models, strict=True))
    count, expected = 1, "one model of each config"
    if configs[0].resolve() == configs[1].resolve():
        choices = choices[:1]
        count, expected = 2, "two models of its own config"
    pair: list[str] = []
    for config, names in choices:
        chosen = [name for name in names if name in requested] or list(names)
        if len(chosen) != count:
            raise UserError(
                f"{config}: has {len(chosen)} models ({', '.join(chosen)}); --parity "
                f"compares {expected}; name them with --model"
            )
        pair += chosen
    if pair[0] == pair[1]:
        raise UserError(f'--parity: both configs call their model "{pair[0]}"; rename one')
    return pair
