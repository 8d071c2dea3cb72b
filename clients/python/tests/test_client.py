"""Tests of the requests of both clients, without a server."""

import math
import sys
import unittest
from pathlib import Path
from typing import Any, cast
from unittest import mock

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from crdeval import Client, CrdevalError, RetryPolicy, registry, results, writes
from crdeval.calls import check_target, on_this_host
from crdeval.v1 import evaluation_pb2, registry_pb2, server_pb2, violation_pb2

sys.path.append(str(Path(__file__).parents[1]))
import generate  # noqa: E402


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
        self._code, self._details = code, status.SerializeToString()

    def code(self) -> grpc.StatusCode:
        return self._code

    def trailing_metadata(self) -> Any:
        return (("grpc-status-details-bin", self._details),)


OVERLOADED = RpcError(grpc.StatusCode.UNAVAILABLE, "OVERLOADED", 0.7)


class Channel:
    """Answers calls in the process. The first calls fail with `errors`, and call number `fails` with the last one."""

    def __init__(self, errors: list[RpcError] | None = None, fails: int = 0, **limits: int):
        self.errors, self.fails = list(errors or []), fails
        self.limits = {"max_batch_items": 2, "max_message_bytes": 1 << 20} | limits
        self.requests: list[Any] = []
        self.timeouts: list[float] = []

    def unary_unary(self, path: str, *_: Any, **__: Any) -> Any:
        """Returns the method of a stub."""

        def call(request: Any, timeout: float, metadata: Any) -> Any:
            if isinstance(request, server_pb2.GetServerInfoRequest):
                return server_pb2.GetServerInfoResponse(limits=server_pb2.ServerLimits(**self.limits))
            self.requests.append(request)
            self.timeouts.append(timeout)
            if self.errors and self.fails in (0, len(self.requests)):
                raise self.errors.pop(0)
            return answer(request)

        return call

    unary_stream = stream_stream = unary_unary


