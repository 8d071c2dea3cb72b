"""Tests of crdeval.retries with a server that rejects the first calls."""

import unittest
from concurrent import futures
from unittest import mock

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from crdeval import retries
from crdeval.v1 import server_pb2, server_pb2_grpc


class Server(server_pb2_grpc.ServerServiceServicer):
    """Fails the first calls with a reason and a retry delay in milliseconds."""

    def __init__(self, failures: int, reason: str, delay: int):
        self.failures, self.reason, self.delay, self.calls = failures, reason, delay, 0

    def GetServerInfo(self, request, context):
        self.calls += 1
        if self.calls > self.failures:
            return server_pb2.GetServerInfoResponse(version="test")
        status = status_pb2.Status(code=grpc.StatusCode.UNAVAILABLE.value[0], message="text")
        for detail in (
            error_details_pb2.ErrorInfo(domain="crdeval.dev", reason=self.reason),
            error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=self.delay // 1000, nanos=self.delay % 1000 * 1000000)),
        ):
            packed = any_pb2.Any()
            packed.Pack(detail)
            status.details.append(packed)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "text")


class RetriesTest(unittest.TestCase):
    def run_call(self, failures, reason="OVERLOADED", delay=700, timeout=None, **options):
        """Makes a call. Returns the pauses, the calls that the server received, and the error."""
        served = Server(failures, reason, delay)
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
        server_pb2_grpc.add_ServerServiceServicer_to_server(served, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        pauses, error = [], None
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, mock.patch("time.sleep", pauses.append):
            stub = server_pb2_grpc.ServerServiceStub(retries.with_retries(channel, **options))
            try:
                self.assertEqual(stub.GetServerInfo(server_pb2.GetServerInfoRequest(), timeout=timeout).version, "test")
            except grpc.RpcError as e:
                error = e.code()
        server.stop(None)
        return pauses, served.calls, error

    def test_success(self):
        self.assertEqual(self.run_call(0), ([], 1, None))

    def test_waits_for_the_delay_of_the_server(self):
        self.assertEqual(self.run_call(2), ([0.7, 0.7], 3, None))

    def test_backs_off(self):
        pauses, calls, error = self.run_call(3, delay=0)
        self.assertEqual((calls, error), (4, None))
        for pause, most in zip(pauses, (0.1, 0.2, 0.4), strict=True):
            self.assertTrue(most / 2 <= pause <= most, pauses)

    def test_gives_up(self):
        self.assertEqual(self.run_call(9)[1:], (5, grpc.StatusCode.UNAVAILABLE))
        self.assertEqual(self.run_call(9, max_attempts=1)[1:], (1, grpc.StatusCode.UNAVAILABLE))

    def test_keeps_the_timeout(self):
        pauses, calls, error = self.run_call(9, delay=900000, timeout=60)
        self.assertEqual((pauses, calls, error), ([], 1, grpc.StatusCode.UNAVAILABLE))

    def test_does_not_repeat_other_errors(self):
        self.assertEqual(self.run_call(9, reason="STORE_UNAVAILABLE"), ([], 1, grpc.StatusCode.UNAVAILABLE))


if __name__ == "__main__":
    unittest.main()
