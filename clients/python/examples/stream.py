"""Streams objects through the write path of an API server, over gRPC, in bounded memory. Prints one line for each.

    python stream.py TARGET [FILE]

TARGET is localhost:9090 or unix:///path/to/socket. FILE, or the standard input, has one JSON object on each line. The
CRDs must be registered. The exit code is 1 if an object would be rejected or cannot be evaluated, and 2 if the stream
ends early.
"""

import sys

import grpc

from crdeval import streams, writes
from crdeval.v1 import evaluation_pb2


def main() -> int:
    """Prints the result of each object, in order."""
    if not 2 <= len(sys.argv) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    options = evaluation_pb2.EvaluationOptions(complete_metadata=True, view=evaluation_pb2.OBJECT_VIEW_NONE)
    code = 0
    try:
        with (
            open(sys.argv[2] if len(sys.argv) == 3 else 0, "rb") as lines,
            grpc.insecure_channel(sys.argv[1]) as channel,
        ):
            items = (writes.create(line) for line in lines if line.strip())
            for i, result in enumerate(streams.admit(channel, items, options=options)):
                if result.WhichOneof("result") == "error":
                    text = f"could not be evaluated: {result.error.message}"
                else:
                    verdict = result.verdict
                    text = "allowed" if verdict.allowed else f"rejected: {verdict.rejection.message}"
                code = code if text == "allowed" else 1
                print(f"object {i}: {text}")
    except grpc.RpcError as error:
        print(f"{sys.argv[1]}: {error.code().name}: {error.details()}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
