"""Runs the steps of clients/scenarios, whose README.md defines the format and the comparison."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2

from crdeval import (
    AsyncClient,
    Client,
    CrdevalError,
    FieldChange,
    Registered,
    Rejection,
    Result,
    RetryPolicy,
    Transformed,
    Verdict,
    Violation,
    Write,
)
from crdeval.v1 import evaluation_pb2

FILE_KEYS = {"token", "documents", "scenarios"}
STEP_KEYS = set(
    "call manifests items options version group crd repeat catalog token retries timeoutMs releaseAfterMs "
    "expect".split()
)
ITEM_KEYS = {"object": "object", "oldObject": "old", "mergePatch": "merge_patch", "jsonPatch": "json_patch"}
OPTION_KEYS = {"fieldValidation", "itemTimeoutNs"}

Outcome = dict[str, Any]


def known(keys: Any, allowed: Any) -> None:
    """Raises ValueError for an unknown key."""
    unknown = set(keys) - set(allowed)
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")


class Blocking:
    """Runs the methods of AsyncClient in an event loop, so that both clients have the same runner."""

    def __init__(self, loop: asyncio.Runner, *args: Any, **kwargs: Any):
        self._loop = loop

        async def connect() -> AsyncClient:
            return AsyncClient(*args, **kwargs)

        self._client = loop.run(connect())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name in ("watch", "admit_stream", "read_stream"):
                return self._iterate(method(*args, **kwargs))
            return self._loop.run(method(*args, **kwargs))

        return call

    def _iterate(self, values: Any) -> Iterator[Any]:
        try:
            while True:
                yield self._loop.run(anext(values))
        except StopAsyncIteration:
            return
        finally:
            self._loop.run(values.aclose())


class Runner:
    """Runs the steps of one scenario."""

    def __init__(self, address: str, file: dict[str, Any], client: Callable[..., Any]):
        known(file, FILE_KEYS)
        self._address, self._file, self._client = address, file, client
        self._open: list[Any] = []
        self.held: threading.Event | None = None

    def _document(self, name: str) -> str:
        text = self._file["documents"][name]
        if not isinstance(text, str):
            raise ValueError(f"the document {name} is no text")
        return text

    def _write(self, item: Any) -> str | Write:
        if isinstance(item, str):
            return self._document(item)
        known(item, {*ITEM_KEYS, "subresource", "padding"})
        fields = {ITEM_KEYS[key]: self._document(name) for key, name in item.items() if key in ITEM_KEYS}
        if "padding" in item:
            fields["object"] += " " * item["padding"]
        return Write(**fields, subresource=item.get("subresource", ""))

    def run(self, step: dict[str, Any]) -> Outcome:
        """Returns the outcome of a step."""
        known(step, STEP_KEYS)
        known(step.get("options", {}), OPTION_KEYS)
        client = self._client(
            self._address,
            token=step.get("token", self._file["token"]),
            catalog=step.get("catalog", "default"),
            retries=RetryPolicy() if step.get("retries", True) else RetryPolicy(max_attempts=1),
        )
        self._open.append(client)
        if "releaseAfterMs" in step:
            held, self.held = self.held, None
            assert held is not None
            threading.Timer(step["releaseAfterMs"] / 1000, held.set).start()
        try:
            return self._call(client, step)
        except CrdevalError as error:
            outcome: Outcome = {"error": error_of(error)}
            earlier = [verdict(r) for r in error.verdicts] + [transformed(r) for r in error.transformed]
            earlier += [registered(r) for r in error.registered]
            return {**outcome, "results": earlier} if earlier else outcome

    def _call(self, client: Client, step: dict[str, Any]) -> Outcome:
        call, timeout, version = step["call"], step.get("timeoutMs", 60_000) / 1000, step.get("version", "")
        writes = [self._write(item) for item in step.get("items", [])] * step.get("repeat", 1)
        objects = [w if isinstance(w, str) else w.object or "" for w in writes]
        options = evaluation_pb2.EvaluationOptions()
        if "fieldValidation" in step.get("options", {}):
            name = f"FIELD_VALIDATION_{step['options']['fieldValidation']}"
            options = evaluation_pb2.EvaluationOptions(field_validation=name)
        if "itemTimeoutNs" in step.get("options", {}):
            options.item_timeout.CopyFrom(duration_pb2.Duration(nanos=step["options"]["itemTimeoutNs"]))
        group = step.get("group")
        if call == "register":
            manifests = [self._document(name) for name in step["manifests"]]
            return {"results": [registered(r) for r in client.register_all(manifests, timeout=timeout)]}
        if call == "validate":
            return {"results": [verdict(r) for r in client.validate(writes, options=options, timeout=timeout)]}
        if call == "admit":
            return {"results": [verdict(r) for r in client.admit(writes, options=options, timeout=timeout)]}
        if call == "prune":
            return {"results": [transformed(r) for r in client.prune(objects, timeout=timeout)]}
        if call == "default":
            return {"results": [transformed(r) for r in client.default(objects, timeout=timeout)]}
        if call == "read":
            return {"results": [transformed(r) for r in client.read(objects, version=version, timeout=timeout)]}
        if call == "convert":
            return {"results": [transformed(r) for r in client.convert(version, objects, timeout=timeout)]}
        if call == "admitStream":
            return {"results": [verdict(r) for r in client.admit_stream(writes, options=options, timeout=timeout)]}
        if call == "readStream":
            return {"results": [transformed(r) for r in client.read_stream(objects, version=version, timeout=timeout)]}
        if call == "list":
            return {"crds": [c.name for c in client.list_crds(timeout=timeout) if c.group == group]}
        if call == "watch":
            events: list[str] = []
            for event in client.watch():
                if event.crd is None:
                    return {"events": [*events, event.type]}
                if event.crd.group == group:
                    events.append(f"{event.type} {event.crd.name}")
        if call == "delete":
            client.delete_crd(step["crd"], timeout=timeout)
            return {}
        if call == "hold":
            return self._hold(writes[0], step)
        raise ValueError(f"unknown call {call}")

    def _hold(self, write: str | Write, step: dict[str, Any]) -> Outcome:
        """Opens a stream, waits for one result, and keeps the stream open until `held` is set."""
        held = self.held = threading.Event()

        def writes() -> Iterator[str | Write]:
            yield write
            held.wait(60)

        client = Client(self._address, token=step.get("token", self._file["token"]))
        self._open.append(client)
        stream = client.admit_stream(writes(), at_once=1)
        next(stream).get()
        self._open.append(stream)
        return {}

    def close(self) -> None:
        """Closes the clients."""
        for client in self._open:
            if hasattr(client, "close"):
                client.close()


def error_of(error: CrdevalError) -> Outcome:
    """Returns an error in the form of `expect`."""
    code = "CANCELLED" if error.code == grpc.StatusCode.CANCELLED else error.code.name
    outcome: Outcome = {"code": code, "metadata": error.metadata}
    if error.reason:
        outcome["reason"] = error.reason
    if error.detail(error_details_pb2.RetryInfo) is not None:
        outcome["retryDelay"] = (error.retry_delay or 0) > 0
    return outcome


def registered(r: Registered) -> Outcome:
    """Returns the result of a registration in the form of `expect`."""
    outcome: Outcome = {"name": r.crd}
    if r.result.error is not None:
        return {**outcome, "error": error_of(r.result.error)}
    registration = r.result.get()
    outcome |= {"accepted": registration.accepted, "outcome": registration.outcome}
    outcome["violations"] = [violation(v) for v in registration.violations]
    return {**outcome, **rejection(registration.rejection)}


def verdict(r: Result[Verdict]) -> Outcome:
    """Returns a verdict in the form of `expect`."""
    if r.error is not None:
        return {"error": error_of(r.error)}
    v = r.get()
    outcome: Outcome = {"allowed": v.allowed, "warnings": [w.text for w in v.warnings], **rejection(v.rejection)}
    outcome["next"] = [violation(one) for one in v.next]
    outcome["violations"] = [violation(one) for one in v.violations]
    outcome["ratcheted"] = [violation(one) for one in v.ratcheted]
    outcome["pruned"], outcome["defaulted"] = changes(v.pruned), changes(v.defaulted)
    if v.object is not None:
        outcome["object"] = v.object.text
    if v.stored_object is not None:
        outcome["storedObject"] = v.stored_object.text
    return outcome


def transformed(r: Result[Transformed]) -> Outcome:
    """Returns a transformed object in the form of `expect`."""
    if r.error is not None:
        return {"error": error_of(r.error)}
    t = r.get()
    outcome: Outcome = {"changed": t.changed, "warnings": [w.text for w in t.warnings], **rejection(t.rejection)}
    outcome["pruned"], outcome["defaulted"] = changes(t.pruned), changes(t.defaulted)
    if t.object is not None:
        outcome["object"] = t.object.text
    return outcome


def violation(v: Violation) -> Outcome:
    """Returns a violation in the form of `expect`."""
    outcome: Outcome = {
        "type": v.type,
        "field": v.field,
        "message": v.message,
        "detail": v.detail,
        "pointer": v.pointer,
        "schemaPointer": v.schema_pointer,
        "step": v.step,
    }
    if v.bad_value is not None:
        outcome["badValue"] = v.bad_value.text
    if v.position is not None:
        outcome["position"] = {"line": v.position.line, "column": v.position.column, "offset": v.position.offset}
    if v.rule is not None:
        outcome["rule"] = {"rule": v.rule.rule, "index": v.rule.index, "reason": v.rule.reason}
    return outcome


def changes(found: tuple[FieldChange, ...]) -> list[Outcome]:
    """Returns changes in the form of `expect`."""
    return [{"path": c.path, "value": c.value.text} for c in found]


def rejection(r: Rejection | None) -> Outcome:
    """Returns the key `rejection`, if there is a rejection."""
    return {} if r is None else {"rejection": {"code": r.code, "reason": r.reason, "message": r.message}}


def difference(expected: Any, got: Any) -> str | None:
    """Returns the path of the first difference, or None."""
    if isinstance(expected, list):
        return repeats(expected, got, len(expected))
    if not isinstance(expected, dict):
        return None if type(expected) is type(got) and expected == got else ""
    if not isinstance(got, dict):
        return ""
    if expected.get("error") is None and got.get("error") is not None:
        return ".error"
    if "count" in expected:
        at = repeats(expected["results"], got.get("results"), expected["count"])
        return None if at is None else f".results{at}"
    for key, want in expected.items():
        if want is None:
            if key in got:
                return f".{key}"
            continue
        at = difference(want, got.get(key))
        if at is not None:
            return f".{key}{at}"
    return None


def repeats(expected: list[Any], got: Any, count: int) -> str | None:
    """Returns the first difference between a list and the expected elements, repeated to `count` elements."""
    if not isinstance(got, list):
        return ""
    if len(got) != count:
        return f".length ({len(got)}, not {count})"
    for i, element in enumerate(got):
        at = difference(expected[i % len(expected)], element)
        if at is not None:
            return f"[{i}]{at}"
    return None
