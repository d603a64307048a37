"""Why two finished runs differ: for each sample the first thing that is not the same on its way.

Samples are compared as the samples files have them, settings as the manifests have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from utils.comparing import words
from utils.comparing.files import SAMPLE_COLUMNS, as_csv, sample_row
from utils.comparing.pairing import SamplePair
from utils.comparing.runs import ComparedRun
from utils.config.endpoint import parse_endpoint
from utils.contracts import Facts
from utils.coordinates import format_size
from utils.errors import UserError
from utils.images import is_url
from utils.protocol import noun_of
from utils.report.run_facts import model_entry, parse_functions
from utils.runs.folder import safe_name
from utils.scoring.sheets import write_text
from utils.text import counted, printable

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
"""What a sample passes after its messages; where nothing differs, both runs have the same text."""
HINTS = {
    "image": ": the file was replaced between the runs",
    "prompt tokens": " with the same messages and image: other pixel limits, another chat template "
    "(a default system message, the generation prompt), or special tokens that one side adds",
    "reply": ", with the same messages, image and settings: dtype, attention kernel or batching "
    "(rounding), generation settings that a checkpoint brings along, sampling, or other weights",
    "postprocess": ", of the same reply",
}
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
    settings = [
        f"{name} {ours} in {a.label}, {theirs} in {b.label}"
        for name, ours, theirs in different_settings(a, b)
    ]
    for dataset in dict.fromkeys([*a.sets, *b.sets]):
        if dataset not in a.sets or dataset not in b.sets:
            print(f"\nparity: {dataset} is in one run only; left out")
            continue
        ours, theirs = a.sets[dataset].samples, b.sets[dataset].samples
        pairs = [SamplePair(theirs[key], ours[key]) for key in ours if key in theirs]
        causes = [first_difference(pair, a.label, b.label, settings) for pair in pairs]
        both = f"{a.label} and {b.label}, {counted(len(pairs), noun_of(a.sets[dataset].level))}"
        print(f"\n{printable(f'parity on {dataset}: {both}')}")
        for line in _found(pairs, settings, causes):
            print(f"  {printable(line)}")
        if folder is not None:
            rows = (
                {**sample_row(pair), "cause": cause, "detail": detail}
                for pair, (cause, detail) in zip(pairs, causes, strict=True)
            )
            text = as_csv((*SAMPLE_COLUMNS, "cause", "detail"), rows)
            name = "_".join(map(safe_name, (a.label, b.label, dataset))) + ".csv"
            print(f"File: {write_text(folder / name, text)}")
        is_same &= bool(pairs) and all(len(set(_both(pair, "reply"))) == 1 for pair in pairs)
    return is_same


def first_difference(pair: SamplePair, a: str, b: str, settings: Sequence[str]) -> tuple[str, str]:
    """Its kind and its words; two empty texts where nothing differs.

    Args:
        a, b: names of the baseline and of the run.
        settings: those that differ between them, in words.
    """
    states = [facts["status"] for facts in (pair.baseline, pair.run)]
    if states != ["ok", "ok"]:
        return "no answer", f"{states[0]} in {a}, {states[1]} in {b}"
    if detail := _messages(pair, a, b):
        return "messages", detail
    for cause in STAGES:
        ours, theirs = _both(pair, cause)
        if ours != theirs and "unknown" not in (ours, theirs):
            if cause == "reply" and settings:
                return "settings", "; ".join(settings)
            shown = [words.one_line(text, _LONGEST_TEXT) for text in (ours, theirs)]
            return cause, f"{shown[0]} in {a}, {shown[1]} in {b}{HINTS.get(cause, '')}"
    return "", ""


def _both(pair: SamplePair, stage: str) -> tuple[str, str]:
    return STAGES[stage](pair.baseline), STAGES[stage](pair.run)


def _messages(pair: SamplePair, a: str, b: str) -> str:
    ours, theirs = pair.baseline.get("prompt") or (), pair.run.get("prompt") or ()
    if not ours or not theirs or ours == theirs:
        return ""
    both = next(both for both in zip_longest(ours, theirs) if both[0] != both[1])
    shown = [
        f"{part['role']} {part['type']}"  # the value of an image is not kept
        + (f" {words.one_line(part['value'], _LONGEST_TEXT)!r}" if part["value"] else "")
        if part
        else "no more"
        for part in both
    ]
    return f"{a} sends {shown[0]}, {b} {shown[1]}"


def different_settings(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str, str]]:
    """Settings that are not the same in both runs' configs: name, in `a`, in `b`."""
    found = _different(_served_as(a), _served_as(b)) if _served_as(a) and _served_as(b) else []
    found += _different(_settings_of(a), _settings_of(b))
    return [each for each in found if each[0] not in _COMPUTING or "unset" not in each[1:]]


