"""A scored run as exports read it: its samples, figures, settings, and what to say beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.contracts import Facts
from utils.errors import UserError
from utils.exchange.export.rows import is_answered
from utils.findings import BESIDE_THE_SCORE, findings_in, is_warning
from utils.protocol import (
    ACTING,
    FOLLOW_UP,
    IMPORTED,
    MADE_ELSEWHERE,
    SINGLE,
    official_figures,
    official_text,
)
from utils.store.derived import MANIFEST_NAME, ScoredFiles, read_json, whole_scorings
from utils.store.find import find_run, is_import
from utils.store.folder import safe_name
from utils.store.logged_config import scored_with
from utils.store.run_facts import (
    SAMPLE,
    asking_entry,
    data_kind,
    is_whole,
    model_entry,
    parse_function,
    scoring_config,
    scoring_entry,
)
from utils.text import as_json_text, listed

MICRO = "micro"
SHOWN_SETTINGS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "max_new_tokens")


@dataclass(frozen=True)
class ExportedSet:
    """One data set of a run that was scored.

    Attributes:
        entry: of the manifest.
        samples: their facts, in file order.
        is_of_checkpoint: a model in this process has answered, whose postprocess function reads
            token ids.
    """

    name: str
    level: str
    is_partial: bool
    entry: Mapping[str, Any]
    analysis: Mapping[str, Any]
    scores: Mapping[str, Any]
    samples: Sequence[Facts]
    is_of_checkpoint: bool

    def response_of(self, facts: Facts) -> str | None:
        """The response as it came; None without an answer, or where a point alone is known.

        That of a checkpoint is the reply after the postprocess function: nobody can call this
        function again without the token ids.
        """
        if not is_answered(facts):
            return None
        response = facts.get("prediction")
        if not self.is_of_checkpoint:
            response = facts.get("raw", response)
        return response if isinstance(response, str) else None

    def reply_of(self, facts: Facts) -> str | None:
        """A response that says by itself where the click was.

        That of a second look at a crop does not: its numbers are those of the crop. Nor does that
        of a second request: the parse function may have read the earlier replies.
        """
        is_click = "declined" in facts  # letters and actions have no point in their place
        if facts.get("zoom") or (self.has_follow_up and is_click):
            return None
        return self.response_of(facts)

    @property
    def has_episodes(self) -> bool:
        """Whether its samples are episodes: of L3 and L4, or imported ones of a live world."""
        return self.level in ACTING or any("ended" in facts for facts in self.samples)

    @property
    def has_follow_up(self) -> bool:
        """Whether a function of the user's has asked again after a reply."""
        return bool(self.entry.get("protocol") == FOLLOW_UP)

    @property
    def has_replies_alone(self) -> bool:
        """Whether each answer is one reply, which says by itself what was answered."""
        if self.has_episodes or self.has_follow_up:
            return False
        answered = filter(is_answered, self.samples)
        return all(self.reply_of(facts) is not None for facts in answered)

    @property
    def table(self) -> str:
        """The name of its annotations, with the settings that change what is asked."""
        return str((self.entry.get("annotations") or {}).get("file") or "")

    @property
    def figures(self) -> dict[str, dict[str, Any]]:
        """The official figures by name: value, low and high in percent, samples."""
        return {} if self.entry.get("no_score") else official_figures(self.analysis)

    @property
    def headlines(self) -> dict[str, dict[str, Any]]:
        """The one figure that stands for it, by its name and rule; and the micro average."""
        figures = self.figures
        if not figures:
            return {}
        name = [*figures][-1]
        title = official_text(self.analysis) or name
        cells = {title: figures[name]}
        micro = (self.analysis.get("averages") or {}).get(MICRO)
        if micro:  # of tables whose official figure is another one
            cells[f"{MICRO} over all rows"] = micro
        return cells

    @property
    def doubts(self) -> list[str]:
        """The warnings of audits that are about its official figure."""
        return [
            finding.headline
            for section, finding in findings_in(self.analysis)
            if is_warning(finding) and section not in BESIDE_THE_SCORE
        ]

    @property
    def why_no_figure(self) -> str:
        """The reason why its figure is no result on a published table; "" if it is one."""
        if not self.figures:
            return f"has no score ({self.entry.get('no_score') or 'not all parts were scored'})"
        if is_whole(self.entry, is_partial=self.is_partial):
            return ""
        if data_kind(self.entry) == SAMPLE:
            return "is the sample data of the program (drawn screens)"
        if self.is_partial or self.entry.get("mode") != "all" or self.entry.get("left_out"):
            return f"is a part of the data set ({len(self.samples):,} samples)"
        return "was not scored on the published data (checksum or number of rows)"


