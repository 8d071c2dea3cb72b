"""Registers a directory of CRDs and conversion rules, compares a CRD with the registered one, and watches, over gRPC.

    python registry.py TARGET register DIRECTORY
    python registry.py TARGET diff CRD [OBJECT...]
    python registry.py TARGET watch [COUNT]

TARGET is localhost:9090 or unix:///path/to/socket. `register` exits with 1 if a CRD would be rejected or cannot be
read, or if conversion rules are not accepted. `diff` compares a CRD with the registered one of its name and prints the
effect on the objects. It exits with 1 if the change is breaking or the CRD would be rejected. `watch` prints COUNT
events, or all events until it is interrupted. The exit code is 2 if the server cannot be reached or a file cannot be
read.
"""

import itertools
import sys
from pathlib import Path

import grpc

from crdeval import registry
from crdeval.v1 import (
    conversion_pb2,
    diff_pb2,
    registry_pb2,
    registry_pb2_grpc,
    report_pb2,
    server_pb2,
    server_pb2_grpc,
)

MAX_MESSAGE_BYTES = 64 << 20  # the default limit of a server; the default of grpc is 4 MiB


def register(channel: grpc.Channel, directory: str) -> int:
    """Registers the CRDs of a directory, sets its conversion rules, and prints the result of each."""
    found = list(registry.manifests(directory))
    results, _ = registry.register_all(channel, [text for _, text in found])
    code = 0
    for (source, _), result in zip(found, results, strict=True):
        if result.WhichOneof("result") == "error":
            print(f"{source}: {result.error.message}")
            code = 1
            continue
        done = result.registration
        print(f"{source}: {result.crd} {outcome_name(done.outcome)}")
        findings(done.report)
        code = code if done.accepted else 1
    rules = list(registry.conversions(directory))
    for (source, _), answer in zip(rules, registry.set_conversions(channel, [text for _, text in rules]), strict=True):
        if isinstance(answer, grpc.RpcError):
            print(f"{source}: {answer.details()}")
            code = 1
            continue
        print(f"{source}: conversion rules {outcome_name(answer.outcome)}")
        findings(answer.report)
        code = code if answer.accepted else 1
    return code


def outcome_name(outcome: "registry_pb2.RegistrationOutcome | int") -> str:
    """Returns the name of an outcome in lower case."""
    return registry_pb2.RegistrationOutcome.Name(outcome).removeprefix("REGISTRATION_OUTCOME_").lower()


def findings(report: "report_pb2.CrdReport | conversion_pb2.ConversionReport") -> None:
    """Prints why a CRD or conversion rules are rejected."""
    for v in report.violations:
        print(f"  {v.position.line}:{v.position.column}: {v.field}: {v.message}")
    if isinstance(report, conversion_pb2.ConversionReport):
        for law in report.laws:
            if law.HasField("counterexample") and not law.excepted:
                print(f"  {law.law}, {law.from_version} to {law.to_version}: {law.counterexample.text}")
    elif not report.violations and report.rejection.message:
        print(f"  {report.rejection.message}")


def diff(channel: grpc.Channel, crd: str, objects: list[str]) -> int:
    """Prints the changes if the CRD replaced the registered one, and their effect on the objects."""
    stub = registry_pb2_grpc.RegistryServiceStub(channel)
    answer = stub.DiffCrd(
        registry_pb2.DiffCrdRequest(
            catalog="default",
            manifest=registry.document(Path(crd).read_bytes()),
            objects=[registry.document(Path(o).read_bytes()) for o in objects],
        ),
        timeout=60,
    )
    name = diff_pb2.ChangeClass.Name(answer.change_class).removeprefix("CHANGE_CLASS_").lower()
    print(f"{crd}: {name}")
    for change in answer.changes:
        print(f"  {change.kind} at {change.manifest_pointer}: {change.message}")
    if not answer.accepted:
        print(f"{crd}: rejected")
        findings(answer.report)
        if objects:
            print("The objects were not replayed, since the new CRD is rejected.")
        return 1
    for path, replayed in zip(objects, answer.replay_results, strict=True):
        outcomes = [diff_pb2.ReplayOutcome.Name(o).removeprefix("REPLAY_OUTCOME_").lower() for o in replayed.outcomes]
        print(f"{path}: {', '.join(outcomes) or replayed.error.message}")
    return 1 if name == "breaking" else 0


def watch(channel: grpc.Channel, count: int | None) -> int:
    """Prints events as they happen. Waits for a lost server, but fails if the server is down at the start."""
    server_pb2_grpc.ServerServiceStub(channel).GetServerInfo(server_pb2.GetServerInfoRequest(), timeout=60)
    for event in itertools.islice(registry.watch(channel), count):
        what = registry_pb2.WatchEventType.Name(event.type).removeprefix("WATCH_EVENT_TYPE_").lower()
        print(f"{what} {event.crd.name}".rstrip(), flush=True)
    return 0


def run() -> int:
    """Runs the command and returns the exit code."""
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    target, command, *rest = sys.argv[1:]
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
    with grpc.insecure_channel(target, options=options) as channel:
        if command == "register" and len(rest) == 1:
            return register(channel, *rest)
        if command == "diff" and rest:
            return diff(channel, rest[0], rest[1:])
        if command == "watch" and not rest:
            return watch(channel, None)
        if command == "watch" and len(rest) == 1 and rest[0].isdecimal():
            return watch(channel, int(rest[0]))
    print(__doc__, file=sys.stderr)
    return 2


def main() -> int:
    """Runs the example and prints each error on one line."""
    try:
        return run()
    except grpc.RpcError as error:
        name = error.code().name.lower().replace("_", " ")
        print(f"{sys.argv[1]}: {name}: {' '.join((error.details() or '').split())}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
