"""The header of results, on a machine without a GPU."""

from __future__ import annotations

import datetime
import json
import os

import pytest

import machine


def test_every_result_says_when_on_what_and_with_which_versions():
    header = machine.describe()
    assert set(header) == set(machine.Machine.__annotations__)
    assert datetime.datetime.fromisoformat(header["date"]).utcoffset() == datetime.timedelta(0)
    assert header["processors"] == len(os.sched_getaffinity(0))
    assert {"cuvein", "torch", "triton", "ncu"} <= set(header["versions"])
    assert header["versions"]["cuvein"]
    assert json.loads(json.dumps(header)) == header


def test_commit_of_a_tree_without_a_repository_is_given_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setenv("CUVEIN_COMMIT", "0123456789ab")
    machine._commit.cache_clear()
    try:
        assert machine.describe()["commit"] == "0123456789ab"
    finally:
        machine._commit.cache_clear()


def test_each_tool_is_asked_once(monkeypatch):
    machine.describe()
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: pytest.fail("a tool was asked again"))
    machine.describe()