@dataclass(frozen=True)
class ExportedRun:
    """A run, or an import, with the data sets that are exported.

    Attributes:
        task_id: of the data set's leaderboard on the hub; "" where nobody has said it.
    """

    folder: Path
    model: str
    manifest: Mapping[str, Any]
    sets: Sequence[ExportedSet]
    task_id: str = ""

    @property
    def imported(self) -> Mapping[str, Any] | None:
        """The known facts about answers made elsewhere; None: it is a run."""
        origin: Mapping[str, Any] | None = self.manifest.get(IMPORTED)
        return {} if origin is None and is_import(self.folder) else origin

    @property
    def file_stem(self) -> str:
        """The name of the model as files have it, with the mark of an import."""
        return safe_name(self.model) + ("" if self.imported is None else f"_{IMPORTED}")

    @property
    def entry(self) -> Mapping[str, Any]:
        """The model's entry in the config of the newest scoring, without secrets."""
        return model_entry({**self.manifest, "config": self.config})

    def scoring_config(self, dataset: ExportedSet) -> Mapping[str, Any]:
        """The config that a data set was scored with; empty: the manifest does not say."""
        return scored_with(self.manifest, dataset.name)

    def scoring_entry(self, dataset: ExportedSet) -> Mapping[str, Any]:
        """The model's entry in that config."""
        return scoring_entry(self.manifest, dataset.name)

    @property
    def config(self) -> Mapping[str, Any]:
        """The config of the newest scoring, without secrets."""
        return scoring_config(self.manifest)

    def parse_function(self, dataset: ExportedSet) -> str | None:
        """The dotted path of what reads the replies; None: the user has named none."""
        return parse_function(self.manifest, dataset.name)

    @property
    def commit(self) -> str:
        """The commit of this program that has scored it."""
        return str(((self.manifest.get("scoring") or {}).get("git") or {}).get("commit") or "")

    @property
    def made_at(self) -> str:
        """When the answers were made, as ISO 8601 text."""
        asking = self.manifest.get("asking") or {}
        return str(asking.get("ended_at") or asking.get("started_at") or "")

    @property
    def hub_id(self) -> str:
        """`organisation/name` on the hub, where the config names no folder that is here."""
        path = str(self.entry.get("model_path") or "")
        is_name = path.count("/") == 1 and not path.startswith((".", "/", "~", "…"))
        is_of_hub = is_name and self.entry.get("imp_type") != "custom" and not Path(path).exists()
        return path if is_of_hub else ""

    def versions_of_servers(self, dataset: ExportedSet) -> list[str]:
        """The kinds and versions of the servers that answered, as far as they are known."""
        versions = {
            " ".join(str(row[name]) for name in ("kind", "version") if row.get(name))
            for row in dataset.entry.get("servers") or ()
        }
        return sorted(filter(None, versions))

    def notes(self, dataset: ExportedSet) -> str:
        """The notes to show beside a figure: rows, protocol, prompt, interval, versions, doubts."""
        entry = dataset.entry
        title, cell = next(iter(dataset.headlines.items()))
        parts = [f"{title}, {cell['samples']:,} rows"]
        if self.imported is not None:
            origin = self.imported
            parts.append(f"{MADE_ELSEWHERE}: {origin.get('file')} ({origin.get('format')})")
        else:
            parts += self._how_asked(dataset)
        without_answer = sum(not is_answered(facts) for facts in dataset.samples)
        if without_answer:
            parts.append(f"{without_answer:,} without an answer (wrong in the score)")
        if cell.get("low") is not None:
            parts.append(f"95 % interval {cell['low']:.1f} to {cell['high']:.1f}")
        parts += self.versions_of_servers(dataset)
        if entry.get("repeats", 1) > 1:
            parts.append(f"{entry['repeats']} replies to each row")
        usual = "the default of the data set"
        if not self.scoring_config(dataset):
            usual = "an unknown parse function"
        reader = self.parse_function(dataset)
        parts.append(f"replies read by {reader or usual}")
        parts.append(f"MMBench-GUI evaluator, commit {self.commit[:8] or 'unknown'}")
        parts += [f"DOUBTED BY AN AUDIT: {doubt}" for doubt in dataset.doubts]
        return "; ".join(parts)

    def _how_asked(self, dataset: ExportedSet) -> list[str]:
        """Protocol, prompt and settings of a run."""
        protocol = dataset.entry.get("protocol", SINGLE)
        looks = "one look" if protocol == SINGLE else f"asked twice ({protocol})"
        entry = asking_entry(self.manifest, dataset.name)
        prompt = (entry.get("custom_prompt") or {}).get(dataset.name)
        recipe = entry.get("recipe")
        source = f"prompt of the recipe {recipe}" if recipe else "prompt of the data set"
        if prompt and not recipe:
            source = f"own prompt {prompt}"
        settings = entry.get("generate_cfg") or {}
        setting_texts = [
            f"{name} {as_json_text(settings[name])}" for name in SHOWN_SETTINGS if name in settings
        ]
        return [looks, source, *setting_texts]


def open_run(path: Path, datasets: Sequence[str] = (), task_id: str = "") -> ExportedRun:
    """Open a scored run for export.

    Args:
        path: of the run's folder, or of a model's: its newest run then.
        datasets: names or levels of those that are exported; empty: all.
        task_id: of the data set's leaderboard on the hub.

    Raises:
        UserError: there is no such run, or it was not scored on one of the data sets.
    """
    folder = find_run(path)
    files = whole_scorings(folder)
    manifest = read_json(folder / MANIFEST_NAME)
    for name in datasets:
        if not any(_is_named(scored, name) for scored in files.values()):
            raise UserError(
                f"--data {name}: {folder} was not scored on this data set; it was scored on "
                f"{listed([*files])}"
            )
    chosen = {
        name: scored
        for name, scored in files.items()
        if not datasets or any(_is_named(scored, requested) for requested in datasets)
    }
    sets = [_set_of(scored, manifest) for scored in chosen.values()]
    model = next(iter(files.values())).model
    return ExportedRun(folder, model, manifest, sets, task_id)


def _is_named(scored: ScoredFiles, name: str) -> bool:
    return name.casefold() in (scored.dataset.casefold(), scored.level.casefold())


def _set_of(scored: ScoredFiles, manifest: Mapping[str, Any]) -> ExportedSet:
    entry = (manifest.get("datasets") or {}).get(scored.dataset) or {}
    scored_entry = scoring_entry(manifest, scored.dataset) or model_entry(manifest)
    return ExportedSet(
        name=scored.dataset,
        level=scored.level,
        is_partial=scored.is_partial,
        entry=entry,
        analysis=scored.analysis,
        scores=scored.scores,
        samples=list(scored.facts()),
        is_of_checkpoint=scored_entry.get("imp_type") == "transformers",
    )
