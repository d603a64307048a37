"""Stand-ins for the packages of trackers: they write down what they are sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDING = """
import json, os

def note(tracker, call, **what):
    if os.environ.get("TRACKER_FAILS") in (f"{tracker} {call}", tracker):
        raise ConnectionError(f"{tracker} is away")
    with open(os.environ["TRACKER_RECORD"], "a") as file:
        file.write(json.dumps({"tracker": tracker, "call": call, **what}) + "\\n")
"""
WANDB = """
from recording import note

def Settings(**settings):
    return settings

class Run:
    offline, dir, url = True, "here/files", None

    def __init__(self):
        self.summary = {}

    def log(self, metrics, step):
        note("wandb", "log", metrics=metrics, step=step)

    def log_artifact(self, path, name, type):
        note("wandb", "file", path=path)

    def finish(self, exit_code):
        note("wandb", "close", state=self.summary["state"])

def init(**told):
    note("wandb", "open", told=told)
    return Run()
"""
MLFLOW = """
from types import SimpleNamespace
from recording import note

def Param(key, value):
    return {key: value}

def Metric(key, value, timestamp, step):
    return {"name": key, "value": value, "step": step}

entities = SimpleNamespace(Param=Param, Metric=Metric)

def get_tracking_uri():
    return "here"

class MlflowClient:
    def get_experiment_by_name(self, name):
        return None

    def create_experiment(self, name):
        return "1"

    def create_run(self, experiment_id, run_name, tags):
        note("mlflow", "open", told=[run_name, tags])
        return SimpleNamespace(info=SimpleNamespace(run_id="2"))

    def log_batch(self, run_id, metrics=(), params=()):
        if params:
            note("mlflow", "params", told=params)
        else:
            values = {metric["name"]: metric["value"] for metric in metrics}
            note("mlflow", "log", metrics=values, step=metrics[0]["step"])

    def set_tag(self, run_id, key, value):
        self.state = value

    def log_artifact(self, run_id, path):
        note("mlflow", "file", path=path)

    def set_terminated(self, run_id, status):
        note("mlflow", "close", state=self.state)
"""
PROTOCOL_BUFFERS = """
class Message(dict):
    def __init__(self, **fields):
        super().__init__(fields)

class Summary(Message):
    Value = Message

class SummaryMetadata(Message):
    PluginData = Message

class TensorShapeProto(Message):
    Dim = Message

Event = TensorProto = Message
"""
EVENT_FILES = """
from recording import note

class EventFileWriter:
    def __init__(self, folder):
        note("tensorboard", "open", told=folder)

    def add_event(self, event):
        values = event["summary"]["value"]
        metrics = {v["tag"]: v["simple_value"] for v in values if "simple_value" in v}
        if metrics:
            note("tensorboard", "log", metrics=metrics, step=event["step"])
        else:
            note("tensorboard", "params", told=values[0]["tensor"]["string_val"][0].decode())

    def flush(self):
        pass

    def close(self):
        note("tensorboard", "close", state="")
"""


def write_packages(folder: Path) -> None:
    """Writes the three packages into a folder."""
    protos = ("event_pb2", "summary_pb2", "tensor_pb2", "tensor_shape_pb2")
    sources = {
        "recording.py": RECORDING,
        "wandb.py": WANDB,
        "mlflow.py": MLFLOW,
        **{f"tensorboard/compat/proto/{name}.py": PROTOCOL_BUFFERS for name in protos},
        "tensorboard/summary/writer/event_file_writer.py": EVENT_FILES,
    }
    packages = ("", "/compat", "/compat/proto", "/summary", "/summary/writer")
    sources |= {f"tensorboard{name}/__init__.py": "" for name in packages}
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


def read_record(path: Path) -> list[dict[str, Any]]:
    """The calls that the packages received, in order."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]
