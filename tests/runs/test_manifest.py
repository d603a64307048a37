"""`manifest.json`: what a run was made with, without secrets, and what a rescoring leaves alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.bench import L1, L2, Bench
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, evaluate, make_data, run_folder
from utils.errors import StopRun
from utils.images import content_digest
from utils.runs import manifest
from utils.runs.finished import load_run
from utils.runs.folder import RunFolder
from utils.runs.manifest import pictures_digest, write_manifests
from utils.runs.surroundings import environment, git_state, hardware
from utils.scoring.sheets import write_json

KEY = "a-very-secret-key-987654"


def answers(request):
    return Reply("B" if "Question" in request.text else "(0.2, 0.15)")


@pytest.fixture
def bench(tmp_path):
    make_data(tmp_path / "data")
    (tmp_path / "code").mkdir()
    with MockServer(answers) as server:
        yield Bench(
            tmp_path, server, {"m": api_model(server.url, key="${MY_KEY}")}, env={"MY_KEY": KEY}
        )


def manifest_of(bench, name="manifest.json"):
    return json.loads((run_folder(bench.work_dir, "m") / name).read_text("utf-8"))


def test_a_manifest_says_with_what_a_run_was_made(bench):
    template = "Where is it? {instruction}"
    bench.run("--limit", "4", env={"L2_USER_PROMPT": template})

    found = manifest_of(bench, "manifest_partial.json")
    data, asking = found["datasets"][L2], found["asking"]
    annotations = bench.annotations / "L2_annotations.json"
    assert (found["model"], found["config"]["data"][L2]["mode"]) == ("m", "all")
    assert data["annotations"]["sha256"] == hashlib.sha256(annotations.read_bytes()).hexdigest()
    assert data["annotations"]["bytes"] == annotations.stat().st_size
    assert (data["samples"], data["limit"], data["missing"], data["left_out"]) == (4, 4, 0, 0)
    assert (data["statuses"], data["pictures"]["count"]) == ({"ok": 4}, 2)
    assert data["tokens"] == {"prompt_tokens": 28, "completion_tokens": 12}
    assert data["runs"][0]["asked"] == {"new": 4}
    assert asking["environment"]["L2_USER_PROMPT"] == template
    assert asking["environment"]["LMUData"] is True
    assert asking["environment"]["MY_KEY"] is True
    assert asking["started_at"] <= data["answered"][0] <= data["answered"][1] <= asking["ended_at"]
    assert asking["wall_s"] > 0 and asking["hardware"]["cores"] >= 1
    assert {"python", "openai", "pillow"} <= set(asking["versions"])
    assert "--limit 4" in asking["command"]


def test_what_is_needed_to_run_it_again_is_listed(bench):
    bench.run("--data", L2, env={"L2_USER_PROMPT": "it's {instruction}"})

    needed = manifest_of(bench)["reproduce"]
    config = hashlib.sha256((bench.home / "config.json").read_bytes()).hexdigest()
    assert needed["commands"][0].startswith("git checkout ")
    assert needed["commands"][-1].startswith("python evaluate.py --config ")
    assert """export L2_USER_PROMPT='it'"'"'s {instruction}'""" in needed["commands"]
    assert f"config config.json: sha256 {config}" in needed["inputs"]
    assert any(line.startswith(f"{L2}: L2_annotations.json, sha256 ") for line in needed["inputs"])
    assert any("MY_KEY" in line for line in needed["inputs"])


def test_neither_a_secret_nor_a_home_folder_is_in_it(bench):
    home = {"HOME": str(bench.home)}
    bench.model["m"]["generate_cfg"]["extra_headers"] = {"Authorization": f"Bearer {KEY}"}
    bench.run("--verbose", env=home)

    text = (run_folder(bench.work_dir, "m") / "manifest.json").read_text("utf-8")
    assert KEY not in text
    assert str(bench.home) not in text
    assert "~/config.json" in text and "--work-dir '$EVAL_WORK_DIR'" not in text


def test_prompts_change_their_checksum_and_nothing_elses(bench):
    bench.run()
    first = manifest_of(bench)["datasets"]
    bench.run(env={"L2_USER_PROMPT": "Find: {instruction}"})
    second = manifest_of(bench)["datasets"]

    assert first[L1]["prompts"] == second[L1]["prompts"]
    assert first[L2]["prompts"] != second[L2]["prompts"]
    assert first[L2]["prompts"]["count"] == second[L2]["prompts"]["count"] == 6
    assert first[L2]["pictures"] == second[L2]["pictures"]


def test_a_users_functions_are_named_with_the_hash_of_their_code(bench):
    (bench.code / "mine.py").write_text("def parse(response, meta):\n    return (0.2, 0.15)\n")
    bench.data[L2]["parse_function"] = "mine.parse"
    bench.run()
    first = manifest_of(bench)["datasets"][L2]["functions"]
    (bench.code / "mine.py").write_text("def parse(response, meta):\n    return (0.25, 0.15)\n")
    bench.run("--mode", "eval")
    second = manifest_of(bench)["datasets"][L2]["functions"]

    assert first["parse"]["path"] == second["parse"]["path"] == "mine.parse"
    assert first["parse"]["code"] != second["parse"]["code"]


def test_a_rescoring_without_data_keeps_the_facts_of_the_asking(bench):
    bench.run("--api-nproc", "2")
    before = manifest_of(bench)
    (bench.root / "MMBench-GUI").rename(bench.home / "gone")
    ran = bench.run("--mode", "eval", "--data", L2, env={"L1_USE_WEIGHTED": "1", "MY_KEY": ""})

    after = manifest_of(bench)
    assert ran.code == 0
    assert after["asking"] == before["asking"]
    assert after["datasets"] == before["datasets"]
    assert after["config"] == before["config"]
    assert after["reproduce"] == before["reproduce"]
    assert "--mode eval" in after["scoring"]["command"]
    assert after["scoring"]["environment"]["L1_USE_WEIGHTED"] == "1"


@pytest.mark.parametrize("lost", [False, True])
def test_a_rescoring_with_another_config_keeps_the_one_that_was_asked_with(bench, lost):
    (bench.code / "mine.py").write_text("def ask(line, dataset):\n    return None\n")
    bench.model["m"] |= {"custom_prompt": {L2: "mine.ask"}}
    bench.run()
    before = manifest_of(bench)
    if lost:  # the log has the config, too
        (run_folder(bench.work_dir, "m") / "manifest.json").unlink()
    bench.model["m"]["generate_cfg"] = {"max_tokens": 16, "temperature": 1}
    (bench.code / "mine.py").write_text("def ask(line, dataset):\n    return []\n")
    bench.run("--mode", "eval")

    after = manifest_of(bench)
    assert after["config"] == before["config"]
    assert after["config"]["model"]["m"]["generate_cfg"]["temperature"] == 0
    assert after["scoring"]["config"]["model"]["m"]["generate_cfg"]["temperature"] == 1
    changed = hashlib.sha256((bench.home / "config.json").read_bytes()).hexdigest()
    assert changed not in json.dumps(after["reproduce"])
    if not lost:
        assert after["reproduce"] == before["reproduce"]
        assert after["datasets"] == before["datasets"]


def test_a_rescoring_with_the_same_config_says_so_once(bench):
    bench.run()
    bench.run("--mode", "eval")

    assert "config" not in manifest_of(bench)["scoring"]


def test_data_taken_away_during_a_run_costs_a_checksum_only(tmp_path):
    make_data(tmp_path / "data")
    (tmp_path / "code").mkdir()
    file = tmp_path / "data" / "MMBench-GUI" / "L2_annotations.json"

    def answer(request):
        file.unlink(missing_ok=True)
        return answers(request)

    with MockServer(answer) as server:
        models = {name: api_model(server.url) for name in ("m", "n")}
        bench = Bench(tmp_path, server, models)
        ran = bench.run("--data", L2)

    found = json.loads((run_folder(bench.work_dir, "n") / "manifest.json").read_text("utf-8"))
    assert ran.code == 0
    assert ran.output.count("Report: ") == 2
    assert found["datasets"][L2]["annotations"] == {"file": file.name, "gone": True}
    assert not any(file.name in line for line in found["reproduce"]["inputs"])


def test_an_argument_that_is_no_utf_8_is_written_all_the_same(bench):
    name = os.fsdecode(b"caf\xe9.json")
    bench.run()
    (bench.home / "config.json").rename(bench.home / name)
    ran = evaluate("--config", name, "--work-dir", bench.work_dir, "--mode", "eval",
                   cwd=bench.home, env={"LMUData": str(bench.root), "MY_KEY": KEY})  # fmt: skip

    assert ran.code == 0, ran.output
    assert name in manifest_of(bench)["scoring"]["command"]


def test_a_run_of_one_data_set_keeps_what_is_known_of_the_other(bench):
    bench.run("--data", L1)
    first = manifest_of(bench)
    bench.run("--data", L2)

    second = manifest_of(bench)
    assert second["datasets"][L1] == first["datasets"][L1]
    assert set(second["datasets"]) == {L1, L2}


def test_each_run_in_a_folder_is_listed_with_what_it_asked(bench):
    bench.run("--limit", "2", "--data", L2)
    bench.run("--data", L2)
    bench.run("--data", L2)

    told = manifest_of(bench)["datasets"][L2]["runs"]
    assert [(run["limit"], run["asked"], run["reused"]) for run in told] == [
        (2, {"new": 2}, 0), (None, {"new": 4}, 2), (None, {}, 6)]  # fmt: skip


def test_a_limited_run_leaves_the_full_scores_their_manifest(bench):
    bench.run("--no-report")
    full = manifest_of(bench)
    bench.run("--limit", "2", "--data", L2, "--no-report")

    assert manifest_of(bench) == full
    part = manifest_of(bench, "manifest_partial.json")
    assert (list(part["datasets"]), part["datasets"][L2]["samples"]) == ([L2], 2)
    assert "--limit 2" in part["asking"]["command"]
    run = load_run(bench.work_dir / "m")
    assert run.manifest["datasets"] == full["datasets"]
    bench.run("--mode", "eval", "--no-report")
    assert manifest_of(bench)["asking"] == full["asking"]
    assert not list(bench.work_dir.rglob("manifest_partial.json"))


def test_each_data_sets_entry_is_that_of_its_own_files(bench):
    bench.run("--data", L1, "--no-report")
    bench.run("--data", L2, "--limit", "2", "--no-report")

    manifest = load_run(bench.work_dir / "m").manifest
    assert "--data GUIContentUnderstanding" in manifest["asking"]["command"]
    limits = {name: entry["limit"] for name, entry in manifest["datasets"].items()}
    assert limits == {L1: None, L2: 2}


def test_what_no_commit_has_is_named(bench):
    (bench.code / "mine.py").write_text("def parse(response, meta):\n    return (0.2, 0.15)\n")
    bench.data[L2]["parse_function"] = "mine.parse"
    bench.run("--data", L2, "--no-report")

    found = manifest_of(bench)
    if found["asking"]["git"]["commit"] == "unknown":
        pytest.skip("the project is no git checkout")
    assert found["asking"]["git"]["not_in_commit"] == ["config.json", "mine.py"]
    [note] = [n for n in found["reproduce"]["notes"] if n.startswith("not in the commit: ")]
    assert "config.json, mine.py; keep these files" in note


@pytest.mark.parametrize("spoilt", [None, "{", "[]"])
def test_what_a_killed_run_did_not_write_is_taken_from_its_log(bench, spoilt):
    bench.run()
    path = run_folder(bench.work_dir, "m") / "manifest.json"
    before = manifest_of(bench)
    path.unlink() if spoilt is None else path.write_text(spoilt)
    bench.run("--mode", "eval")

    after = manifest_of(bench)
    assert after["asking"]["from"] == "log"
    assert after["config"] == before["config"]
    for name in ("started_at", "ended_at", "wall_s", "versions", "command"):
        assert after["asking"][name] == before["asking"][name]
    assert after["datasets"][L2]["tokens"] == before["datasets"][L2]["tokens"]
    assert any("its log" in note for note in after["reproduce"]["notes"])


def test_asking_alone_leaves_a_manifest_too(bench):
    bench.run("--mode", "infer")

    found = manifest_of(bench)
    assert "scoring" not in found
    assert found["datasets"][L1]["statuses"] == {"ok": 9}


def test_failed_samples_are_counted(tmp_path):
    make_data(tmp_path / "data")
    (tmp_path / "code").mkdir()

    def some(request):
        return Reply(status=413, body=b"too large") if "target 1" in request.text else Reply("(0.2, 0.15)")  # fmt: skip

    with MockServer(some) as server:
        bench = Bench(tmp_path, server, {"m": api_model(server.url)})
        bench.run("--data", L2)

    assert manifest_of(bench)["datasets"][L2]["statuses"] == {"ok": 4, "refused": 2}


def test_a_manifest_that_cannot_be_made_is_one_warning(monkeypatch, capsys):
    plan = SimpleNamespace(written={RunFolder("m", Path(name)): [L2] for name in ("a", "b")})
    monkeypatch.setattr(manifest, "write_manifest", lambda *_: {}["x"])

    write_manifests(plan, "m")

    said = capsys.readouterr().out.splitlines()
    assert [line.partition(";")[0] for line in said] == [
        f"warning: {name}: no manifest (KeyError: 'x')" for name in ("a", "b")
    ]


def test_a_full_disk_stays_an_error(monkeypatch):
    def full(*_):
        raise StopRun("manifest.json: cannot write (no space left on device)")

    plan = SimpleNamespace(written={RunFolder("m", Path("a")): [L2]})
    monkeypatch.setattr(manifest, "write_manifest", full)

    with pytest.raises(StopRun, match="no space"):
        write_manifests(plan, "m")


# -- the parts ------------------------------------------------------------------------------------


def test_the_checksum_of_pictures_depends_on_names_and_contents_only(tmp_path):
    for name, content in (("a", b"1"), ("b", b"2"), ("c", b"1")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (tmp_path / name for name in "abc")

    found = pictures_digest({"os_web/x.png": a, "os_ios/y.png": b})

    lines = "".join(
        f"{content_digest(file).removeprefix('blake3:')}  {name}\n"
        for name, file in (("os_ios/y.png", b), ("os_web/x.png", a))
    )
    assert found == {"count": 2, "digest": f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"}
    assert found == pictures_digest({"os_ios/y.png": b, "os_web/x.png": c})
    assert found != pictures_digest({"os_ios/y.png": a, "os_web/x.png": b})
    assert pictures_digest({"os_web/x.png": tmp_path / "nowhere"})["gone"] == 1


def test_a_text_that_utf_8_cannot_hold_comes_back_from_json(tmp_path):
    write_json(tmp_path / "a.json", {"caf\udce9": "é \ud83d"})

    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"caf\udce9": "é \ud83d"}


def test_git_state_tells_a_changed_tree_from_a_clean_one(tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True)

    assert git_state(tmp_path) == {"commit": "unknown", "dirty": None}
    git("init")
    (tmp_path / "f").write_text("1")
    git("add", "f")
    git("commit", "-m", "m")
    clean = git_state(tmp_path)
    (tmp_path / "f").write_text("2")
    changed = git_state(tmp_path)
    (tmp_path / "f").write_text("3")

    assert clean["dirty"] is False and len(clean["commit"]) == 40
    assert changed["dirty"] is True and changed["commit"] == clean["commit"]
    assert git_state(tmp_path)["diff_sha256"] != changed["diff_sha256"]
    (tmp_path / "new").write_text("1")
    git("add", "new")
    files = [tmp_path / "f", tmp_path / "new", tmp_path.parent / "elsewhere"]
    assert git_state(tmp_path, files)["not_in_commit"] == ["new", "elsewhere"]


def test_variables_show_values_only_where_they_decide_about_scores():
    found = environment({"L1_USE_WEIGHTED": "1", "LMUData": "d", "A_KEY": "s3cret"}, ["A_KEY"])

    assert (found["L1_USE_WEIGHTED"], found["LMUData"], found["A_KEY"]) == ("1", True, True)
    assert (found["L2_USER_PROMPT"], found["IMAGE_ROOT_DIR"]) == (None, False)
    assert "s3cret" not in json.dumps(found)


def test_the_machine_is_described_without_its_name():
    found = hardware()

    assert found["cpu"] and found["memory_gib"] > 0 and found["cores_usable"] >= 1
    assert set(found) == {"system", "cpu", "cores", "cores_usable", "memory_gib", "gpus"}