def different_functions(a: ComparedRun, b: ComparedRun) -> list[tuple[str, str, str]]:
    """Functions of the user's own that are not the same in both configs: name, in `a`, in `b`."""
    return _different(_functions_of(a), _functions_of(b))


def _different(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, str(ours.get(name, "unset")), str(theirs.get(name, "unset")))
        for name in dict.fromkeys([*ours, *theirs])
        if ours.get(name) != theirs.get(name)
    ]


def _functions_of(run: ComparedRun) -> dict[str, str]:
    """Dotted paths by what they are for, of the data sets that were scored."""
    entry, parsers = model_entry(run.manifest), parse_functions(run.manifest)
    found = {name: entry.get(name) for name in ("preprocess_function", "postprocess_function")}
    for dataset in run.sets:
        found[f"custom_prompt.{dataset}"] = (entry.get("custom_prompt") or {}).get(dataset)
        found[f"{dataset}.parse_function"] = parsers.get(dataset)
    return {name: str(path) for name, path in found.items() if path}


def _served_as(run: ComparedRun) -> dict[str, str]:
    """What a server calls the model; a checkpoint that is compared with one has another name."""
    entry = model_entry(run.manifest)
    is_served = entry.get("imp_type") == "openai" and is_url(entry.get("model_path"))
    return {"model": parse_endpoint(entry["model_path"]).model} if is_served else {}


def _settings_of(run: ComparedRun) -> dict[str, Any]:
    """What a run's model entry says about how replies are made, by name."""
    entry = model_entry(run.manifest)
    found = dict(entry.get("generate_cfg") or {})
    found |= found.pop("extra_body", None) or {}
    found = {_OTHER_NAMES.get(name, name): value for name, value in found.items()}
    if entry.get("imp_type") == "transformers" and not found.pop("do_sample", False):
        found["temperature"] = 0
    found |= {f"kwargs.{name}": value for name, value in (entry.get("kwargs") or {}).items()}
    found |= {name: entry.get(name) for name in ("serve_args", *_COMPUTING)}
    return {name: value for name, value in found.items() if value not in (None, "", "auto", [], {})}


def _found(
    pairs: Sequence[SamplePair], settings: Sequence[str], causes: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """What was found, the most frequent cause first, each with its first sample's words."""
    for stage in ("size seen", "prompt tokens", "reply", "verdict"):
        known = [both for pair in pairs if "unknown" not in (both := _both(pair, stage))]
        equal = f"equal in {sum(ours == theirs for ours, theirs in known)} of {len(known)}"
        yield f"{stage:<20}{equal if known else 'not known on both sides'}"
    yield from (f"setting             {text}" for text in settings)
    first = dict(reversed(causes))
    for cause, count in Counter(cause for cause, _ in causes if cause).most_common():
        yield f"{count} x {cause}: {first[cause]}"
    if not any(first):
        yield "nothing differs" if pairs else "no sample has an answer on both sides"


def two_models(
    configs: Sequence[Path], models: Sequence[Sequence[str]], wanted: Sequence[str]
) -> list[str]:
    """The two models that `--parity` compares: one of each config, or two of the same one.

    `models` are the names in each config, `wanted` those given with `--model`.

    Raises:
        UserError: it is not clear which models are meant, or both have one name.
    """
    if unknown := [name for name in wanted if not any(name in each for each in models)]:
        raise UserError(f"--model {', '.join(unknown)}: in neither config")
    is_one = configs[0].resolve() == configs[1].resolve()
    meant = "two models of its own config" if is_one else "one model of each config"
    found: list[str] = []
    for config, names in list(zip(configs, models, strict=True))[: 1 if is_one else 2]:
        chosen = [name for name in names if name in wanted] or names
        if len(chosen) != (2 if is_one else 1):
            raise UserError(
                f"{config}: has {len(chosen)} models ({', '.join(chosen)}); --parity "
                f"compares {meant}; name them with --model"
            )
        found += chosen
    if found[0] == found[1]:
        raise UserError(f'--parity: both configs call their model "{found[0]}"; rename one')
    return found
