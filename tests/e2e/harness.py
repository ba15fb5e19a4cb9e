"""A router under test: sluiced in a network namespace of its own, hosts in theirs, veth pairs between.

    with Router(ports=["p0", "p1"]) as r:
        r.configure_hosts()                       # 10.0.N.1/24 and 2001:db8:N::1/64 on port pN-1, hosts at .2
        r.host("p0").run("ping", "-c1", "10.0.2.2")
        r.check_conservation()

Every name carries the process id, so that runs do not meet; everything made is removed at the end.
"""
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BIN = os.environ.get("SLUICE_BIN", os.path.join(os.path.dirname(__file__), "../../build/bin"))
_libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def inside(namespace):
    """Runs the block with this thread in `namespace`; sockets made there stay there."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if _libc.setns(other, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        yield
    finally:
        _libc.setns(own, CLONE_NEWNET)
        os.close(own)
        os.close(other)


def sh(*words, check=True, timeout=60, **more):
    return subprocess.run(words, check=check, timeout=timeout, text=True, capture_output=True, **more)


class Host:
    """A host behind one port: a namespace with one interface, eth0."""

    def __init__(self, namespace, mac):
        self.namespace = namespace
        self.mac = mac

    def run(self, *words, check=True, timeout=60):
        return sh("ip", "netns", "exec", self.namespace, *words, check=check, timeout=timeout)

    def popen(self, *words, **more):
        return subprocess.Popen(["ip", "netns", "exec", self.namespace, *words], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def raw(self):
        """A packet socket on eth0, for frames made by hand."""
        with inside(self.namespace):
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
            s.bind(("eth0", 0))
        s.settimeout(0.1)
        return s

    def capture(self, seconds, stop=None):
        """Frames that arrive on eth0 within `seconds`, or until stop(frame) is true."""
        frames = []
        with self.raw() as s:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    frame, address = s.recvfrom(65536)
                except (TimeoutError, socket.timeout):
                    continue
                if address[2] == socket.PACKET_OUTGOING:
                    continue
                frames.append(frame)
                if stop and stop(frame):
                    break
        return frames


class Router:
    def __init__(self, ports=("p0", "p1"), workers="1", mtu=1500, args=()):
        self.names = list(ports)
        self.id = f"sl{os.getpid()}"
        self.namespace = f"{self.id}r"
        self.dir = tempfile.mkdtemp(prefix="sluice-e2e-")
        self.server = f"unix:{self.dir}/sluice.sock"
        self.workers = workers
        self.mtu = mtu
        self.args = list(args)
        self.hosts = {}
        self.daemon = None

    # -- life
    def __enter__(self):
        try:
            sh("ip", "netns", "add", self.namespace)
            sh("ip", "-n", self.namespace, "link", "set", "lo", "up")
            for i, name in enumerate(self.names, start=1):
                self._wire(i, name)
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _wire(self, i, name):
        ns = f"{self.id}{name}"
        mac = f"02:00:00:00:01:{i:02x}"
        sh("ip", "netns", "add", ns)
        sh("ip", "-n", ns, "link", "set", "lo", "up")
        sh("ip", "-n", self.namespace, "link", "add", f"v{name}", "address", f"02:00:00:00:00:{i:02x}", "mtu",
           str(self.mtu), "type", "veth", "peer", "name", "eth0", "address", mac, "mtu", str(self.mtu), "netns", ns)
        sh("ip", "netns", "exec", self.namespace, "sysctl", "-qw", f"net.ipv6.conf.v{name}.disable_ipv6=1")
        sh("ip", "netns", "exec", ns, "ethtool", "-K", "eth0", "tx", "off")
        sh("ip", "-n", self.namespace, "link", "set", f"v{name}", "up")
        sh("ip", "-n", ns, "link", "set", "eth0", "up")
        self.hosts[name] = Host(ns, mac)

    def start(self):
        ports = [w for n in self.names for w in ("--port", f"{n}=iface:v{n}")]
        log = open(f"{self.dir}/sluiced.log", "a")
        self.daemon = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, f"{BIN}/sluiced", "--listen", self.server, "--metrics",
             "127.0.0.1:9342", "--health", "127.0.0.1:9341", "--state-dir", f"{self.dir}/state", "--workers",
             self.workers, *ports, *self.args], stdout=log, stderr=log)
        log.close()
        end = time.monotonic() + 60
        while self.ctl("status", check=False).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > end:
                raise RuntimeError("sluiced did not start:\n" + open(f"{self.dir}/sluiced.log").read())
            time.sleep(0.1)

    def stop(self, how=signal.SIGTERM):
        """Ends sluiced and returns its exit status."""
        self.daemon.send_signal(how)
        try:
            return self.daemon.wait(timeout=30)
        finally:
            if self.daemon.poll() is None:
                self.daemon.kill()
                self.daemon.wait()
            self.daemon = None

    def __exit__(self, kind, value, trace):
        status = None
        if self.daemon is not None:
            status = self.stop()
        for ns in [self.namespace, *(h.namespace for h in self.hosts.values())]:
            sh("ip", "netns", "del", ns, check=False)
        if kind is not None:
            with open(f"{self.dir}/sluiced.log") as log:
                print(log.read()[-8000:])
        shutil.rmtree(self.dir, ignore_errors=True)
        if kind is None and status not in (0, None):
            raise RuntimeError(f"sluiced ended with status {status}")

    # -- the command line
    def ctl(self, *words, check=True, input=None, timeout=120):
        r = sh(f"{BIN}/sluicectl", "--server", self.server, *words, check=False, input=input, timeout=timeout)
        if check and r.returncode != 0:
            raise RuntimeError(f"sluicectl {' '.join(words)}: {r.returncode}\n{r.stdout}{r.stderr}")
        return r

    def ip(self, line, check=True):
        return self.ctl("ip", *line.split(), check=check)

    def ip_json(self, line):
        out = self.ctl("ip", "-j", *line.split()).stdout
        return json.loads(out) if out.strip() else []

    def batch(self, lines, check=True):
        text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
        return self.ctl("ip", "-batch", "-", input=text, check=check)

    def status(self):
        return json.loads(self.ctl("-j", "status").stdout)

    def host(self, port):
        return self.hosts[port]

    # -- the usual set-up
    def configure_hosts(self):
        lines = []
        for i, name in enumerate(self.names, start=1):
            h = self.host(name)
            for words in (("addr", "add", f"10.0.{i}.2/24", "dev", "eth0"),
                          ("addr", "add", f"2001:db8:{i}::2/64", "dev", "eth0", "nodad"),
                          ("route", "add", "default", "via", f"10.0.{i}.1"),
                          ("-6", "route", "add", "default", "via", f"2001:db8:{i}::1")):
                sh("ip", "-n", h.namespace, *words)
            lines += [f"link set {name} up", f"address add 10.0.{i}.1/24 dev {name}",
                      f"address add 2001:db8:{i}::1/64 dev {name}"]
        self.batch(lines)

    # -- counters
    def metrics(self):
        """{(family, (label, value) ...): number} of one scrape."""
        text = sh("ip", "netns", "exec", self.namespace, "curl", "-sf", "http://127.0.0.1:9342/metrics").stdout
        out = {}
        for line in text.splitlines():
            m = re.match(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", line)
            if m:
                labels = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m.group(2) or "")))
                out[(m.group(1), *labels)] = float(m.group(3))
        return out

    def drops(self):
        """{reason: packets}, summed over CPUs, zeros left out."""
        out = {}
        for (family, *labels), n in self.metrics().items():
            if family == "sluice_drops_total" and n:
                reason = dict(labels)["reason"]
                out[reason] = out.get(reason, 0) + int(n)
        return out

    def check_conservation(self):
        """rx + generated + handed in = tx + drops + delivered + absorbed + handed out + held, on every CPU."""
        end = time.monotonic() + 5
        while True:
            wrong = self._conservation_faults()
            if not wrong:
                return
            if time.monotonic() > end:
                raise AssertionError(f"packets are not conserved: {wrong}")
            time.sleep(0.2)

    def _conservation_faults(self):
        lanes = {}
        for (family, *labels), n in self.metrics().items():
            cpu = dict(labels).get("cpu")
            if cpu is None:
                continue
            lane = lanes.setdefault(cpu, {})
            m = re.match(r"sluice_worker_(\w+)_packets(?:_total)?$", family)
            if m:
                lane[m.group(1)] = n
            elif family == "sluice_drops_total":
                lane["drops"] = lane.get("drops", 0) + n
        faults = {}
        for cpu, lane in lanes.items():
            came = sum(lane.get(k, 0) for k in ("receive", "generated", "handed_in"))
            went = sum(lane.get(k, 0) for k in ("transmit", "drops", "delivered", "absorbed", "handed_over", "held"))
            if came != went:
                faults[cpu] = lane
        return faults
