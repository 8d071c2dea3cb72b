"""Serves the protocol of .tools/peers/worker.go with jsonschema-rs: worker.py SCHEMA

The schema is compiled once. A validation is json.loads and is_valid.
"""

import gc
import json
import sys
import time
from pathlib import Path

import jsonschema_rs

validator = jsonschema_rs.validator_for(json.loads(Path(sys.argv[1]).read_text()), validate_formats=True)


def run(data: bytes, n: int) -> float:
    """Returns the CPU time of n validations of a valid object."""
    gc.collect()
    start = time.process_time()
    for _ in range(n):
        if not validator.is_valid(json.loads(data)):
            raise ValueError("run needs a valid object")
    return time.process_time() - start


def verdict(data: bytes) -> str:
    """Returns the line for one object."""
    try:
        validator.validate(json.loads(data))
    except (ValueError, jsonschema_rs.ValidationError) as error:
        return "invalid " + str(error).replace("\n", " ")
    return "valid"


data = b""
for line in sys.stdin:
    verb, argument = line.rstrip("\n").split(" ", 1)
    if verb == "object":
        data = Path(argument).read_bytes()
        print(verdict(data), flush=True)
    elif verb == "run":
        print(run(data, int(argument)), flush=True)
    else:
        raise ValueError(f"unknown command {verb}")
