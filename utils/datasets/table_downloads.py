"""Fetch the data sets beside MMBench-GUI from the Hugging Face hub, or from GitHub.

Files go where the benchmarks read them; what is there already is not fetched again. Sizes and
licences are those that the data sets' pages name. None of it was ever run against the real servers.
"""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.datasets.github import fetch_folder
from utils.datasets.hub import Hub, hub_endpoint
from utils.errors import UserError

BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""The errors of reading a damaged zip: its list of files or their content."""
REVISION_FILE = ".revision.json"


@dataclass(frozen=True)
class TableFiles:
    """The source of a table's files."""

    name: str
    folder: str  # below LMUData
    repo_id: str = ""  # on the hub; "": not there in the authors' format
    patterns: tuple[str, ...] = ()
    archive: str = ""  # a zip with the images
    images: str = ""  # the folder that it is unpacked into
    size: str = "size not known"
    licence: str = "licence: see the data set's page"
    by_hand: str = ""
    github: str = ""  # "owner/name" where it is published there
    github_folder: str = ""
    github_file: tuple[str, str] = ("", "")  # the one that is read: its name there, its name here
    keeps_folders: bool = False  # images of one name in several folders of the zip
    afterwards: str = ""  # what is left to do by hand

    @property
    def source(self) -> str:
        """Return the source in words."""
        if self.github:
            return " and ".join(filter(None, (f"github.com/{self.github}", self.repo_id)))
        return self.repo_id or "to be fetched by hand; the command says how"


TABLES = {
    table.name: table
    for table in (
        TableFiles(
            "ScreenSpot",
            "ScreenSpot",
            by_hand="the authors publish it with SeeClick (njucckevin/SeeClick on GitHub): put "
            "screenspot_mobile.json, screenspot_desktop.json and screenspot_web.json there, and "
            "the images into screenspot_imgs/. Mirrors on the hub have boxes in another convention",
        ),
        TableFiles(
            "ScreenSpotV2",
            "ScreenSpot-v2",
            "OS-Copilot/ScreenSpot-v2",
            ("screenspot_*_v2.json",),
            archive="screenspotv2_image.zip",
            images="screenspotv2_image",
            size="1.3 GB",
            licence="Apache-2.0",
        ),
        TableFiles(
            "ScreenSpotPro",
            "ScreenSpot-Pro",
            "likaixin/ScreenSpot-Pro",
            ("annotations/*.json", "images/**"),
        ),
        TableFiles(
            "OSWorldG",
            "OSWorld-G",
            licence="Apache-2.0",
            github="xlang-ai/OSWorld-G",
            github_folder="benchmark/",
        ),
        TableFiles(
            "UIVision",
            "ui-vision",
            "ServiceNow/ui-vision",
            ("annotations/element_grounding/*.json", "images/element_grounding/**"),
            licence="MIT",
        ),
        TableFiles(
            "VenusBenchGD",
            "VenusBench-GD",
            "inclusionAI/VenusBench-GD",
            ("instruction/*.json", "images/**"),
            licence="MIT",
        ),
        TableFiles(
            "UII2E",
            "I2E-Bench",
            "vaundys/I2E-Bench",
            ("*.jsonl", "screenshot/**"),
        ),
        TableFiles(
            "AndroidControl",
            "AndroidControl",
            "demisama/UGround-Offline-Evaluation",
            archive="AndroidControl_images.zip",
            images="images",
            licence="MIT (steps); images: see their page",
            github="X-PLUG/MobileAgent",
            github_folder="UI-S1/evaluation/dataset/",
            github_file=("android_control_evaluation_std.jsonl", "android_control_test.jsonl"),
            keeps_folders=True,
        ),
        TableFiles(
            "GUIOdyssey",
            "GUIOdyssey",
            "hflqf88888/GUIOdyssey",
            ("annotations/*.json", "splits/*.json"),
            size="without its screenshots",
            afterwards="the screenshots are a zip in parts (screenshots.z01, ..., over 90 GB): "
            "fetch them from the same page, join and unpack them into screenshots/",
        ),
        TableFiles(
            "AITZ",
            "AITZ",
            by_hand="the authors publish it on Google Drive; IMNearth/CoAT on GitHub has the link: "
            "put its folder test/ there (test/general/<episode>/<episode>.json, ...)",
        ),
        TableFiles(
            "CAGUI",
            "CAGUI",
            "openbmb/CAGUI",
            ("CAGUI_agent/**",),
            licence="CC-BY-NC-4.0",
        ),
        TableFiles(
            "AgentNetBench",
            "AgentNetBench",
            licence="MIT",
            by_hand="the authors name the place in evaluation/agentnetbench of xlang-ai/OpenCUA on "
            "GitHub: put its folder single_data/ there, with the screenshots in "
            "single_data/images/",
        ),
    )
}


def listing() -> str:
    """Return a line for each table."""
    lines = [f"{'MMBench-GUI':15}OpenGVLab/MMBench-GUI (fetched if no name is given)"]
    for table in TABLES.values():
        lines.append(f"{table.name:15}{table.source}, {table.size}, {table.licence}")
    return "\n".join(lines)


