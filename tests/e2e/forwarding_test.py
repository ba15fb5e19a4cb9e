"""Real packets between real interfaces: what a host behind the router sees."""
import sys
import time
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import Router  # noqa: E402

sys.dont_write_bytecode = True


class Forwarding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Router(ports=["p0", "p1"])
        cls.r = cls.stack.__enter__()
        cls.r.configure_hosts()

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def tearDown(self):
        self.r.check_conservation()

    def ping(self, *words, port="p0", check=True):
        return self.r.host(port).run("ping", "-n", "-i", "0.2", *words, check=check)

    def test_forwards_ping_of_both_families_from_the_first_packet_on(self):
        for address in ("10.0.2.2", "2001:db8:2::2"):
            out = self.ping("-c", "3", "-W", "3", address).stdout
            self.assertIn("3 received", out)
            self.assertIn("ttl=63", out)

    def test_answers_ping_to_its_own_addresses(self):
        for address in ("10.0.1.1", "10.0.2.1", "2001:db8:1::1", "2001:db8:2::1"):
            self.assertIn("3 received", self.ping("-c", "3", "-W", "3", address).stdout)

    def test_says_time_exceeded_from_the_near_address(self):
        out = self.ping("-c", "1", "-W", "2", "-t", "1", "10.0.2.2", check=False).stdout
        self.assertRegex(out, r"From 10\.0\.1\.1 .*Time to live exceeded")
        out = self.ping("-c", "1", "-W", "2", "-t", "1", "2001:db8:2::2", check=False).stdout
        self.assertRegex(out, r"From 2001:db8:1::1.*Time exceeded: Hop limit")

    def test_says_net_unreachable_without_a_route(self):
        time.sleep(1.1)  # a token of the per-host error bucket
        before = self.r.drops().get("no_route", 0)
        out = self.ping("-c", "1", "-W", "2", "192.0.2.1", check=False).stdout
        self.assertRegex(out, r"From 10\.0\.1\.1 .*Destination Net Unreachable")
        out = self.ping("-c", "1", "-W", "2", "2001:db8:ffff::1", check=False).stdout
        self.assertRegex(out, r"From 2001:db8:1::1.*Destination unreachable: No route")
        self.assertGreaterEqual(self.r.drops().get("no_route", 0), before + 2)

    def test_route_types_answer_as_linux_does(self):
        self.r.batch(["route add blackhole 203.0.113.0/26", "route add unreachable 203.0.113.64/26",
                      "route add prohibit 203.0.113.128/26", "route add throw 203.0.113.192/26"])
        try:
            for address, says in (("203.0.113.1", None), ("203.0.113.65", "Destination Host Unreachable"),
                                  ("203.0.113.129", "Packet filtered"), ("203.0.113.193", "Destination Net Unreachable")):
                time.sleep(2.1)
                out = self.ping("-c", "1", "-W", "1", address, check=False).stdout
                if says:
                    self.assertIn(says, out)
                else:
                    self.assertNotIn("From", out)
        finally:
            self.r.batch([f"route del 203.0.113.{n}/26" for n in (0, 64, 128, 192)])

    def test_says_host_unreachable_when_a_neighbour_does_not_answer(self):
        time.sleep(1.1)
        out = self.ping("-c", "1", "-W", "6", "10.0.2.77", check=False).stdout
        self.assertRegex(out, r"From 10\.0\.1\.1 .*Destination Host Unreachable")
        self.assertGreaterEqual(self.r.drops().get("neighbor_failed", 0), 1)

    def test_a_route_takes_effect_for_the_next_packet_and_ends_so(self):
        h = self.r.host("p1")
        h.run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo")
        self.assertNotIn("1 received", self.ping("-c", "1", "-W", "1", "198.51.100.1", check=False).stdout)
        self.r.ip("route add 198.51.100.0/24 via 10.0.2.2")
        self.assertIn("1 received", self.ping("-c", "1", "-W", "2", "198.51.100.1").stdout)
        self.r.ip("route del 198.51.100.0/24")
        self.assertNotIn("1 received", self.ping("-c", "1", "-W", "1", "198.51.100.1", check=False).stdout)

    def test_fragments_what_may_be_fragmented_and_refuses_what_may_not(self):
        far = self.r.host("p1")
        self.r.ip("link set p1 mtu 1400")
        far.run("ip", "link", "set", "eth0", "mtu", "1400")  # or its answers would not fit our end of the wire
        try:
            out = self.ping("-c", "2", "-W", "2", "-s", "1450", "-M", "dont", "10.0.2.2").stdout
            self.assertIn("2 received", out)
            out = self.ping("-c", "1", "-W", "2", "-s", "1450", "-M", "do", "10.0.2.2", check=False).stdout
            self.assertRegex(out, r"From 10\.0\.1\.1 .*[Ff]rag(mentation)? needed.*mtu = 1400")
            out = self.ping("-c", "1", "-W", "2", "-s", "1450", "-M", "do", "2001:db8:2::2", check=False).stdout
            self.assertRegex(out, r"From 2001:db8:1::1.*Packet too big: mtu=1400")
        finally:
            self.r.ip("link set p1 mtu 1500")
            far.run("ip", "link", "set", "eth0", "mtu", "1500")
            for h in self.r.hosts.values():
                h.run("ip", "route", "flush", "cache")
                h.run("ip", "-6", "route", "flush", "cache")

    def test_a_moved_neighbour_is_used_at_once(self):
        h = self.r.host("p1")
        self.assertIn("1 received", self.ping("-c", "1", "-W", "2", "10.0.2.2").stdout)
        time.sleep(1.2)  # Linux's locktime: an entry that changed within a second keeps its address
        try:
            h.run("ip", "link", "set", "eth0", "address", "02:00:00:00:01:99")
            h.run("ip", "route", "replace", "default", "via", "10.0.2.1")
            h.run("ping", "-c", "1", "-W", "2", "10.0.2.1", check=False)  # its ARP request tells the new address
            self.assertIn("3 received", self.ping("-c", "3", "-W", "2", "10.0.2.2").stdout)
        finally:
            time.sleep(1.2)
            h.run("ip", "link", "set", "eth0", "address", h.mac)
            h.run("ip", "route", "replace", "default", "via", "10.0.2.1")
            h.run("ip", "-6", "route", "replace", "default", "via", "2001:db8:2::1")
            h.run("ping", "-c", "1", "-W", "2", "10.0.2.1", check=False)


if __name__ == "__main__":
    unittest.main()