def answer(request: Any) -> Any:
    """Returns the response of the server."""
    if isinstance(request, registry_pb2.DeleteCrdRequest):
        return registry_pb2.DeleteCrdResponse(token="t")
    if isinstance(request, registry_pb2.RegisterCrdsRequest):
        results = [{"crd": e.manifest.json.decode()} for e in request.entries]
        return registry_pb2.RegisterCrdsResponse(results=results, token="t")
    if isinstance(request, registry_pb2.SetConversionRequest):
        return registry_pb2.SetConversionResponse(accepted=True)
    if isinstance(request, evaluation_pb2.PruneRequest):
        return evaluation_pb2.PruneResponse(results=[{"transformed": {"object": i.object}} for i in request.items])
    if isinstance(request, evaluation_pb2.AdmitRequest):
        return evaluation_pb2.AdmitResponse(results=[{"verdict": {"allowed": True}} for _ in request.items])
    verdicts = [evaluation_pb2.Verdict(revision=i.create.object.json.decode()) for i in request.items]
    return evaluation_pb2.ValidateResponse(results=[evaluation_pb2.VerdictResult(verdict=v) for v in verdicts])


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.pauses: list[float] = []
        sleep = mock.patch("crdeval.blocking_transport.sleep", self.pauses.append)
        sleep.start()
        self.addCleanup(sleep.stop)

    def client(self, channel: Channel, **arguments: Any) -> Client:
        return Client(cast(grpc.Channel, channel), catalog="team", **arguments)

    def test_splits_by_items(self) -> None:
        channel = Channel()
        found = self.client(channel).validate([{"i": i} for i in range(5)])
        self.assertEqual([len(r.items) for r in channel.requests], [2, 2, 1])
        self.assertEqual([r.get().revision for r in found], [f'{{"i":{i}}}' for i in range(5)])
        self.assertEqual({r.context.catalog for r in channel.requests}, {"team"})

    def test_splits_by_bytes(self) -> None:
        channel = Channel(max_batch_items=100, max_message_bytes=120)
        objects = [{"i": "x" * 200}, *({"i": i} for i in range(6))]
        self.assertEqual(len(self.client(channel).validate(objects)), 7)
        self.assertEqual(len(channel.requests[0].items), 1)
        self.assertTrue(all(r.ByteSize() <= 60 for r in channel.requests[1:]), channel.requests)

    def test_sends_nothing_without_objects(self) -> None:
        channel = Channel()
        self.assertEqual((self.client(channel).validate([]), channel.requests), ([], []))

    def test_waits_for_the_delay_of_the_server(self) -> None:
        channel = Channel([OVERLOADED] * 2)
        self.client(channel).validate(["{}"])
        self.assertEqual((len(channel.requests), self.pauses), (3, [0.7, 0.7]))

    def test_backs_off(self) -> None:
        self.client(Channel([RpcError(grpc.StatusCode.UNAVAILABLE, "OVERLOADED", 0)] * 3)).validate(["{}"])
        for pause, most in zip(self.pauses, (0.1, 0.2, 0.4), strict=True):
            self.assertTrue(most / 2 <= pause <= most, self.pauses)

    def test_gives_up(self) -> None:
        for errors, arguments in (
            (5, {}),
            (1, {"retries": RetryPolicy(max_attempts=1)}),
            (1, {"timeout": 0.5}),
        ):
            channel = Channel([OVERLOADED] * errors)
            with self.assertRaises(CrdevalError) as raised:
                self.client(channel, **arguments).validate(["{}"])
            self.assertEqual((raised.exception.reason, raised.exception.retry_delay), ("OVERLOADED", 0.7))
            self.assertEqual(len(channel.requests), errors)

    def test_does_not_repeat_other_errors(self) -> None:
        channel = Channel([RpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED", 0)])
        with self.assertRaisesRegex(CrdevalError, "LIMIT_EXCEEDED: text") as raised:
            self.client(channel).validate(["{}"])
        self.assertEqual(raised.exception.code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(raised.exception.metadata, {"limit": "a"})

    def test_an_error_has_the_results_of_earlier_requests(self) -> None:
        objects = [{"i": i} for i in range(5)]
        for name, method in (("verdicts", "validate"), ("transformed", "prune"), ("registered", "register_all")):
            channel = Channel([OVERLOADED], fails=2, max_register_crds=2)
            client = self.client(channel, retries=RetryPolicy(max_attempts=1))
            with self.subTest(method), self.assertRaises(CrdevalError) as raised:
                getattr(client, method)(objects)
            error = raised.exception
            found = {"verdicts": error.verdicts, "transformed": error.transformed, "registered": error.registered}
            self.assertEqual({key: len(value) for key, value in found.items() if value}, {name: 2})

    def test_an_error_of_a_helper_has_the_results_of_earlier_calls(self) -> None:
        for helper, elements, done in (
            (registry.register_all, [b"{}"] * 250, 100),
            (registry.set_conversions, [b"crd: a"] * 3, 1),
            (writes.admit, [writes.create(b"{}")] * 2500, 1000),
        ):
            channel = Channel([RpcError(grpc.StatusCode.UNAVAILABLE, "OVERLOADED", 0)], fails=2)
            with self.subTest(helper.__name__), self.assertRaises(RpcError) as raised:
                cast(Any, helper)(channel, elements)
            error = cast(Any, raised.exception)
            self.assertEqual(len(error.results), done)
            self.assertEqual(getattr(error, "token", ""), "t" if helper is registry.register_all else "")

    def test_accepts_values_of_newer_servers(self) -> None:
        verdict = evaluation_pb2.Verdict(violations=[violation_pb2.Violation()])
        for step, name in ((99, "UNSPECIFIED"), (violation_pb2.PIPELINE_STEP_RULE, "RULE")):
            verdict.violations[0].step = cast(Any, step)
            found = results.verdict(evaluation_pb2.VerdictResult(verdict=verdict)).get()
            self.assertEqual(found.violations[0].step, name)
        registration = results.registration(registry_pb2.RegisterCrdResponse(outcome=cast(Any, 99)))
        self.assertEqual(registration.outcome, "UNSPECIFIED")

    def test_keeps_the_token_of_a_write(self) -> None:
        channel = Channel()
        client = self.client(channel)
        client.delete_crd("a.b")
        client.validate(["{}"], crds=["kind: A"])
        self.assertEqual((channel.requests[1].context.at_least, channel.requests[1].context.crds[0].yaml), ("t", "kind: A"))

    def test_sends_options(self) -> None:
        options = evaluation_pb2.EvaluationOptions(field_validation=evaluation_pb2.FIELD_VALIDATION_STRICT)
        channel = Channel()
        client = self.client(channel)
        client.prune(["{}"], options=options)
        self.assertEqual(channel.requests[0].context.options, options)

    def test_bounds_each_call(self) -> None:
        channel = Channel()
        client = self.client(channel)
        client.validate(["{}"], timeout=5)
        self.assertTrue(0 < channel.timeouts[0] <= 5)
        client.validate(["{}"], timeout=math.inf)
        self.assertLessEqual(channel.timeouts[1], 1e9)
        for timeout in (0, -1, math.nan):
            with self.assertRaisesRegex(ValueError, "must be positive"):
                client.validate(["{}"], timeout=timeout)

    def test_the_blocking_client_is_up_to_date(self) -> None:
        self.assertEqual(
            generate.TARGET.read_text(), generate.blocking(generate.SOURCE.read_text()), "run python generate.py"
        )

    def test_does_not_send_tokens_in_plain_text(self) -> None:
        with self.assertRaisesRegex(ValueError, "plain text"):
            Client("example.com:9090", token="secret")
        Client("example.com:9090", token="secret", tls=True).close()
        for local in ("localhost:1", "127.0.0.1:1", "[::1]:1", "dns:///localhost:1", "unix:///a"):
            self.assertTrue(on_this_host(local), local)
        for remote in ("localhost.example.com:1", "127.0.0.1.example.com:1", "127.a.b.c:1", "10.0.0.1:1"):
            self.assertFalse(on_this_host(remote), remote)

    def test_rejects_wrong_tokens(self) -> None:
        for token in ("s3cret\n", "s3\x00cret", "s3crét"):
            with self.subTest(token), self.assertRaisesRegex(ValueError, "the token has a character that is not printable"):
                Client("localhost:1", token=token)

    def test_rejects_wrong_addresses(self) -> None:
        for wrong in ("localhost:65536", "[::1]:99999", "localhost:123456"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "is not from 0 to 65535"):
                Client(wrong)
        for wrong in ("", "localhost", "http://localhost:9090", "https://localhost:9090", "::1", "localhost:"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "is not HOST:PORT or unix:PATH"):
                Client(wrong)
        for right in ("localhost:1", "[::1]:1", "unix:a", "unix:///a", "dns:///localhost:1", "ipv4:127.0.0.1:1"):
            check_target(right)

    def test_reports_an_unreachable_server(self) -> None:
        with Client("127.0.0.1:1") as client, self.assertRaises(CrdevalError) as raised:
            client.limits()
        self.assertEqual((raised.exception.code, raised.exception.reason), (grpc.StatusCode.UNAVAILABLE, ""))


if __name__ == "__main__":
    unittest.main()
