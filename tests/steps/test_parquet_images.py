"""Images inside the Parquet files of GUI-R1 are taken out, once, under the names of their rows."""

import io
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from PIL import Image

from benchmarks.steps.android_control_forms import FILE
from tests.steps.conftest import EPISODES, write_recorded
from tests.support.step_files import benchmark, gui_r1_row

SIZE = (108, 240)


class ParquetFile:
    """What is used of pyarrow's: its columns with their types, and rows in batches."""

    def __init__(self, path):
        self._rows = json.loads(path.read_text())
        self.schema_arrow = SimpleNamespace(names=[*self._rows[0]], field=self._field)

    def _field(self, name):
        return SimpleNamespace(type="struct<bytes: binary, path: string>")

    def iter_batches(self, columns, batch_size=2):
        for start in range(0, len(self._rows), batch_size):
            part = self._rows[start : start + batch_size]
            rows = [{name: self._value(name, row[name]) for name in columns} for row in part]
            yield SimpleNamespace(to_pylist=lambda rows=rows: rows)

    @staticmethod
    def _value(name, value):
        return {"bytes": bytes.fromhex(value), "path": None} if name == "image" else value


def png(shade):
    file = io.BytesIO()
    Image.new("RGB", SIZE, (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def write_stand_in(path, rows):
    path.write_text(json.dumps([{**row, "image": row["image"].hex()} for row in rows]))


def write_real(path, rows):
    import pyarrow
    from pyarrow import parquet

    images = [{"bytes": row["image"], "path": None} for row in rows]
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "image"}
    parquet.write_table(pyarrow.table({"image": images, **columns}), path)


@pytest.fixture(params=["stand-in", "pyarrow"])
def published(request, tmp_path, monkeypatch):
    """The folder of a data set whose rows lie in a Parquet file with their images."""
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
        write = write_real
    else:
        module = ModuleType("pyarrow.parquet")
        module.ParquetFile = ParquetFile
        monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", module)
        write = write_stand_in
    write_recorded(tmp_path)
    folder = tmp_path / "AndroidControl"
    for image in (folder / "images").iterdir():
        image.unlink()
    official = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    rows = []
    for episode in official:
        for number in range(len(episode["steps"])):
            row = gui_r1_row(episode, number, level="low", has_history=True)
            rows.append({**row, "image": png(len(rows))})
    write(folder / "androidcontrol_low_test.parquet", rows)
    return tmp_path


def rows_of(root):
    settings = {"form": "gui_r1", "level": "low", "rows": "official"}
    return [*benchmark("AndroidControl", root, **settings).read_rows()]


def test_each_row_has_its_own_image(published):
    rows = rows_of(published)
    assert len(rows) == sum(len(episode["steps"]) for episode in EPISODES)
    folder = published / "AndroidControl" / "images"
    for number, row in enumerate(rows):
        assert row["image_path"] == f"androidcontrol_low_test/{number}.png"
        assert Image.open(folder / row["image_path"]).getpixel((0, 0)) == (number, 0, 0)


def test_what_is_there_is_not_written_again(published):
    folder = published / "AndroidControl" / "images" / "androidcontrol_low_test"
    rows_of(published)
    (folder / "0.png").write_bytes(b"of the user's")
    rows_of(published)
    assert (folder / "0.png").read_bytes() == b"of the user's"
    (folder / "1.png").unlink()
    rows_of(published)
    assert Image.open(folder / "1.png").getpixel((0, 0)) == (1, 0, 0)
