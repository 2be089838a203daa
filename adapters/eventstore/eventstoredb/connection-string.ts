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

/** How many clients there were in this process. */
let clients = 0

/**
 * Makes a client from a connection string: `esdb://` with one host or several, `esdb+discover://` for
 * a cluster; credentials and the authority of its certificate stand in it. It does not connect yet.
 *
 * What is wrong is said without the string itself, for there may be a password in it: the client
 * would print the whole of it beside an option that it does not know.
 *
 * @throws RangeError when it cannot be read, or asks for what the client does not do
 */
export function clientFor(url: string): EventStoreDBClient {
  let keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS
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
  }
  try {
    return EventStoreDBClient.connectionString(apart(url, keepAliveTimeoutMs))
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
  const string = url.trim().replace(/\/+$/, "")
  const timeoutMs = keepAliveTimeoutMs + (clients % 1_000)
  clients += 1
  const isFirst = optionsOf(string).length === 0
  return `${string}${isFirst ? "?" : "&"}keepAliveTimeout=${timeoutMs}`
}

function optionsOf(url: string): readonly (readonly [key: string, value: string])[] {
  const behindCredentials = url.trim().replace(/^[^:]+:\/\/(?:[^:]+:[^@]+@)?/, "")
  const [, ...options] = behindCredentials.split(/[?&]/)
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
