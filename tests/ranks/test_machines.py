"""Servers of one model on several machines, which are processes of this one."""

import json
import os
import signal
import socket
import stat
import sys
from collections import Counter
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from tests.support.ranks import process_of_rank, wait_until
from tests.support.runs import PROJECT, environment, finish
from tests.support.vllm_stage import (
    SAMPLES,
    acting,
    all_end,
    all_gone,
    answers,
    handles_of,
    started,
    vllm_stage,
)
from utils.engine.ranks.group import NoGroup, Rank, slurm_rank_of
from utils.engine.ranks.machines import SILENT_S, Client, Machine, ServersWanted, own_host

STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
PATIENCE_S = 180


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),  # a job's script
        ({**STEP, "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}, None),
        (
            {**STEP, "SLURM_PROCID": "1", "SLURM_STEP_NUM_NODES": "2"},
            Rank(1, 2, 2, slurm_step="7-0-0"),
        ),
        (
            {**STEP, "SLURM_PROCID": "1", "SLURM_LOCALID": "1", "SLURM_RESTART_COUNT": "3"},
            Rank(1, 2, leads_machine=False, slurm_step="7-0-3"),
        ),
    ],
)
def test_sruns_variables_say_which_rank_this_is(variables, expected):
    assert slurm_rank_of(variables) == expected


def test_a_machine_is_told_when_servers_are_wanted_and_tells_where_they_are(tmp_path):
    machine = Machine(tmp_path / "job", {"VLLM_HOST_IP": "10.0.0.2"})
    with Client(tmp_path / "job", "n1", ["a", "b"]) as client:
        wanted = ServersWanted(client, "b")
        client.release("a")
        assert machine.wait_for_call("a") is None
        folder = wanted.call()
        elsewhere = machine.wait_for_call("b")
        assert (elsewhere.key, elsewhere.host) == (wanted.key, "10.0.0.2")
        elsewhere.tell(["http://10.0.0.2:1/v1", "http://10.0.0.2:2/v1"])
        elsewhere.tell(["http://10.0.0.2:2/v1"])
        [file] = Path(folder).iterdir()
        assert file.read_text() == "http://10.0.0.2:2/v1\n"
        assert elsewhere.is_waiting()
        note = tmp_path / "job" / "client.json"
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        client.release("b")
        wanted.call()  # by a look at addresses that was on its way
        assert not elsewhere.is_waiting()
    assert Machine(tmp_path / "job", {}).wait_for_call("b") is None  # it was late
    assert wanted.key not in note.read_text()


def test_a_machine_gives_up_a_client_that_is_silent_or_another_one(tmp_path):
    now_s = [0.0]
    machine = Machine(tmp_path / "job", {}, clock=lambda: now_s[0])
    with Client(tmp_path / "job", "n1", ["m"]) as client:
        client.call("m")
        with pytest.raises(NoGroup, match='other models \\(m\\) than this rank \\("x"\\)'):
            machine.wanted("x")
    note = tmp_path / "job" / "client.json"
    note.write_text(json.dumps({"beat": 1, "host": "n1", "key": "k", "models": {"m": "serving"}}))
    assert machine.wait_for_call("m").is_waiting()
    now_s[0] += SILENT_S - 1
    assert machine.wanted("m") == "serving"
    now_s[0] += 2
    with pytest.raises(NoGroup, match="rank 0 has been silent for 61 s"):
        machine.wanted("m")


def test_a_machine_that_sees_no_client_says_which_folder_it_looked_into(tmp_path):
    now_s = [0.0]
    machine = Machine(tmp_path / "job", {}, clock=lambda: now_s[0])
    assert machine.wanted("m") == "nothing"
    now_s[0] += 301
    with pytest.raises(NoGroup, match=f"nothing into {tmp_path}/job.*--work-dir that all machines"):
        machine.wanted("m")


def test_folders_of_runs_that_are_long_over_go_with_the_next_run(tmp_path):
    for job in ("old", "new"):
        with Client(tmp_path / "servers" / job, "n1", ["m"]):
            pass
    os.utime(tmp_path / "servers" / "old" / "client.json", (0, 0))
    with Client(tmp_path / "servers" / "now", "n1", ["m"]):
        jobs = sorted(folder.name for folder in (tmp_path / "servers").iterdir())
        assert jobs == ["new", "now"]


def test_a_machine_is_reached_at_the_address_of_its_way_to_the_client():
    assert own_host({}, "127.0.0.1") == "127.0.0.1"
    assert own_host({}, "no.such.host.invalid") == socket.gethostname()


@pytest.fixture
def stage(tmp_path):
    new_stage = vllm_stage(tmp_path)
    new_stage.model["m"]["replicas"] = 2
    return new_stage