def fetch_tables(names: Sequence[str], root: Path) -> None:
    """Fetch some tables into the data root.

    Raises:
        UserError: an unknown name, a table that is not on the hub, or what the hub refuses.
    """
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        raise UserError(
            f"{unknown[0]}: no such data set; known are {', '.join(TABLES)}; for "
            "MMBench-GUI, give no name"
        )
    by_hand = [TABLES[name] for name in names if TABLES[name].by_hand]
    for name in names:
        table = TABLES[name]
        if not table.by_hand:
            _fetch(table, root / table.folder)
    if by_hand:
        raise UserError(
            [f"{table.name}: {root / table.folder}: {table.by_hand}" for table in by_hand]
        )


def _fetch(table: TableFiles, folder: Path) -> None:
    print(f"{table.name}: {table.source} → {folder} ({table.size}, {table.licence})", flush=True)
    commit: str | None = None
    if table.repo_id:
        commit = _fetch_from_hub(table, folder)
    if table.github:
        commit = _fetch_from_github(table, folder) or commit
    (folder / REVISION_FILE).write_text(json.dumps({"commit": commit}), encoding="utf-8")
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != REVISION_FILE)
    count = sum(".cache" not in path.relative_to(folder).parts for path in paths)
    print(f"{table.name}: {count:,} files are there", flush=True)
    if table.afterwards:
        print(f"{table.name}: {folder}: {table.afterwards}", flush=True)


def _fetch_from_github(table: TableFiles, folder: Path) -> str | None:
    """Return the commit of the files; None: the recorded one is that of the images."""
    published_name, local_name = table.github_file
    if not published_name:
        return fetch_folder(table.github, table.github_folder, folder)
    # By its published name, so that it is not fetched again.
    published_folder = folder / table.github.partition("/")[2]
    fetch_folder(table.github, table.github_folder, published_folder)
    if not (published_folder / published_name).is_file():
        raise UserError(
            f"{table.github} has no {table.github_folder}{published_name} any more; see its page "
            "on GitHub"
        )
    shutil.copyfile(published_folder / published_name, folder / local_name)
    return None


def _fetch_from_hub(table: TableFiles, folder: Path) -> str | None:
    """Return the commit that the files are of."""
    from huggingface_hub import HfApi, snapshot_download

    hub = Hub(table.repo_id)
    with hub.plain_errors(", ".join(table.patterns)):
        hub.commit = HfApi(endpoint=hub_endpoint()).dataset_info(table.repo_id).sha
        if table.patterns:
            snapshot_download(
                table.repo_id,
                repo_type="dataset",
                revision=hub.commit,
                allow_patterns=list(table.patterns),
                local_dir=folder,
                endpoint=hub_endpoint(),
            )
    if table.archive and _recorded_commit(folder) != hub.commit:
        work = folder / ".download"
        work.mkdir(parents=True, exist_ok=True)
        target_of = _image_path if table.keeps_folders else _image_name
        _unpack(hub.fetch(table.archive, work), folder / table.images, target_of)
    return hub.commit


def _recorded_commit(folder: Path) -> str | None:
    """Return the commit that all files of a folder are of; None: it was never fetched whole."""
    try:
        commit: str | None = json.loads((folder / REVISION_FILE).read_text("utf-8"))["commit"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return commit


def members_by_target(
    archive: zipfile.ZipFile, target_of: Callable[[str], str]
) -> dict[str, zipfile.ZipInfo]:
    """The members of a zip by the path that each is written to; of one name the last counts.

    Args:
        archive: the zip.
        target_of: makes the path of a member's name; "": it is not written.

    Raises:
        UserError: two members of different content would become one file.
    """
    members = {member.filename: member for member in archive.infolist() if not member.is_dir()}
    by_target: dict[str, zipfile.ZipInfo] = {}
    for member in members.values():
        target = target_of(member.filename)
        other = by_target.setdefault(target, member)
        if target and (other.CRC, other.file_size) != (member.CRC, member.file_size):
            raise UserError(
                f"{archive.filename}: {other.filename} and {member.filename} differ, and both "
                f"would become {target}. Nothing was unpacked; see the data set's page"
            )
    by_target.pop("", None)
    return by_target


def _image_name(member: str) -> str:
    """The file name of an image in a zip; "" for what macOS adds."""
    name = Path(member).name
    return "" if name.startswith(".") or "__MACOSX" in member else name


def _image_path(member: str) -> str:
    """The folder and the file name of an image in a zip; "" for what macOS adds."""
    name = _image_name(member)
    return f"{Path(member).parent.name}/{name}" if name else ""


def _unpack(archive_path: Path, images: Path, target_of: Callable[[str], str]) -> None:
    """Write the images of a zip to the paths that `target_of` makes of theirs; the zip itself goes.

    Raises:
        UserError: it is damaged, and was removed; or two of its images have one name.
    """
    try:
        with zipfile.ZipFile(archive_path) as archive:
            for name, member in members_by_target(archive, target_of).items():
                (images / name).parent.mkdir(parents=True, exist_ok=True)
                (images / name).write_bytes(archive.read(member))
    except BROKEN_ZIP as problem:
        archive_path.unlink()
        raise UserError(
            f"{archive_path}: not a readable zip file ({problem}). It was removed; run the same "
            "command again to fetch it anew"
        ) from problem
    archive_path.unlink()
