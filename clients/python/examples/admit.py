"""Runs writes through the write path of an API server, over gRPC. Prints the stored objects and a table.

    python admit.py TARGET OBJECT...
    python admit.py TARGET --old OLD [--merge FILE | --json FILE | OBJECT...]

TARGET is localhost:9090 or unix:///path/to/socket; the others are YAML or JSON files, also the patches. The CRDs
must be registered. The exit code is 1 if a write would be rejected. It is 2 if a write could not be evaluated, a file
could not be read, or the service could not be reached.
"""

import argparse
import sys
from pathlib import Path

import grpc

from crdeval import writes
from crdeval.v1 import evaluation_pb2

MAX_MESSAGE_BYTES = 64 << 20  # the default limit of a server; the default of grpc is 4 MiB


def asked(args: argparse.Namespace) -> list[evaluation_pb2.WriteItem]:
    """Returns the writes that the arguments request."""
    if args.old is None:
        return [writes.create(path.read_bytes()) for path in args.objects]
    old = args.old.read_bytes()
    items = [writes.update(old, path.read_bytes()) for path in args.objects]
    if args.merge:
        items.append(writes.patch(old, merge=args.merge.read_bytes()))
    if args.json:
        items.append(writes.patch(old, operations=args.json.read_bytes()))
    return items


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


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--old", type=Path)
    parser.add_argument("--merge", type=Path, metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("objects", type=Path, nargs="*")
    args = parser.parse_intermixed_args()
    code = 0
    with grpc.insecure_channel(args.target, options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]) as channel:
        results = writes.admit(channel, asked(args), options=evaluation_pb2.EvaluationOptions(complete_metadata=True))
        for i, result in enumerate(results):
            if result.WhichOneof("result") == "error":
                print(f"write {i}: could not be evaluated: {result.error.message}")
                code = 2
                continue
            verdict = result.verdict
            print(f"write {i}: {'allowed' if verdict.allowed else 'rejected: ' + verdict.rejection.message}")
            for warning in verdict.warnings:
                print(f"  warning: {warning.text}")
            for v in verdict.violations:
                if v.HasField("hint"):
                    print(f"  {v.pointer}: {v.hint.text}")
            for change in verdict.changes.pruned:
                if change.HasField("hint"):
                    print(f"  {change.pointer}: {change.hint.text}")
            if verdict.allowed:
                print(f"  stored: {writes.stored(result).decode()}")
            else:
                code = max(code, 1)
        objects = [r.verdict.object.json for r in results if r.verdict.allowed]
        if objects:
            print(writes.table(channel, objects), end="")
    return code


if __name__ == "__main__":
    sys.exit(main())
