"""`manifest.json`: what a run was made with, without secrets, and what a rescoring leaves alone."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import L1, L2, right_answers
from utils.geometry.images import content_digest
from utils.pages.privacy import path_hider
from utils.store.load import load_run
from utils.store.manifest import portable
from utils.store.provenance import git_state, pictures_digest

KEY = "a-very-secret-key-987654"
BOTH = pytest.mark.parametrize(
    "hide",
    [lambda text: json.loads(path_hider([])(text)), lambda text: portable(text, {})],
    ids=["report", "manifest"],
)


@pytest.fixture
def stage(staged):
    new_stage = staged(key="${MY_KEY}")
    new_stage.env["MY_KEY"] = KEY
    return new_stage


def manifest_of(stage):
    return json.loads((stage.folder() / "manifest.json").read_text("utf-8"))


def test_a_manifest_says_with_what_a_run_was_made_without_secrets_and_home_folders(stage):
    template = "Where is it? {instruction}"
    stage.model["m"]["generate_cfg"]["extra_headers"] = {"Authorization": f"Bearer {KEY}"}
    file = stage.annotations / "L2_annotations.json"
    stage.server.answer = lambda request: (
        Reply(status=413) if "basic target 2." in request.text else right_answers(request)
    )
    stage.run(
        "--limit",
        "4",
        "--no-report",
        "--verbose",
        env={"L2_USER_PROMPT": template, "HOME": str(stage.home)},
    )
    text = (stage.folder() / "manifest.json").read_text("utf-8")
    assert (KEY in text, str(stage.home) in text, "~/config.json" in text) == (False, False, True)
    manifest = manifest_of(stage)
    data, asking = manifest["datasets"][L2], manifest["asking"]
    annotations, config = file.read_bytes(), (stage.home / "config.json").read_bytes()
    assert (manifest["model"], manifest["config"]["data"][L2]["mode"]) == ("m", "all")
    assert data["annotations"] == {
        "file": file.name,
        "bytes": len(annotations),
        "md5": hashlib.md5(annotations).hexdigest(),
        "sha256": hashlib.sha256(annotations).hexdigest(),
    }
    assert (data["samples"], data["limit"], data["missing"], data["left_out"]) == (4, 4, 0, 0)
    assert (data["statuses"], data["pictures"]["count"]) == ({"ok": 3, "refused": 1}, 3)
    assert data["tokens"] == {"prompt_tokens": 21, "completion_tokens": 9}
    assert asking["config_file"] == {
        "name": "config.json",
        "sha256": hashlib.sha256(config).hexdigest(),
    }
    expected = {
        "L2_USER_PROMPT": template,
        "L1_USE_WEIGHTED": None,
        "LMUData": True,
        "MY_KEY": True,
        "IMAGE_ROOT_DIR": False,
    }
    assert expected.items() <= asking["environment"].items()
    assert asking["started_at"] <= data["answered"][0] <= data["answered"][1] <= asking["ended_at"]
    machine = asking["hardware"]
    assert asking["wall_s"] > 0 and machine["cpu"] and machine["memory_gib"] > 0
    assert set(machine) == {"system", "cpu", "cores", "memory_gib", "gpus"}
    assert {"python", "openai", "pillow"} <= set(asking["versions"])
    assert asking["command"].startswith("python evaluate.py --config ")
    assert "--limit 4" in asking["command"]


def test_a_rescoring_leaves_the_asking_alone_and_says_what_it_had_otherwise(stage):
    stage.run("--api-nproc", "2", "--no-report")
    before = manifest_of(stage)
    stage.annotations.rename(stage.home / "gone")
    stage.model["m"]["generate_cfg"] = {"max_tokens": 16, "temperature": 1}
    ran = stage.run("--mode", "eval", "--no-report", env={"L1_USE_WEIGHTED": "1", "MY_KEY": ""})
    after = manifest_of(stage)
    assert ran.code == 0
    for name in ("asking", "datasets", "config"):
        assert after[name] == before[name]
    scoring = after["scoring"]
    assert ("config" in before["scoring"], "--mode eval" in scoring["command"]) == (False, True)
    assert scoring["environment"]["L1_USE_WEIGHTED"] == "1"
    assert scoring["config"]["model"]["m"]["generate_cfg"]["temperature"] == 1


def test_a_manifest_that_is_lost_comes_back_from_the_log(stage):
    stage.run("--no-report")
    before, path = manifest_of(stage), stage.folder() / "manifest.json"
    assert before.pop("scoring") is not None
    for spoilt in (None, "{", "[]"):
        path.unlink() if spoilt is None else path.write_text(spoilt)
        stage.run("--mode", "eval", "--no-report")
        after = manifest_of(stage)
        assert (after.pop("scoring") is not None, after) == (True, before)


def test_what_is_known_of_other_data_sets_and_of_full_files_is_kept(stage):
    entries, infer = [], ("--mode", "infer")
    runs = ((L1, "all", infer), (L2, "basic", infer), (L2, "all", ()), (L2, "basic", ()))
    for dataset, mode, more in runs:
        stage.data = {dataset: {"mode": mode}}
        stage.run("--no-report", *more)
        entries.append(manifest_of(stage))
    first, part, full, last = (manifest["datasets"] for manifest in entries)
    assert ("scoring" in entries[0], first[L1]["statuses"]) == (False, {"ok": 9})
    own_config = part[L1]["config"]  # the newest run has another
    assert part[L1] == full[L1] == {**first[L1], "config": own_config}
    assert (own_config["data"], [*own_config["model"]]) == (entries[0]["config"]["data"], ["m"])
    assert (part[L2]["mode"], part[L2]["samples"]) == ("basic", 3)
    assert (full[L2]["partial"], full[L2]["samples"], last) == (False, 6, full)
    assert {*entries[3].pop("files")} > {*entries[2].pop("files")}
    assert entries[3] == entries[2]
    assert load_run(stage.work_dir / "m").manifest["datasets"] == full


def test_the_checksum_of_pictures_depends_on_names_and_contents_only(tmp_path):
    a, b, c = (tmp_path / name for name in "abc")
    for file, content in ((a, b"1"), (b, b"2"), (c, b"1")):
        file.write_bytes(content)
    checksum = pictures_digest({"os_web/x.png": a, "os_ios/y.png": b})
    digests = [content_digest(file).removeprefix("blake3:") for file in (b, a)]
    lines = f"{digests[0]}  os_ios/y.png\n{digests[1]}  os_web/x.png\n"
    assert checksum == {
        "count": 2,
        "digest": f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}",
    }
    assert checksum == pictures_digest({"os_ios/y.png": b, "os_web/x.png": c})
    assert checksum != pictures_digest({"os_ios/y.png": a, "os_web/x.png": b})
    assert checksum != pictures_digest({"os_ios/y.png": b, "os_web/x.png": tmp_path / "nowhere"})


def test_git_state_tells_a_changed_tree_from_a_clean_one(tmp_path):
    def state():
        git_state.cache_clear()
        return git_state(tmp_path)

    assert state() == {"commit": "unknown", "dirty": None}
    (tmp_path / "f").write_text("1")
    git = ["git", "-C", tmp_path, "-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init"], ["add", "f"], ["commit", "-m", "m"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    clean = state()
    (tmp_path / "f").write_text("2")
    assert (clean["dirty"], len(clean["commit"])) == (False, 40)
    assert state() == {"commit": clean["commit"], "dirty": True}


@BOTH
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/people/jane", "~"),
        ("/people/jane/x", "~/x"),
        ("see /people/jane.", "see ~."),
        ("/people/jane. Then", "~. Then"),
        ("a\n/people/jane/x", "a\n~/x"),
        ("--at=/people/jane:/people/jane/y", "--at=~:~/y"),
        ("“/people/jane/x”", "“~/x”"),
        ("in /people/jane’s", "in ~’s"),
        *[
            (text, text)
            for text in (
                "/people/janet/x",
                "/people/jane-b/x",
                "/people/jane.old/x",
                "x/people/jane/y",
            )
        ],
    ],
)
def test_the_home_folder_is_hidden_as_a_whole_name_only(monkeypatch, hide, text, expected):
    monkeypatch.setenv("HOME", "/people/jane")
    assert hide(text) == expected


@BOTH
def test_a_linked_home_is_hidden_and_the_root_hides_nothing(monkeypatch, tmp_path, hide):
    (tmp_path / "disk" / "jo").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "disk" / "jo")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    hidden = hide(f"{tmp_path}/home/x and {tmp_path}/disk/jo/y")
    monkeypatch.setenv("HOME", "/")
    assert (hidden, hide("/people/jane, a/b")) == ("~/x and ~/y", "/people/jane, a/b")
    in_folder = path_hider([tmp_path / "home", None, Path("/")])  # of a page
    visible_paths = in_folder([f"{tmp_path}/home/m", f"{tmp_path}/disk/jo/m", "/m"])
    assert json.loads(visible_paths) == ["…/m", "…/m", "/m"]


def test_paths_are_rewritten_whole_and_the_nearest_place_wins(tmp_path, monkeypatch):
    home = f"{tmp_path}/jo"
    monkeypatch.setenv("HOME", home)
    texts = {f"{home}/x": [f"--at={home}/data/L1.json", f"{home}hn/x", f"in {home}"]}
    assert portable(texts, {"$LMUData": tmp_path / "jo" / "data"}) == {
        "~/x": ["--at=$LMUData/L1.json", f"{home}hn/x", "in ~"]
    }


def test_one_damaged_record_of_a_run_does_not_hide_when_it_was_asked(stage):
    stage.run("--no-report")
    started_at = manifest_of(stage)["asking"]["started_at"]
    log = stage.log(L2)
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([b"x" + lines[0], *lines[1:]]))
    (stage.folder() / "manifest.json").unlink()
    stage.run("--mode", "eval", "--no-report")
    asking = manifest_of(stage)["asking"]
    assert started_at and asking["started_at"][:16] == started_at[:16]
