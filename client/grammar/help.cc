#include "client/grammar/help.h"

namespace sluice::client {

const absl::string_view kHelpIp =
    R"(Usage: sluicectl [ OPTIONS ] ip [ OPTIONS ] OBJECT { COMMAND | help }
       sluicectl [ OPTIONS ] ip [ -force ] -batch FILE
where  OBJECT := { address | link | neighbour | route }
       OPTIONS := { -4 | -6 | -family { inet | inet6 } | -json | -pretty | -statistics | -details | -oneline }
)";

const absl::string_view kHelpLink =
    R"(Usage: ip link add [ name ] NAME [ up | down ] [ mtu MTU ] [ address MAC ]
                   [ numrxqueues N ] [ numtxqueues N ] type TYPE TYPE_OPTIONS
       ip link replace (as add)
       ip link set [ dev ] NAME [ up | down ] [ mtu MTU ] [ address MAC ] [ name NEWNAME ]
                   [ numrxqueues N ] [ numtxqueues N ]
       ip link delete [ dev ] NAME
       ip link show [ [ dev ] NAME ] [ up ] [ type TYPE ]
TYPE := { port }
port TYPE_OPTIONS := devargs DEVARGS [ rx_queues N ] [ tx_queues N ]
)";

const absl::string_view kHelpAddress =
    R"(Usage: ip address { add | change | replace } ADDRESS[/LENGTH] dev NAME
                   [ scope SCOPE ] [ metric METRIC ] [ noprefixroute ]
       ip address delete ADDRESS[/LENGTH] dev NAME
       ip address { show | flush } [ [ dev ] NAME ] [ scope SCOPE ] [ to PREFIX ] [ up ]
SCOPE := { global | site | link | host }
)";

const absl::string_view kHelpNeighbor =
    R"(Usage: ip neigh { add | change | replace } ADDRESS lladdr MAC dev NAME [ nud { permanent | noarp } ]
       ip neigh delete ADDRESS dev NAME
       ip neigh { show | flush } [ [ to ] PREFIX ] [ dev NAME ] [ nud STATE ]
       ip neigh get ADDRESS dev NAME
STATE := { permanent | noarp | stale | reachable | incomplete | delay | probe | failed | all }
)";

const absl::string_view kHelpRoute =
    R"(Usage: ip route { show | flush } SELECTOR
       ip route get ADDRESS [ from ADDRESS iif NAME ] [ tos TOS ] [ mark NUMBER ]
                   [ ipproto PROTOCOL ] [ sport NUMBER ] [ dport NUMBER ]
       ip route { add | delete | change | append | prepend | replace } ROUTE
SELECTOR := [ [ root | match | exact ] PREFIX ] [ table TABLE | table all ] [ proto PROTO ] [ type TYPE ]
            [ scope SCOPE ] [ dev NAME ] [ via ADDRESS ] [ src ADDRESS ] [ metric METRIC ] [ tos TOS ]
ROUTE := [ TYPE ] PREFIX [ tos TOS ] [ table TABLE ] [ proto PROTO ] [ scope SCOPE ] [ metric METRIC ]
         [ NH ] [ nexthop NH ]... [ src ADDRESS ] [ mtu [ lock ] BYTES ] [ counted ]
NH := [ via [ inet | inet6 ] ADDRESS ] [ dev NAME ] [ weight NUMBER ] [ onlink ]
TYPE := { unicast | local | broadcast | blackhole | unreachable | prohibit | throw }
TABLE := { local | main | default | NUMBER }
SCOPE := { host | link | site | global }
PROTO := { kernel | boot | static | bgp | ospf | ... | NUMBER }
`counted` makes Sluice count the packets and bytes of the route: see `ip -s route`.
)";

const absl::string_view kHelpExplain =
    R"(Usage: sluicectl explain [ --port NAME ] --dst ADDRESS [ --src ADDRESS ] [ --proto PROTOCOL ]
                   [ --sport N ] [ --dport N ] [ --ttl N ] [ --tos TOS ] [ --length BYTES ] [ --mark N ] [ --df ]
                   [ --src-mac MAC ] [ --dst-mac MAC ]
       sluicectl explain --port NAME --frame HEX
Without --port the packet is Sluice's own. Nothing is sent, learned or counted.
)";

const absl::string_view kHelpAll =
    R"(sluicectl: programs and inspects a Sluice router.

Usage: sluicectl [ OPTIONS ] COMMAND

Commands
  ip OBJECT ...      links, addresses, neighbours and routes, as iproute2 does: `sluicectl ip help`
  -batch FILE        all lines of FILE (or - for standard input) as one atomic change; `ip` before lines is optional
  status             instance, generation, epoch, workers and ports
  explain ...        what would happen to a packet: `sluicectl explain --help`
  capabilities       what this server can do, and its limits
  help               this text

Options (before or after the word `ip`)
  --server ADDRESS         unix:PATH or HOST:PORT (also from SLUICE_SERVER; unix:/run/sluice/sluice.sock)
  -j, -json                print JSON
  -p, -pretty              print JSON with line breaks
  -s, -stats, -statistics  print statistics
  -d, -details             print more
  -o, -oneline             print each object on one line
  -4, -6, -f, -family F    only this family (inet, inet6)
  -b, -batch FILE          see above: either all changes, or all reads
  -force                   with -batch: each change for itself, go on after errors, mix changes and reads
  -V, -Version             print the version
  -h, -help                this text

Options for changes
  --validate-only          check everything, change nothing
  --expected-generation N  change nothing unless the generation is N
  --request-id TEXT        a repeated request gets the first answer
  --ack accepted|visible   what to wait for (visible: every worker sees it)
  --timeout SECONDS        how long to wait for visible, and for answers
  --durable                wait until the change is on stable storage
  --comment TEXT           why, for the history

Exit status: 0 done; 1 a wrong value, no server, or a failed batch; 2 refused by the server; 255 wrong usage.
)";

}  // namespace sluice::client
