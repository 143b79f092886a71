import type { Policy } from "./Policy.ts"

/** Web ports; no other port below 1024 is allowed. */
const webPorts = new Set([80, 443])

/**
 * Ports from 1024 on of other services, where a request could do harm or reveal what runs there: those that browsers
 * refuse (WHATWG Fetch, "bad ports"), and databases, caches, queues, proxies and remote control.
 */
const blockedPorts = new Set([
  // WHATWG: H.323, PPTP, NFS, Apple, SIP, X11, IRC, Sieve, …
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
  // Mail, proxies, AJP
  1080, 2525, 3128, 8009,
  // SQL Server, Oracle, MySQL, PostgreSQL, CockroachDB, Redis, Cassandra, memcached, CouchDB, Elasticsearch, MongoDB
  1433, 1434, 1521, 3306, 5432, 26_257, 6379, 9042, 11_211, 5984, 9200, 9300, 27_017, 27_018, 27_019,
  // MQTT, AMQP, Kafka, ZooKeeper, etcd, Erlang
  1883, 8883, 5671, 5672, 9092, 2181, 2379, 2380, 4369,
  // Docker, kubelet, RDP, VNC, WinRM
  2375, 2376, 10_250, 3389, 5900, 5985, 5986
])

/** Whether a URL may have this port; `""` is the scheme's default. In development every port is allowed. */
export const portAllowed = (policy: Policy, port: string | number): boolean => {
  if (port === "" || policy === "private") return true
  const number = Number(port)
  return number < 1024 ? webPorts.has(number) : !blockedPorts.has(number)
}
