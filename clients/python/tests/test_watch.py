"""Tests of the watches of both clients with a server in the process."""

import asyncio
import unittest
from collections.abc import Iterator
from concurrent import futures
from typing import Any
from unittest import mock

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from crdeval import AsyncClient, Client, CrdEvent, CrdevalError
from crdeval.v1 import registry_pb2, registry_pb2_grpc

LOST = (grpc.StatusCode.UNAVAILABLE, "OVERLOADED")
EXPIRED = (grpc.StatusCode.OUT_OF_RANGE, "WATCH_EXPIRED")
DENIED = (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")


class Server(registry_pb2_grpc.RegistryServiceServicer):
    """Answers each watch with events such as `ADDED a 1` (type, name, etag) or `SYNCED`, a token, and an error."""

    def __init__(self, *watches: tuple[list[str], str, tuple[grpc.StatusCode, str]]):
        self.watches, self.tokens = list(watches), list[str]()

    def WatchCrds(self, request: Any, context: Any) -> Iterator[registry_pb2.WatchCrdsResponse]:
        self.tokens.append(request.from_token)
        events, token, (code, reason) = self.watches.pop(0)
        for event in events:
            kind, *crd = event.split()
            message = registry_pb2.WatchCrdsResponse()
            message.type = 99 if kind == "NEW" else registry_pb2.WatchEventType.Value(f"WATCH_EVENT_TYPE_{kind}")
            if crd:
                message.crd.name, message.crd.etag = crd
            else:
                message.token = token
            yield message
        status = status_pb2.Status(code=code.value[0], message="text", details=[any_pb2.Any()])
        status.details[0].Pack(error_details_pb2.ErrorInfo(domain="crdeval.dev", reason=reason))
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, "text")


def collect(client: str, target: str, token: str) -> list[str]:
    """Returns the events of a client up to the error that ends the watch."""
    events: list[str] = []

    def add(event: CrdEvent) -> None:
        events.append(event.type if event.crd is None else f"{event.type} {event.crd.name} {event.crd.etag}")

    async def run() -> None:
        async with AsyncClient(target) as asynchronous:
            async for event in asynchronous.watch(from_token=token):
                add(event)

    try:
        if client == "AsyncClient":
            asyncio.run(run())
        with Client(target) as blocking:
            for event in blocking.watch(from_token=token):
                add(event)
    except CrdevalError as error:
        events.append(error.reason)
    return events


@mock.patch("crdeval.registry._FIRST_PAUSE", 0.001)
class WatchTest(unittest.TestCase):
    def watch(self, *watches: Any, token: str = "") -> tuple[list[str], list[str]]:
        """Returns the events and the tokens of the calls, which are the same for both clients."""
        outcomes = []
        for client in ("Client", "AsyncClient"):
            served = Server(*watches)
            server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
            registry_pb2_grpc.add_RegistryServiceServicer_to_server(served, server)
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            outcomes.append((collect(client, f"127.0.0.1:{port}", token), served.tokens))
            server.stop(None)
        self.assertEqual(outcomes[0], outcomes[1])
        return outcomes[0]

    def test_resumes_from_the_last_token(self) -> None:
        events, tokens = self.watch(
            (["ADDED a 1", "SYNCED"], "t1", LOST), (["MODIFIED a 2", "SYNCED"], "t2", LOST), ([], "", DENIED)
        )
        self.assertEqual(events, ["ADDED a 1", "SYNCED", "MODIFIED a 2", "SYNCED", "PERMISSION_DENIED"])
        self.assertEqual(tokens, ["", "t1", "t2"])

    def test_yields_the_difference_if_the_token_expired(self) -> None:
        events, tokens = self.watch(
            (["ADDED a 1", "ADDED b 1", "ADDED c 1", "SYNCED"], "t1", EXPIRED),
            (["ADDED a 1", "ADDED b 2", "ADDED d 1", "SYNCED"], "t2", DENIED),
        )
        self.assertEqual(events[4:], ["MODIFIED b 2", "ADDED d 1", "DELETED c 1", "SYNCED", "PERMISSION_DENIED"])
        self.assertEqual(tokens, ["", ""])

    def test_yields_events_of_new_types(self) -> None:
        events, _ = self.watch((["ADDED a 1", "SYNCED"], "t1", EXPIRED), (["NEW", "ADDED a 1", "SYNCED"], "t2", DENIED))
        self.assertEqual(events[2:], ["UNSPECIFIED", "SYNCED", "PERMISSION_DENIED"])

    def test_raises_the_expiry_of_the_token_of_the_caller(self) -> None:
        self.assertEqual(self.watch(([], "", EXPIRED), token="t0"), (["WATCH_EXPIRED"], ["t0"]))


if __name__ == "__main__":
    unittest.main()
