"""Annotation files and images as people have them: byte order marks, pointers, folders nearly right."""

import json
import shutil
import struct
import zlib
from pathlib import Path

import pytest

from tests.support.runs import evaluate, make_data, write_config
from tests.support.stage import L1, L2
from utils import PROJECT, download
from utils.data_files import nearly_right, read_json
from utils.errors import UserError

SAMPLE_DATA = PROJECT / "sample_data"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 4096\n" % (b"0c" * 32)
TABLES = {
    "ScreenSpot": "ScreenSpot/screenspot_web.json",
    "ScreenSpotV2": "ScreenSpot-v2/screenspot_mobile_v2.json",
    "ScreenSpotPro": "ScreenSpot-Pro/annotations/terminal_linux.json",
    "OSWorldG": "OSWorld-G/classification_result.json",
    "UIVision": "ui-vision/annotations/element_grounding/element_grounding_spatial.json",
}


class Unused:
    """A model that nobody gets to ask."""

    def generate(self, message, *, dataset_name):
        raise AssertionError("a request was made")


@pytest.fixture
def table(tmp_path):
    """Checks a table of the sample data, of which a file was changed before."""

    def check(name, change, **settings):
        file = tmp_path / "data" / TABLES[name]
        folder = Path(TABLES[name]).parts[0]
        shutil.copytree(SAMPLE_DATA / folder, tmp_path / "data" / folder)
        change(file)
        model = {"m": {"imp_type": "custom", "model_path": f"{__name__}.Unused"}}
        config = write_config(tmp_path / "c.json", model=model, data={name: settings})
        command = ("--config", config, "--work-dir", tmp_path / "out", "--check")
        return evaluate(*command, cwd=tmp_path, env={"LMUData": str(tmp_path / "data")})

    return check


def encoded(codec, mark=b""):
    return lambda file: file.write_bytes(mark + file.read_text("utf-8").encode(codec))


# -- byte order marks -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        ("utf-8-sig", b""),
        ("utf-16", b""),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32", b""),
        ("utf-16-le", b""),  # no mark: its zeros tell
    ],
)
@pytest.mark.parametrize("level", ["L1", "L2"])
def test_annotations_are_read_with_a_byte_order_mark(level, codec, mark, stage):
    encoded(codec, mark)(stage.annotations / f"{level}_annotations.json")
    result = stage.run("--check")
    assert (result.code, result.stderr) == (0, "")
    assert f"{L1}: 9 requests to send" in result.stdout
    assert f"{L2}: 6 requests to send" in result.stdout


@pytest.mark.parametrize("name", TABLES)
def test_files_of_other_tables_are_read_with_a_byte_order_mark(name, table):
    result = table(name, encoded("utf-8-sig"))
    assert (result.code, result.stderr) == (0, ""), result.output


def test_the_download_reads_annotations_and_sums_with_a_byte_order_mark(tmp_path):
    for name, content in {"rows.json": [{"index": 1}], "sums.json": {"a": "b"}}.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8-sig")
    assert download.read_annotations(tmp_path / "rows.json") == [{"index": 1}]
    assert read_json(tmp_path / "sums.json") == {"a": "b"}


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"[", b"\xff\xfe[", b"\x80[]"])
def test_what_is_no_json_is_said_to_be_incomplete(content, stage):
    (stage.annotations / "L2_annotations.json").write_bytes(content)
    result = stage.run("--check")
    assert result.code == 2
    assert "L2_annotations.json: cannot be read: " in result.stderr
    assert "Is it complete?" in result.stderr


# -- pointers of Git LFS ----------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_a_pointer_in_place_of_annotations_is_named(name, table):
    result = table(name, lambda file: file.write_bytes(POINTER))
    assert result.code == 2
    assert "a Git LFS pointer, not the file itself; run `git lfs pull`" in result.stderr
    assert "Is it complete?" not in result.stderr
    assert Path(TABLES[name]).name in result.stderr


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_a_pointer_in_place_of_a_published_file_is_named(level, stage):
    (stage.annotations / f"{level}_annotations.json").write_bytes(POINTER)
    result = stage.run("--check")
    assert result.code == 2
    assert f"{level}_annotations.json: cannot be read: a Git LFS pointer" in result.stderr


