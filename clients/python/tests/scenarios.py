"""Runs clients/scenarios against the server that clients/scenarios/serve started. See .ci/python.

    python scenarios.py client|async
"""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from scenario_runner import Blocking, Runner, difference

from crdeval import Client

FILE = Path(__file__).parents[2] / "scenarios" / "scenarios.yaml"


def run(name: str, client: Any) -> int:
    """Runs all scenarios and prints each result. Returns the number of failed scenarios."""
    file = yaml.safe_load(FILE.read_text())
    failed = 0
    for scenario in file["scenarios"]:
        text = run_one(file, scenario, client)
        failed += bool(text)
        print(f"{name}: {scenario['name']}: {text or 'ok'}")
    passed = len(file["scenarios"]) - failed
    print(f"{passed} passed, {failed} failed")
    return failed if file["scenarios"] else 1


def run_one(file: dict[str, Any], scenario: dict[str, Any], client: Any) -> str:
    """Runs one scenario. Returns what is wrong, or an empty text."""
    if set(scenario) != {"name", "steps"}:
        return f"unknown keys in {sorted(scenario)}"
    runner = Runner(os.environ["CRDEVAL_SCENARIOS_GRPC"], file, client)
    try:
        for i, step in enumerate(scenario["steps"]):
            got = runner.run(step)
            at = difference(step["expect"], got)
            if at is not None:
                return f"step {i}, {step['call']}: {at} differs from what is expected:\n{got!s:.4000}"
        return "" if runner.held is None else "the stream is not released"
    finally:
        runner.close()


if __name__ == "__main__":
    if sys.argv[1] == "client":
        sys.exit(run("client", Client) > 0)
    with asyncio.Runner() as loop:  # for all clients: gRPC logs errors if one of several loops closes
        failed = run("async", partial(Blocking, loop))
    sys.exit(failed > 0)
