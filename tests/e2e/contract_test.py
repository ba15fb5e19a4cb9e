"""What an orchestrator must be able to trust, through sluicectl: all or nothing, read back exactly, restart."""
import signal
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import Router  # noqa: E402

sys.dont_write_bytecode = True


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Router(ports=["p0", "p1"])
        cls.r = cls.stack.__enter__()
        cls.r.configure_hosts()

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def routes(self):
        return sorted(str(x) for x in self.r.ip_json("route show table all") + self.r.ip_json("-6 route show table all"))

    def test_a_batch_with_a_bad_500th_line_changes_nothing(self):
        before = (self.routes(), self.r.status()["generation"])
        lines = [f"route add 172.16.{i // 256}.{i % 256}/32 via 10.0.2.2" for i in range(1000)]
        lines[499] = "route add 172.16.1.243/32 via 192.0.2.99"
        out = self.r.batch(lines, check=False)
        self.assertNotEqual(out.returncode, 0)
        self.assertIn("192.0.2.99", out.stderr)
        self.assertIn("500", out.stderr)
        self.assertEqual((self.routes(), self.r.status()["generation"]), before)

    def test_adding_twice_is_refused_and_deleting_twice_too(self):
        self.r.ip("route add 172.20.0.0/16 via 10.0.2.2")
        again = self.r.ip("route add 172.20.0.0/16 via 10.0.1.2", check=False)
        self.assertEqual(again.returncode, 2)
        self.assertIn("exist", again.stderr.lower())
        self.r.ip("route del 172.20.0.0/16")
        again = self.r.ip("route del 172.20.0.0/16", check=False)
        self.assertEqual(again.returncode, 2)

    def test_a_killed_daemon_comes_back_with_everything(self):
        self.r.batch([f"route add 172.21.{i}.0/24 via 10.0.2.2" for i in range(200)])
        before, instance = self.routes(), self.r.status()
        self.r.stop(signal.SIGKILL)
        self.r.start()
        self.assertEqual(self.routes(), before)
        after = self.r.status()
        self.assertEqual(after["generation"], instance["generation"])
        self.assertNotEqual(after["instance_id"], instance["instance_id"])
        self.assertIn("3 received", self.r.host("p0").run("ping", "-n", "-c", "3", "-i", "0.2", "-W", "3", "10.0.2.2").stdout)
        self.r.batch([f"route del 172.21.{i}.0/24" for i in range(200)])

    def test_bad_words_name_themselves(self):
        for line, word in (("route add 10.9.0.1/8 via 10.0.2.2", "10.9.0.1/8"), ("route add 10.9.0.0/16 via 10.0.2.2 dev p9", "p9"),
                           ("address add 10.0.1.1/33 dev p0", "10.0.1.1/33"), ("route add 10.9.0.0/16 via nonsense", "nonsense"),
                           ("link set p7 up", "p7"), ("route add 10.9.0.0/16 vai 10.0.2.2", "vai")):
            out = self.r.ip(line, check=False)
            self.assertIn(out.returncode, (1, 2, 255), line)
            self.assertIn(word, out.stderr, line)

    def test_explain_says_what_the_wire_does(self):
        self.r.host("p0").run("ping", "-c", "1", "-W", "2", "10.0.2.2", check=False)
        out = self.r.ctl("explain", "--port", "p0", "--src", "10.0.1.2", "--dst", "10.0.2.2", "--proto", "udp").stdout
        self.assertIn("p1", out)
        self.assertIn("02:00:00:00:01:02", out)
        got = self.r.ip_json("route get 10.0.2.2")
        self.assertEqual(got[0]["dev"], "p1")


if __name__ == "__main__":
    unittest.main()