@pytest.mark.parametrize(
    "pointer",
    [
        POINTER,
        POINTER.replace(b"\n", b"\r\n"),
        POINTER.replace(b"spec/v1", b"spec/v2"),
        POINTER + b"x-extra 1\n",
        POINTER[:50],
    ],
)
def test_a_pointer_in_place_of_an_image_is_named_and_the_others_are_asked(pointer, stage):
    stage.picture(0).write_bytes(pointer)
    result = stage.run()
    assert "os_windows/pic0.png (3 samples): image unreadable: a Git LFS pointer" in result.stdout
    assert (result.code, len(result.requests)) == (1, 6 + 4)


def test_a_pointer_that_the_hub_sends_replaces_no_annotations(tmp_path):
    (tmp_path / "rows.json").write_bytes(POINTER)
    with pytest.raises(UserError, match="Git LFS pointer"):
        download.read_annotations(tmp_path / "rows.json")


# -- images beyond the limit ------------------------------------------------------------------


def png_of(wh):
    """A PNG that says how large it is, and little more."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", *wh, 1, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"")), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    ("wh", "pixels"),
    [
        ((20_000, 10_000), "200,000,000"),
        ((13_378, 13_378), "178,970,884"),
        ((400_000_000, 1), "400,000,000"),
        ((1, 178_956_971), "178,956,971"),
        ((60_000, 60_000), "3,600,000,000"),
    ],
)
def test_an_image_beyond_the_limit_is_named_with_its_size_and_the_limit(wh, pixels, stage):
    stage.picture(1).write_bytes(png_of(wh))
    result = stage.run("--check")
    assert (
        f"image unreadable: too large: {pixels} pixels, the limit is 178,956,970" in result.stdout
    )
    assert "decompression bomb" not in result.output
    assert result.code == 1


# -- texts that say nothing -------------------------------------------------------------------

BLANK = ["", "  ", "\n\t ", "\u3000\u3000", "\u200b", "\ufeff \u00a0"]


@pytest.mark.parametrize("text", BLANK)
def test_a_blank_instruction_or_question_is_left_out_with_the_reason(text, stage):
    stage.change_annotations("L2", lambda rows: rows[3].update(instruction=text))
    stage.change_annotations("L1", lambda images: images[1]["groups"][2].update(question=text))
    result = stage.run()
    assert f"{L2}: L2_annotations.json, index 3, os_ios/pic1.png: the instruction is blank" in (
        result.stdout
    )
    assert "question 5, os_ios/pic1.png: the question is blank" in result.stdout
    assert (result.code, len(result.requests)) == (1, 8 + 5)
    assert stage.scores(L1)["total_sample_num"] == 8


@pytest.mark.parametrize("text", ["保存", ".", "0", " x ", "\u200bSave"])
def test_a_short_instruction_is_asked(text, stage):
    stage.change_annotations("L2", lambda rows: rows[3].update(instruction=text))
    assert f"{L2}: 6 requests to send" in stage.run("--check").stdout


@pytest.mark.parametrize(
    ("name", "column", "settings"),
    [
        ("ScreenSpot", "instruction", {}),
        ("ScreenSpotV2", "instruction", {}),
        ("ScreenSpotPro", "instruction", {}),
        ("ScreenSpotPro", "instruction_cn", {"language": "cn"}),
        ("UIVision", "prompt_to_evaluate", {}),
    ],
)
def test_a_blank_text_of_another_table_is_left_out_with_the_reason(name, column, settings, table):
    def blank_first(file):
        rows = json.loads(file.read_text("utf-8"))
        rows[0][column] = " "
        file.write_text(json.dumps(rows))

    result = table(name, blank_first, **settings)
    what = "instruction" if column == "prompt_to_evaluate" else column
    assert f": the {what} is blank" in result.stdout
    assert result.code == 1


def test_a_chinese_instruction_may_be_blank_where_the_english_one_is_asked(table):
    def blank_first(file):
        rows = json.loads(file.read_text("utf-8"))
        rows[0]["instruction_cn"] = ""
        file.write_text(json.dumps(rows))

    assert table("ScreenSpotPro", blank_first).code == 0


# -- folders that are nearly right ------------------------------------------------------------


def move(root, source, target):
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / source, root / "moved")
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / "moved", root / target)


IMAGES = "MMBench-GUI/offline_images"


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (IMAGES, f"{IMAGES}/offline_images", f"{IMAGES}/offline_images, not in"),
        (IMAGES, "MMBench-GUI/Offline_Images", "MMBench-GUI/Offline_Images, not in"),
        (IMAGES, "offline_images", "data/offline_images, not in"),
        (IMAGES, "MMBench-GUI/MMBench-GUI-OfflineImages", "MMBench-GUI-OfflineImages, not in"),
        (IMAGES, f"{IMAGES}/MMBench-GUI/images", f"{IMAGES}/MMBench-GUI/images, not in"),
    ],
)
def test_images_in_a_folder_that_is_nearly_right_are_found_and_named(source, target, said, stage):
    move(stage.root, source, target)
    result = stage.run()
    assert (result.code, result.requests) == (2, [])
    assert f"the images seem to be in {stage.root / target}" in result.stderr, result.output
    assert said in result.stderr
    folder = stage.root / target
    assert f"Set IMAGE_ROOT_DIR={folder}" in result.stderr
    assert stage.run("--check", env={"IMAGE_ROOT_DIR": str(folder)}).code == 0


@pytest.mark.parametrize("name", ["OS_WEB/pic2.png", "os_web/PIC2.PNG", "Os_Web/Pic2.png"])
def test_an_image_of_another_case_is_named_and_the_others_are_asked(name, stage):
    move(stage.root, f"{IMAGES}/os_web/pic2.png", f"{IMAGES}/{name}")
    result = stage.run()
    assert (
        f"there is {stage.root / IMAGES / name}, but the annotations name os_web/pic2.png"
        in result.stdout
    )
    assert (result.code, len(result.requests)) == (1, 6 + 4)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("MMBench-GUI/MMBench-GUI", "Set LMUData={root}/MMBench-GUI"),
        ("data/MMBench-GUI", "Set LMUData={root}/data"),
        ("mmbench-gui", "Move or rename it"),
        ("a/b/MMBench-GUI", "Set LMUData={root}/a/b"),
        ("MMBench-GUI/annotations", "Move or rename it"),
    ],
)
def test_annotations_in_a_folder_that_is_nearly_right_are_found_and_named(target, said, stage):
    shutil.rmtree(stage.root / IMAGES)
    move(stage.root, "MMBench-GUI", target)
    result = stage.run()
    assert (result.code, result.requests) == (2, [])
    for level in ("L1", "L2"):
        file = stage.root / target / f"{level}_annotations.json"
        advice = said.format(root=stage.root)
        assert f"no such annotation file, but there is {file}. {advice}" in result.stderr


def test_the_folders_of_another_table_are_found_by_their_files(table, tmp_path):
    def rename(file):
        file.parent.rename(file.parent.with_name("Annotations"))

    result = table("ScreenSpotPro", rename)
    assert f"but there is {tmp_path}/data/ScreenSpot-Pro/Annotations/" in result.stderr


def test_nothing_is_found_where_nothing_is_nearly_right(tmp_path):
    make_data(tmp_path)
    assert nearly_right(tmp_path, "os_web/pic9.png") is None
    assert nearly_right(tmp_path / "missing", "L2_annotations.json") is None
    (tmp_path / "a/b/c/d").mkdir(parents=True)
    (tmp_path / "a/b/c/d/deep.json").touch()
    assert nearly_right(tmp_path, "deep.json") is None
    (tmp_path / "a/b/c/d/deep.json").rename(tmp_path / "a/b/c/Deep.json")
    assert nearly_right(tmp_path, "deep.json") == tmp_path / "a/b/c/Deep.json"
