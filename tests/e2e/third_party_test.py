"""A client that is not ours: Python's grpcio, with stubs made from proto/ on the spot."""
import os
import subprocess
import sys
import tempfile
import unittest

import grpc

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import Router  # noqa: E402

sys.dont_write_bytecode = True
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto")


def load_messages():
    out = tempfile.mkdtemp(prefix="sluice-stubs-")
    files = [os.path.relpath(os.path.join(d, f), root)
             for root in (PROTO, f"{PROTO}/third_party") for d, _, fs in os.walk(root) for f in fs
             if f.endswith(".proto") and ("third_party" in root or "third_party" not in d)]
    subprocess.run(["protoc", "-I", PROTO, "-I", f"{PROTO}/third_party", "--python_out", out, *files], check=True)
    sys.path.insert(0, out)


class ThirdParty(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        load_messages()
        cls.stack = Router(ports=["p0", "p1"])
        cls.r = cls.stack.__enter__()
        cls.r.configure_hosts()
        cls.channel = grpc.insecure_channel(cls.r.server)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.stack.__exit__(None, None, None)

    def call(self, method, request, answer):
        return self.channel.unary_unary(f"/sluice.v1.SluiceService/{method}",
                                        request_serializer=lambda m: m.SerializeToString(),
                                        response_deserializer=answer.FromString)(request, timeout=10)

    def test_reflection_lists_our_service_and_health(self):
        # ServerReflectionRequest{list_services = 7: "*"}; the answer's names are readable in its bytes.
        listing = self.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                             request_serializer=bytes, response_deserializer=bytes)
        answer = next(listing(iter([b"\x3a\x01*"]), timeout=10))
        self.assertIn(b"sluice.v1.SluiceService", answer)
        self.assertIn(b"grpc.health.v1.Health", answer)

    def test_commits_a_route_and_reads_it_back(self):
        from google.protobuf import message  # noqa: F401
        from sluice.v1 import commit_pb2, read_pb2
        request = commit_pb2.CommitRequest()
        route = request.operations.add(verb=commit_pb2.VERB_ADD).object.route
        route.prefix = "172.30.0.0/16"
        route.nexthops.add(gateway="10.0.2.2")
        answer = self.call("Commit", request, commit_pb2.CommitResponse)
        self.assertEqual(answer.reached, commit_pb2.ACK_VISIBLE)
        self.assertEqual(answer.generation, self.r.status()["generation"])

        read = self.channel.unary_stream("/sluice.v1.SluiceService/Read",
                                         request_serializer=lambda m: m.SerializeToString(),
                                         response_deserializer=read_pb2.ReadResponse.FromString)
        parts = list(read(read_pb2.ReadRequest(), timeout=10))
        self.assertTrue(parts[-1].complete)
        self.assertEqual({p.generation for p in parts}, {answer.generation})
        self.assertIn("172.30.0.0/16", [o.route.prefix for p in parts for o in p.objects])

    def test_a_refusal_carries_error_info_and_the_field(self):
        from google.rpc import error_details_pb2, status_pb2
        from sluice.v1 import commit_pb2
        request = commit_pb2.CommitRequest()
        for prefix in ("172.31.0.0/16", "172.31.0.1/16"):
            route = request.operations.add(verb=commit_pb2.VERB_ADD).object.route
            route.prefix = prefix
            route.nexthops.add(gateway="10.0.2.2")
        with self.assertRaises(grpc.RpcError) as raised:
            self.call("Commit", request, commit_pb2.CommitResponse)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("172.31.0.1/16", raised.exception.details())
        blob = dict(raised.exception.trailing_metadata())["grpc-status-details-bin"]
        status = status_pb2.Status.FromString(blob)
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        self.assertEqual([d.Unpack(info) for d in status.details].count(True), 1)
        self.assertEqual(info.domain, "sluice")
        self.assertTrue(any(d.Unpack(bad) for d in status.details))
        self.assertEqual(bad.field_violations[0].field, "operations[1].object.route.prefix")

    def test_garbage_is_refused_and_the_service_lives_on(self):
        raw = self.channel.unary_unary("/sluice.v1.SluiceService/Commit", request_serializer=bytes,
                                       response_deserializer=bytes)
        for junk in (b"\xff" * 64, b"\x12\x05\x1a\x03\xff\xff\xff", os.urandom(500)):
            with self.assertRaises(grpc.RpcError):
                raw(junk, timeout=10)
        self.assertGreater(self.r.status()["generation"], 0)


if __name__ == "__main__":
    unittest.main()
