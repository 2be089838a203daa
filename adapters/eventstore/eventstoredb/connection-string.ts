import { EventStoreDBClient } from "@eventstore/db-client"

/** The options that the client knows. It reads them without regard to case, hyphens and underscores. */
const OPTIONS = new Set([
  "connectionname",
  "defaultdeadline",
  "discoveryinterval",
  "gossiptimeout",
  "keepaliveinterval",
  "keepalivetimeout",
  "maxdiscoverattempts",
  "nodepreference",
  "throwonappendfailure",
  "tls",
  "tlscafile",
  "tlsverifycert",
  "usercertfile",
  "userkeyfile",
])

/** How long the server may leave a keep-alive unanswered, in milliseconds, where the string is silent. */
const KEEP_ALIVE_TIMEOUT_MS = 10_000

/**
 * How long a node may take to tell of its cluster, in whole seconds, where the string is silent. The
 * client's own five would be all that a caller has for a connection, and one frozen node eats them.
 */
const GOSSIP_TIMEOUT_S = 1

/** How many clients there were in this process. */
let clients = 0

/**
 * Makes a client from a connection string: `esdb://` with one host, or with all nodes of a cluster, or
 * `esdb+discover://` with the one DNS name of a cluster; credentials and the authority of its
 * certificate stand in it. It does not connect yet.
 *
 * @param avoid a node, `host:port`, that is not asked where others are named: it has just failed
 * What is wrong is said without the string itself, for there may be a password in it: the client
 * would print the whole of it beside an option that it does not know.
 *
 * @throws RangeError when it cannot be read, or asks for what the client does not do
 */
export function clientFor(url: string, avoid: string | null = null): EventStoreDBClient {
  let keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS
  let saysGossipTimeout = false
  const hosts = hostsOf(url)
  if (hosts.length > 1 && /^\s*esdb\+discover:/.test(url)) {
    throw new RangeError(
      "the connection string of the event store names several hosts behind esdb+discover://, of which " +
        `only the first would ever be asked: write esdb://${hosts.join(",")} for a list of nodes, or ` +
        "esdb+discover:// with the one DNS name that stands for all of them",
    )
  }
  for (const [key, value] of optionsOf(url)) {
    const option = key.toLowerCase().replace(/[_-]/g, "")
    if (!OPTIONS.has(option)) {
      throw new RangeError(`the connection string of the event store has an unknown option: ${key}`)
    }
    if (option === "tlsverifycert" && value !== "true") {
      throw new RangeError(
        "a certificate is always verified: name its authority with tlsCAFile, " +
          "or leave encryption out with tls=false",
      )
    }
    if (option === "keepalivetimeout") keepAliveTimeoutMs = Number(value)
    if (option === "gossiptimeout") saysGossipTimeout = true
  }
  try {
    const without = avoid === null ? url : withoutHost(url, hosts, avoid)
    const patient = saysGossipTimeout
      ? without
      : withOption(without, "gossipTimeout", GOSSIP_TIMEOUT_S)
    return EventStoreDBClient.connectionString(apart(patient, keepAliveTimeoutMs))
  } catch (error) {
    throw new RangeError(
      `the connection string of the event store is wrong: ${describe(error, url)}`,
    )
  }
}

/**
 * The connection string with a setting that no other client of this process has, a millisecond more
 * or less: clients whose settings are equal share their connection, and another client would be no
 * help where that one is dead.
 */
function apart(url: string, keepAliveTimeoutMs: number): string {
  // Whoever wants no keep-alive, or wrote what is no number, keeps what he wrote.
  if (!(keepAliveTimeoutMs > 0)) return url
  const timeoutMs = keepAliveTimeoutMs + (clients % 1_000)
  clients += 1
  return withOption(url, "keepAliveTimeout", timeoutMs)
}

function withOption(url: string, key: string, value: number): string {
  const string = url.trim().replace(/\/+$/, "")
  return `${string}${optionsOf(string).length === 0 ? "?" : "&"}${key}=${value}`
}

/**
 * The connection string without one of its nodes; the same where it is not named, or alone. The client
 * searches for the leader where there are two, so the one that is left is named twice.
 */
function withoutHost(url: string, hosts: readonly string[], avoid: string): string {
  const left = hosts.filter((host) => host !== avoid)
  if (left.length === 0 || left.length === hosts.length) return url
  const named = left.length === 1 ? [...left, ...left] : left
  return url.replace(hosts.join(","), named.join(","))
}

function behindCredentials(url: string): string {
  // The last @ before the options ends what may hold a password.
  return url.trim().replace(/^[^:]+:\/\/(?:[^/?]*@)?/, "")
}

function hostsOf(url: string): readonly string[] {
  const [hosts = ""] = behindCredentials(url).split(/[?&/]/)
  return hosts.split(",")
}

function optionsOf(url: string): readonly (readonly [key: string, value: string])[] {
  const [, ...options] = behindCredentials(url).split(/[?&]/)
  return options.map((option) => {
    const [key = "", ...value] = option.replace(/\/+$/, "").split("=")
    return [key.trim(), value.join("=").trim()] as const
  })
}

/** What the client has against a connection string, without quoting it, as a part of a sentence. */
function describe(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error)
  if (message.startsWith("Failed to load certificate file")) {
    const files = optionsOf(url).filter(([key]) =>
      /^(tls-?_?ca|user-?_?(cert|key))-?_?file$/i.test(key),
    )
    const named = files.map(([key, value]) => `${key}=${value}`).join(", ")
    return `a certificate cannot be read (${named})`
  }
  const complaint = /at position \d+, expected .*$/s.exec(message)?.[0] ?? message
  return complaint.replace(/\.$/, "")
}
