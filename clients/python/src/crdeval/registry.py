"""Registers and watches CRDs over the generated stubs, with several calls if needed.

For all other calls, use the stubs in crdeval.v1. `metadata` is sent with every call, for example
[("authorization", f"Bearer {token}")].
"""

import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc

from crdeval.errors import CrdevalError
from crdeval.retries import retry_delay
from crdeval.v1 import document_pb2, registry_pb2, registry_pb2_grpc

Metadata = Sequence[tuple[str, str]]

ENTRIES_AT_ONCE = 100
"""CRDs in one call. Validating a large CRD takes some ten milliseconds, and a call should end within seconds."""

BYTES_AT_ONCE = 32 << 20
"""Bytes of manifests in one call: half of the default limit of a server."""

_FIRST_PAUSE, _LONG_PAUSE = 0.1, 10.0
_KIND = re.compile(rb"""^["']?kind["']?\s*:\s*["']?(\w+)""", re.M)
_TYPED = re.compile(rb"""^["']?(?:kind|apiVersion)["']?\s*:""", re.M)
_CRD = re.compile(rb"""^["']?crd["']?\s*:\s*["']?([^\s"'#]*)""", re.M)
_MARKER = re.compile(rb"^---(?:[ \t].*)?\r?$", re.M)


def sent(metadata: Metadata | None) -> tuple[tuple[str, str], ...] | None:
    """Returns the metadata as gRPC takes it."""
    return None if metadata is None else tuple(metadata)


def with_results(error: grpc.RpcError, **earlier: Any) -> grpc.RpcError:
    """Returns the error of a call. Its attributes have what the earlier calls returned."""
    vars(error).update(earlier)
    return error


def document(text: bytes) -> document_pb2.Document:
    """Wraps the bytes unchanged: JSON if they begin with a brace or a bracket, otherwise YAML."""
    if not isinstance(text, bytes):
        raise TypeError(f"a document is bytes, not {type(text).__name__}: a str has encode()")
    if text.lstrip().startswith((b"{", b"[")):
        return document_pb2.Document(json=text)
    return document_pb2.Document(raw_yaml=text)


