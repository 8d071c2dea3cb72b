"""Tests of the requests of both clients, without a server."""

import unittest
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from crdeval import Client, CrdevalError, RetryPolicy
from crdeval.calls import Call, Calls, Pause, on_this_host
from crdeval.v1 import evaluation_pb2, registry_pb2, server_pb2


class RpcError(grpc.RpcError):
    """An error with details, as gRPC raises it."""

    def __init__(self, code: grpc.StatusCode, reason: str, delay: float):
        status = status_pb2.Status(code=code.value[0], message="text")
        retry = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(nanos=int(delay * 1e9)))
        info = error_details_pb2.ErrorInfo(domain="crdeval.dev", reason=reason, metadata={"limit": "a"})
        for detail in (info, retry):
            packed = any_pb2.Any()
            packed.Pack(detail)
            status.details.append(packed)
        self._details = status.SerializeToString()

    def trailing_metadata(self) -> Any:
        return (("grpc-status-details-bin", self._details),)


OVERLOADED = RpcError(grpc.StatusCode.UNAVAILABLE, "OVERLOADED", 0.7)


def drive(
    steps: Any, limits: dict[str, int], errors: list[RpcError] | None = None
) -> tuple[Any, list[Any], list[float]]:
    """Performs the steps of a method. Returns its result, the requests and the pauses."""
    requests, pauses, remaining = [], [], list(errors or [])
    try:
        step = next(steps)
        while True:
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                step = next(steps)
            elif remaining:
                requests.append(step.request)
                step = steps.throw(remaining.pop(0))
            else:
                step = steps.send(answer(step, limits, requests))
    except StopIteration as stop:
        return stop.value, requests, pauses


def answer(call: Call, limits: dict[str, int], requests: list[Any]) -> Any:
    if call.method == "GetServerInfo":
        return server_pb2.GetServerInfoResponse(limits=server_pb2.ServerLimits(**limits))
    requests.append(call.request)
    if call.method == "DeleteCrd":
        return registry_pb2.DeleteCrdResponse(token="t")
    assert isinstance(call.request, evaluation_pb2.ValidateRequest)
    verdicts = [evaluation_pb2.Verdict(revision=i.object.json.decode()) for i in call.request.items]
    return evaluation_pb2.ValidateResponse(results=[evaluation_pb2.VerdictResult(verdict=v) for v in verdicts])


class ClientTest(unittest.TestCase):
    limits = {"max_batch_items": 2, "max_message_bytes": 1 << 20}

    def calls(self, **retries: Any) -> Calls:
        return Calls("team", 60, RetryPolicy(**retries))

    def test_splits_by_items(self) -> None:
        found, requests, _ = drive(self.calls().validate([{"i": i} for i in range(5)], None), self.limits)
        self.assertEqual([len(r.items) for r in requests], [2, 2, 1])
        self.assertEqual([r.get().revision for r in found], [f'{{"i":{i}}}' for i in range(5)])
        self.assertEqual({r.catalog for r in requests}, {"team"})

    def test_splits_by_bytes(self) -> None:
        limits = {"max_batch_items": 100, "max_message_bytes": 120}
        objects = [{"i": "x" * 200}, *({"i": i} for i in range(6))]
        found, requests, _ = drive(self.calls().validate(objects, None), limits)
        self.assertEqual(len(found), 7)
        self.assertEqual(len(requests[0].items), 1)
        self.assertTrue(all(r.ByteSize() <= 60 for r in requests[1:]), requests)

    def test_sends_nothing_without_objects(self) -> None:
        self.assertEqual(drive(self.calls().validate([], None), self.limits), ([], [], []))

    def test_waits_for_the_delay_of_the_server(self) -> None:
        _, requests, pauses = drive(self.calls().validate(["{}"], None), self.limits, [OVERLOADED] * 2)
        self.assertEqual((len(requests), pauses), (3, [0.7, 0.7]))

    def test_backs_off(self) -> None:
        error = RpcError(grpc.StatusCode.UNAVAILABLE, "OVERLOADED", 0)
        _, _, pauses = drive(self.calls().validate(["{}"], None), self.limits, [error] * 3)
        for pause, most in zip(pauses, (0.1, 0.2, 0.4), strict=True):
            self.assertTrue(most / 2 <= pause <= most, pauses)

    def test_gives_up(self) -> None:
        for steps, errors in (
            (self.calls().validate(["{}"], None), [OVERLOADED] * 5),
            (self.calls(max_attempts=1).validate(["{}"], None), [OVERLOADED]),
            (self.calls().validate(["{}"], 0.5), [OVERLOADED]),
        ):
            with self.assertRaises(CrdevalError) as raised:
                drive(steps, self.limits, errors)
            self.assertEqual((raised.exception.reason, raised.exception.retry_delay), ("OVERLOADED", 0.7))

    def test_does_not_repeat_other_errors(self) -> None:
        error = RpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED", 0)
        with self.assertRaisesRegex(CrdevalError, "LIMIT_EXCEEDED: text") as raised:
            drive(self.calls().validate(["{}"], None), self.limits, [error])
        self.assertEqual(raised.exception.code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(raised.exception.metadata, {"limit": "a"})

    def test_keeps_the_token_of_a_write(self) -> None:
        calls = self.calls()
        drive(calls.delete_crd("a.b", None), self.limits)
        _, requests, _ = drive(calls.validate(["{}"], None, crds=["kind: A"]), self.limits)
        self.assertEqual((requests[0].at_least, requests[0].crds[0].yaml), ("t", b"kind: A"))

    def test_bounds_each_call(self) -> None:
        step = next(self.calls().validate(["{}"], 5))
        self.assertTrue(isinstance(step, Call) and 4 < step.timeout <= 5)
        for timeout in (0, -1):
            with self.assertRaisesRegex(ValueError, "must be positive"):
                next(self.calls().validate(["{}"], timeout))

    def test_does_not_send_tokens_in_plain_text(self) -> None:
        with self.assertRaisesRegex(ValueError, "plain text"):
            Client("example.com:9090", token="secret")
        Client("example.com:9090", token="secret", tls=True).close()
        for local in ("localhost:1", "127.0.0.1:1", "[::1]:1", "dns:///localhost:1", "unix:///a"):
            self.assertTrue(on_this_host(local), local)
        for remote in ("localhost.example.com:1", "127.0.0.1.example.com:1", "127.a.b.c:1", "10.0.0.1:1"):
            self.assertFalse(on_this_host(remote), remote)

    def test_reports_an_unreachable_server(self) -> None:
        with Client("127.0.0.1:1", timeout=5) as client, self.assertRaises(CrdevalError) as raised:
            client.limits()
        self.assertEqual((raised.exception.code, raised.exception.reason), (grpc.StatusCode.UNAVAILABLE, ""))


if __name__ == "__main__":
    unittest.main()
