"""Tests of the streams of both clients with a server in the process."""

import asyncio
import unittest
from collections.abc import Iterator
from concurrent import futures
from itertools import chain, repeat
from typing import Any

import grpc

from crdeval import AsyncClient, Client, CrdevalError
from crdeval.v1 import evaluation_pb2, evaluation_pb2_grpc


class Server(evaluation_pb2_grpc.EvaluationServiceServicer):
    """Answers each write with a verdict. Ends the stream at a write with the text `end`."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.first: Any = None

    def AdmitStream(self, requests: Any, context: Any) -> Iterator[evaluation_pb2.AdmitStreamResponse]:
        for request in requests:
            if not request.items:
                self.first = request
                continue
            self.sizes.append(len(request.items))
            texts = [item.create.object.json.decode() for item in request.items]
            if '["end"]' in texts:
                context.abort(grpc.StatusCode.UNAVAILABLE, "stop")
            verdicts = [evaluation_pb2.Verdict(allowed=True, revision=text) for text in texts]
            results = [evaluation_pb2.VerdictResult(verdict=v) for v in verdicts]
            yield evaluation_pb2.AdmitStreamResponse(results=results)


def collect(client: str, target: str, writes: Any, **arguments: Any) -> list[str]:
    """Returns the texts of the results of a client."""
    if client == "Client":
        with Client(target) as blocking:
            return [r.get().revision for r in blocking.admit_stream(writes, **arguments)]

    async def run() -> list[str]:
        async with AsyncClient(target) as client:
            return [r.get().revision async for r in client.admit_stream(writes, **arguments)]

    return asyncio.run(run())


class StreamsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.served = Server()
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        evaluation_pb2_grpc.add_EvaluationServiceServicer_to_server(self.served, server)
        self.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        self.addCleanup(server.stop, None)

    def test_keeps_the_order(self) -> None:
        for client in ("Client", "AsyncClient"):
            with self.subTest(client):
                self.served.sizes.clear()
                texts = [f"[{i}]" for i in range(250)]
                self.assertEqual(collect(client, self.target, texts, timeout=60), texts)
                self.assertEqual(self.served.sizes, [100, 100, 50])

    def test_sends_the_settings_of_a_stream(self) -> None:
        options = evaluation_pb2.EvaluationOptions(field_validation=evaluation_pb2.FIELD_VALIDATION_STRICT)
        for client in ("Client", "AsyncClient"):
            with self.subTest(client):
                collect(client, self.target, ["[0]"], options=options, crds=["kind: A"], timeout=60)
                context = self.served.first.context
                self.assertEqual((context.options, context.crds[0].yaml), (options, "kind: A"))
            for timeout in (0, -1):
                with self.subTest(client), self.assertRaisesRegex(ValueError, "must be positive"):
                    collect(client, self.target, ["[0]"], timeout=timeout)

    def test_reads_asynchronous_iterators(self) -> None:
        async def writes() -> Any:
            for i in range(3):
                yield f"[{i}]"

        self.assertEqual(collect("AsyncClient", self.target, writes(), at_once=1, timeout=60), ["[0]", "[1]", "[2]"])
        self.assertEqual(self.served.sizes, [1, 1, 1])

    def test_raises_the_error_of_the_stream(self) -> None:
        for client in ("Client", "AsyncClient"):
            with self.subTest(client), self.assertRaisesRegex(CrdevalError, "UNAVAILABLE: stop"):
                collect(client, self.target, ["[0]", '["end"]'], timeout=60)

    def test_raises_the_error_of_the_stream_that_ends_during_writes(self) -> None:
        for client in ("Client", "AsyncClient"):
            for _ in range(20):
                with self.subTest(client), self.assertRaisesRegex(CrdevalError, "UNAVAILABLE: stop"):
                    collect(client, self.target, chain(['["end"]'], repeat("[0]")), at_once=1, timeout=60)

    def test_raises_the_error_of_the_iterator(self) -> None:
        for client in ("Client", "AsyncClient"):
            with self.subTest(client), self.assertRaisesRegex(TypeError, "a document is str"):
                collect(client, self.target, ["[0]", 7], at_once=1, timeout=60)
            with self.subTest(client), self.assertRaisesRegex(ValueError, "at_once is 101"):
                collect(client, self.target, ["[0]"], at_once=101, timeout=60)
            with self.subTest(client), self.assertRaisesRegex(TypeError, "give a list"):
                collect(client, self.target, "{}", timeout=60)


if __name__ == "__main__":
    unittest.main()