def manifests(directory: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yields the CRDs in the files *.yaml, *.yml and *.json of a directory, sorted by name, each with its source.

    A YAML file may have several documents. Documents of another kind are ignored, and subdirectories are not read.
    Lists of CRDs are yielded unchanged. Split them before registering, because registering a list is an error.
    Conversion rules are not yielded: see `conversions`.
    """
    return ((source, text) for source, text in _documents(directory) if _crd_of_rules(text) is None)


def conversions(directory: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yields the conversion rules in the files that `manifests` reads, each with its source.

    They are documents with the field crd and without kind and apiVersion.
    """
    return ((source, text) for source, text in _documents(directory) if _crd_of_rules(text) is not None)


def _documents(directory: str | Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(Path(directory).iterdir()):
        if path.suffix not in (".yaml", ".yml", ".json") or not path.is_file():
            continue
        text = path.read_bytes()
        if path.suffix == ".json":
            if _may_be_crd_in_json(text):
                yield str(path), text
            continue
        found = [d for d in _MARKER.split(text) if _has_content(d) and _may_be_crd(d)]
        for i, d in enumerate(found):
            yield (f"{path}#{i + 1}" if len(found) > 1 else str(path)), d


def _has_content(text: bytes) -> bool:
    lines = (line.strip() for line in text.splitlines())
    return any(line and not line.startswith(b"#") for line in lines)


_CRD_KINDS = (None, "CustomResourceDefinition", "CustomResourceDefinitionList", "List")


def _may_be_crd(text: bytes) -> bool:
    kind = _KIND.search(text)
    return kind is None or kind.group(1).decode(errors="replace") in _CRD_KINDS


def _may_be_crd_in_json(text: bytes) -> bool:
    try:
        content = json.loads(text)
    except ValueError:
        return True  # the server reports the error
    return not isinstance(content, dict) or content.get("kind") in _CRD_KINDS


def _crd_of_rules(text: bytes) -> str | None:
    """Returns the name of the CRD of conversion rules, or None if a document has no conversion rules."""
    if text.lstrip().startswith(b"{"):
        try:
            content = json.loads(text)
        except ValueError:
            return None
        if "crd" not in content or "kind" in content or "apiVersion" in content:
            return None
        return str(content["crd"])
    found = _CRD.search(text)
    return None if found is None or _TYPED.search(text) else found.group(1).decode(errors="replace")


def register_all(
    channel: grpc.Channel,
    texts: Iterable[bytes],
    *,
    catalog: str = "default",
    timeout: float | None = 60,
    metadata: Metadata | None = None,
) -> tuple[list[registry_pb2.RegisterCrdsResult], str]:
    """Registers CRDs in order, in as many calls as needed. `timeout` applies to each call.

    Returns a result for each CRD, and the token that makes later reads see all registrations. A CRD that fails does
    not affect the others. Its result has `error`, or a `registration` that is not `accepted`. If a call fails, its
    grpc.RpcError has the results and the token of the earlier calls in the attributes `results` and `token`.
    """
    stub = registry_pb2_grpc.RegistryServiceStub(channel)
    results: list[registry_pb2.RegisterCrdsResult] = []
    token = ""
    batch: list[registry_pb2.RegisterCrdsEntry] = []
    size = 0

    def send() -> None:
        nonlocal token, size
        request = registry_pb2.RegisterCrdsRequest(catalog=catalog, entries=batch)
        try:
            answer = stub.RegisterCrds(request, timeout=timeout, metadata=sent(metadata))
        except grpc.RpcError as error:
            raise with_results(error, results=results, token=token)
        results.extend(answer.results)
        token = answer.token or token
        batch.clear()
        size = 0

    for text in texts:
        if batch and (len(batch) == ENTRIES_AT_ONCE or size + len(text) > BYTES_AT_ONCE):
            send()
        batch.append(registry_pb2.RegisterCrdsEntry(manifest=document(text)))
        size += len(text)
    if batch:
        send()
    return results, token


def set_conversions(
    channel: grpc.Channel,
    texts: Iterable[bytes],
    *,
    catalog: str = "default",
    timeout: float | None = 60,
    metadata: Metadata | None = None,
) -> list[registry_pb2.SetConversionResponse | grpc.RpcError]:
    """Sets conversion rules of registered CRDs in order. `timeout` applies to each call.

    Returns for each text a response, which may not be `accepted`, or the error about the text, for example if its CRD
    is not registered. Raises the grpc.RpcError of a call that fails for another reason, with the results of the earlier
    calls in its attribute `results`.
    """
    stub = registry_pb2_grpc.RegistryServiceStub(channel)
    results: list[registry_pb2.SetConversionResponse | grpc.RpcError] = []
    for text in texts:
        request = registry_pb2.SetConversionRequest(
            catalog=catalog, crd=_crd_of_rules(text) or "", rules=document(text)
        )
        try:
            results.append(stub.SetConversion(request, timeout=timeout, metadata=sent(metadata)))
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND):
                raise with_results(error, results=results)
            results.append(error)
    return results


def watch(
    channel: grpc.Channel,
    *,
    catalog: str = "default",
    from_token: str = "",
    view: "registry_pb2.CrdView" = registry_pb2.CRD_VIEW_BASIC,
    metadata: Metadata | None = None,
) -> Iterator[registry_pb2.WatchCrdsResponse]:
    """Yields the events of the CRDs of a catalog until the caller stops.

    Without a token every CRD comes as ADDED, then SYNCED, then each change. If the connection or the server is lost,
    the watch resumes and yields SYNCED again after it has caught up. If the server no longer keeps the state of the
    token, a watch that began with every CRD reads all CRDs again and yields the difference: MODIFIED, and DELETED for
    missing CRDs. A watch that began from a token cannot detect deleted CRDs. It raises the grpc.RpcError, as for every
    permanent error.
    """
    stub = registry_pb2_grpc.RegistryServiceStub(channel)
    state = WatchState(from_token)
    while True:
        request = registry_pb2.WatchCrdsRequest(catalog=catalog, from_token=state.begin(), view=view)
        call = stub.WatchCrds(request, metadata=sent(metadata))
        delay = 0.0
        try:
            for event in call:
                yield from state.news(event)
        except grpc.RpcError as error:
            if not state.resumes(error.code(), reason(error)):
                raise
            delay = retry_delay(error) or 0.0
        finally:
            call.cancel()
        time.sleep(max(state.pause * (1 + random.random()) / 2, delay))


class WatchState:
    """The state of a watch across its calls."""

    def __init__(self, token: str):
        self.pause = _FIRST_PAUSE
        """Seconds before the next call. Half of them are random."""
        self._token, self._next_pause = token, _FIRST_PAUSE
        self._known: dict[str, registry_pb2.Crd] | None = None if token else {}
        self._anew: set[str] | None = None

    def begin(self) -> str:
        """Returns the token of the next call."""
        self._anew = set() if self._known is not None and not self._token else None
        self.pause, self._next_pause = self._next_pause, min(2 * self._next_pause, _LONG_PAUSE)
        return self._token

    def news(self, event: registry_pb2.WatchCrdsResponse) -> Iterator[registry_pb2.WatchCrdsResponse]:
        """Yields the events of the caller for an event of the server."""
        self.pause, self._next_pause = _FIRST_PAUSE, 2 * _FIRST_PAUSE
        for e in _news(event, self._known, self._anew):
            self._token = e.token or self._token
            yield e
        self._token = event.token or self._token
        if event.type == registry_pb2.WATCH_EVENT_TYPE_SYNCED:
            self._anew = None

    def resumes(self, code: grpc.StatusCode, reason_of_error: str) -> bool:
        """Returns whether the watch continues after an error. If its token expired, it begins with every CRD again."""
        if code == grpc.StatusCode.UNAVAILABLE:
            return True
        if self._known is not None and reason_of_error in ("WATCH_EXPIRED", "TOKEN_INVALID"):
            self._token = ""
            return True
        return False


def _news(
    event: registry_pb2.WatchCrdsResponse, known: dict[str, registry_pb2.Crd] | None, anew: set[str] | None
) -> Iterator[registry_pb2.WatchCrdsResponse]:
    """Yields the event unless the caller already knows its state.

    `known` maps names to the CRDs that were yielded. `anew` has the names seen while all CRDs are read again.
    """
    if known is None:
        yield event
        return
    name = event.crd.name
    if event.type in (registry_pb2.WATCH_EVENT_TYPE_ADDED, registry_pb2.WATCH_EVENT_TYPE_MODIFIED):
        before = known.get(name)
        known[name] = event.crd
        if anew is not None:
            anew.add(name)
        if before is not None and before.etag == event.crd.etag:
            return
        if before is not None:
            event.type = registry_pb2.WATCH_EVENT_TYPE_MODIFIED
    elif event.type == registry_pb2.WATCH_EVENT_TYPE_DELETED:
        if known.pop(name, None) is None:
            return
    elif event.type == registry_pb2.WATCH_EVENT_TYPE_SYNCED and anew is not None:
        for gone in sorted(known.keys() - anew):
            yield registry_pb2.WatchCrdsResponse(type=registry_pb2.WATCH_EVENT_TYPE_DELETED, crd=known.pop(gone))
    yield event


def reason(error: grpc.RpcError) -> str:
    """Returns the reason of an error: a name of crdeval.v1.ErrorReason without its prefix. Empty if there is none."""
    return CrdevalError.of(error).reason