def by_srun(stage, *arguments, behaviour=""):
    """Both tasks of a run, as srun starts them on two machines."""
    step = {**STEP, "SLURM_STEP_NUM_NODES": "2", **acting(behaviour)}
    return [
        stage.start(*arguments, env={**step, "SLURM_PROCID": str(number)}) for number in range(2)
    ]


def server_keys(stage):
    """The keys of all servers that were started, those started again included."""
    return {note["environ"]["VLLM_API_KEY"] for note in started(stage)}


def check_whole(stage):
    """Every sample has one answer, by servers of both machines, and nothing is left."""
    assert Counter(record["status"] for record in answers(stage)) == {"ok": SAMPLES}
    assert len({record["key"] for record in answers(stage)}) == SAMPLES
    assert len({record["server"] for record in answers(stage)}) == 4
    # On rank 0 each server has a key of its own; those of other machines share one.
    assert len(server_keys(stage)) == 3
    assert all_gone(stage)
    assert [*stage.work_dir.glob("servers/*/m/*")] == []
    keys = [key.encode() for key in server_keys(stage)]
    written = [path.read_bytes() for path in stage.work_dir.rglob("*") if path.is_file()]
    assert not any(key in content for key in keys for content in written)


def test_each_machine_of_an_srun_starts_servers_and_rank_0_asks_all_of_them(stage):
    tasks = by_srun(stage, "--api-nproc", "1", behaviour="together:4")
    first, second = map(finish, tasks)
    assert (first.code, second.code) == (0, 0), first.output + second.output
    check_whole(stage)
    assert "4 of 4 servers" in first.output
    assert second.stdout == ""
    assert "rank 1" in second.stderr and "replica 1 answers on port" in second.stderr


def test_where_all_is_answered_no_machine_starts_a_server(stage):
    assert all(ran.code == 0 for ran in map(finish, by_srun(stage)))
    servers = len(started(stage))
    first, second = map(finish, by_srun(stage))
    assert (first.code, second.code, len(started(stage))) == (0, 0, servers), first.output


def test_tasks_of_an_srun_are_runs_by_themselves_where_no_model_has_replicas(stage):
    del stage.model["m"]["replicas"]
    step = {**STEP, "SLURM_STEP_NUM_NODES": "2", "SLURM_PROCID": "1"}
    ran = finish(stage.start(env=step))
    assert (ran.code, len(answers(stage))) == (0, SAMPLES), ran.output


def held(stage, number=None):
    """What tells when servers have ended: all, or those of one task of an srun."""
    of_task = [
        note["pids"]
        for note in started(stage)
        if number is None or note["environ"]["SLURM_PROCID"] == str(number)
    ]
    return [handle for pids in of_task for handle in handles_of(pids)]


def test_servers_end_with_the_task_that_has_started_them_and_the_others_go_on(stage):
    first, second = by_srun(stage, "--api-nproc", "1", behaviour="together:5")
    wait_until(lambda: len([*stage.home.glob("vllm_notes.jsonl.looked-at-*")]) == 4, first)
    servers = held(stage, 1)
    assert len(servers) == 4 and not all_end(servers)  # two, and their keepers
    second.kill()
    second.communicate()
    assert all_end(servers, PATIENCE_S)
    (stage.home / "vllm_notes.jsonl.looked-at-by-the-test").touch()
    ran = finish(first)
    assert ran.code == 0, ran.output
    assert len({record["key"] for record in answers(stage)}) == len(answers(stage)) == SAMPLES
    assert all_gone(stage)


def by_torchrun(stage, *arguments, behaviour=""):
    """The two agents of a run on two machines, each of which starts one rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = environment(**stage._env(acting(behaviour)))
    command = [str(PROJECT / "evaluate.py"), *map(str, stage._command(arguments))]
    agents = []
    for number in range(2):
        agent = ["-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={number}"]
        agent += ["--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={port}"]
        agents.append(
            Popen(
                [sys.executable, *agent, *command],
                cwd=stage.home,
                env=variables,
                text=True,
                stdout=PIPE,
                stderr=PIPE,
            )
        )
    return agents


def test_each_machine_of_torchrun_starts_servers_and_rank_0_asks_all_of_them(stage):
    agents = by_torchrun(stage, "--api-nproc", "1", behaviour="together:4")
    first, second = map(finish, agents)
    assert (first.code, second.code) == (0, 0), first.output + second.output
    check_whole(stage)


def test_a_client_that_is_killed_ends_everything_and_the_same_command_goes_on(stage):
    agents = by_torchrun(stage, behaviour="hold")
    wait_until(lambda: len(started(stage)) == 4, agents[0])
    servers = held(stage)
    os.kill(process_of_rank(agents[0], 0), signal.SIGKILL)
    first, second = map(finish, agents)
    assert first.code != 0 and second.code != 0, first.output + second.output
    assert all_end(servers, PATIENCE_S)
    ran = finish(stage.start())
    assert (ran.code, len({record["key"] for record in answers(stage)})) == (0, SAMPLES), ran.output
