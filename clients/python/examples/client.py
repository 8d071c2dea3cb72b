"""Registers a CRD and admits objects, first with Client, then with AsyncClient as a stream.

    python client.py TARGET CRD OBJECT...

TARGET is localhost:9090 or unix:///path/to/socket; CRD and OBJECT are YAML or JSON files. CRDEVAL_TOKEN is the bearer
token, if the server needs one. The exit code is 1 if the CRD or an object would be rejected, and 2 if something could
not be evaluated.
"""

import asyncio
import os
import sys
from pathlib import Path

from crdeval import AsyncClient, Client, CrdevalError, CrdRejectedError, Result, Verdict


def describe(path: str, result: Result[Verdict]) -> int:
    """Prints a line for the object and each violation. Returns the exit code."""
    if result.error is not None:
        print(f"{path}: could not be evaluated: {result.error}")
        return 2
    verdict = result.get()
    print(f"{path}: {'allowed' if verdict.allowed else 'rejected'}")
    for v in verdict.violations:
        at = f"{v.position.line}:{v.position.column}: " if v.position else ""
        print(f"  {at}{v.field}: {v.message}")
    if verdict.object is not None:
        # Without loss: numbers are int and Decimal. The client accepts the parsed object again.
        print(f"  spec: {verdict.object.parse().get('spec')}")
    return 0 if verdict.allowed else 1


async def stream(target: str, token: str, paths: list[str]) -> int:
    """Counts the allowed objects. `admit_stream` also takes an asynchronous iterator."""
    async with AsyncClient(target, token=token) as client:
        objects = (Path(path).read_bytes() for path in paths)
        return sum([r.get().allowed async for r in client.admit_stream(objects)])


def main() -> int:
    """Runs the example."""
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    target, crd, *paths = sys.argv[1:]
    token = os.environ.get("CRDEVAL_TOKEN", "")
    try:
        with Client(target, token=token) as client:
            registration = client.register(Path(crd).read_bytes())
            print(f"{crd}: {registration.outcome.lower()}")
            results = client.admit([Path(path).read_bytes() for path in paths])
        code = max(describe(path, result) for path, result in zip(paths, results, strict=True))
        print(f"{asyncio.run(stream(target, token, paths))} of {len(paths)} are allowed")
        return code
    except CrdRejectedError as error:
        print(f"{crd}: {error}")
        return 1
    except CrdevalError as error:
        print(f"{target}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
