/** The real resolver: it asks name servers, those of the machine or those that the settings name. */
import { getServers } from "node:dns"
import { isIPv6 } from "node:net"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable, isProviderError } from "../provider-errors.ts"
import { copyZone, dnsAnswerFromPacket } from "./copy-zone.ts"
import { queryNameServer, transferZone } from "./dns-client.ts"
import type { QueryType, Delegation, DnsAnswer, ResolvedRecord, Resolver } from "./port.ts"

const DNS_PORT = 53
/** So many servers are asked before it is given up. */
const MAX_SERVERS = 3

/** Whom it asks. */
export interface ResolverOptions {
  /**
   * `address` or `address:port`, with commas between them; `system` for the machine's own. One with a
   * port stands for the whole world: parents and former hosts are asked through it too.
   */
  readonly servers: string
  readonly pacer: Pacer
}

/** Opens it. It asks nobody before the first question. */
export function openResolver(options: ResolverOptions): Resolver {
  return new NetworkResolver(options)
}

class NetworkResolver implements Resolver {
  readonly #pacer: Pacer
  readonly #own: readonly string[]
  readonly #isWorld: boolean

  constructor({ servers, pacer }: ResolverOptions) {
    const places = (servers === "system" ? getServers() : servers.split(",")).map(parseServer)
    this.#pacer = pacer
    this.#own = places.map(({ place }) => place)
    this.#isWorld = servers !== "system" && places.some(({ hasPort }) => hasPort)
  }

  readonly query: Resolver["query"] = async (name, type, { server, isRecursive = true } = {}) =>
    server === undefined
      ? this.#askAny(this.#own, name, type, isRecursive)
      : this.#askOne(server, name, type, isRecursive)

  readonly findDelegation = async (domain: string): Promise<Delegation | null> => {
    const above = await this.#parents(domain)
    const answer = await this.#askAny(above, domain, "NS", false)
    const { answers, authorities, isAuthoritative } = answer
    const referred = nameServersIn(authorities, domain)
    // Servers that have both zones answer for the lower one at once.
    const isBoth = !this.#isWorld && isAuthoritative && referred.length === 0
    const nameServers = isBoth ? nameServersIn(answers, domain) : referred
    if (nameServers.length === 0) return null
    const signed = await this.#askAny(above, domain, "DS", false)
    return { nameServers, dnssecOn: signed.answers.some(({ type }) => type === "DS") }
  }

  readonly copyZone: Resolver["copyZone"] = async (domain) => {
    const found = await this.findDelegation(domain)
    const hosts = this.#isWorld ? this.#own : await this.#placesOf(found?.nameServers ?? [])
    const transferred = await transferFromAny(this.#pacer, hosts, domain)
    const query = (name: string, type: QueryType) => this.#askAny(this.#own, name, type, true)
    return copyZone({ domain, transferred, pacer: this.#pacer, query })
  }

  async #askOne(
    server: string,
    name: string,
    type: QueryType,
    isRecursive: boolean,
  ): Promise<DnsAnswer> {
    return dnsAnswerFromPacket(
      await queryNameServer(this.#pacer, { server, name, type, isRecursive }),
    )
  }

  async #askAny(
    asked: readonly string[],
    name: string,
    type: QueryType,
    recurse: boolean,
  ): Promise<DnsAnswer> {
    let fault: unknown = new ProviderUnavailable(`no name server is known for ${name}`)
    for (const server of asked.slice(0, MAX_SERVERS)) {
      try {
        const answer = await this.#askOne(server, name, type, recurse)
        if (answer.code === "NOERROR" || answer.code === "NXDOMAIN") return answer
        fault = new ProviderUnavailable(`${server} answered ${answer.code} for ${name}`)
      } catch (error) {
        if (!isProviderError(error)) throw error
        fault = error
      }
    }
    throw fault
  }

  /** The addresses of name servers, with the port that all of them have. */
  async #placesOf(nameServers: readonly string[]): Promise<readonly string[]> {
    const asked = nameServers.slice(0, MAX_SERVERS).map(async (host) => {
      const { answers } = await this.#askAny(this.#own, host, "A", true)
      return answers
        .filter(({ type }) => type === "A")
        .map(({ content }) => `${content}:${DNS_PORT}`)
    })
    const settled = await Promise.allSettled(asked)
    return settled.flatMap((one) => (one.status === "fulfilled" ? one.value.slice(0, 1) : []))
  }

  /** The servers of the zone above. */
  async #parents(domain: string): Promise<readonly string[]> {
    if (this.#isWorld) return this.#own
    for (let above = parentOf(domain); ; above = parentOf(above)) {
      const { answers } = await this.#askAny(this.#own, above, "NS", true)
      const named = answers.filter(({ type, name }) => type === "NS" && name === above)
      if (named.length > 0) return this.#placesOf(named.map(({ content }) => content))
      if (above === ".") throw new ProviderUnavailable("nobody names the servers of the root")
    }
  }
}

/** A server of the settings, with its port. */
function parseServer(server: string): { readonly place: string; readonly hasPort: boolean } {
  const text = server.trim()
  if (isIPv6(text)) return { place: `[${text}]:${DNS_PORT}`, hasPort: false }
  const hasPort = /:\d+$/.test(text)
  return { place: hasPort ? text : `${text}:${DNS_PORT}`, hasPort }
}

const parentOf = (name: string): string => {
  const rest = name.slice(name.indexOf(".") + 1)
  return name.includes(".") && rest !== "" ? rest : "."
}

function nameServersIn(records: readonly ResolvedRecord[], domain: string): readonly string[] {
  return records
    .filter(({ type, name }) => type === "NS" && name === domain)
    .map(({ content }) => content)
    .toSorted()
}

/** The whole zone, from the first of these who gives it; null where none does. */
async function transferFromAny(pacer: Pacer, servers: readonly string[], domain: string) {
  for (const server of servers.slice(0, 2)) {
    try {
      const records = await transferZone(pacer, server, domain)
      if (records !== null) return records
    } catch (error) {
      // Most servers give it to nobody, and some say so by silence.
      if (!(error instanceof ProviderOutcomeUnknown) && !(error instanceof ProviderUnavailable))
        throw error
    }
  }
  return null
}
