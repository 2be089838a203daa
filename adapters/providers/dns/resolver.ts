/** The resolver that asks name servers: those of the machine or those of the settings. */
import { getServers } from "node:dns"
import { isIPv6 } from "node:net"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable, isProviderError } from "../provider-errors.ts"
import { copyZone, dnsAnswerFromPacket } from "./copy-zone.ts"
import { queryNameServer, transferZone } from "./dns-client.ts"
import type { QueryType, Delegation, DnsAnswer, ResolvedRecord, Resolver } from "./port.ts"

const DNS_PORT = 53
/** Maximum number of servers asked for one question. */
const MAX_SERVERS = 3

export interface ResolverOptions {
  /**
   * Comma-separated `address` or `address:port`; `system` for the machine's own. If one has a port,
   * all questions go to these servers, including those for parents and former hosts.
   */
  readonly servers: string
  readonly pacer: Pacer
}

/** Opens the resolver; it connects for the first question. */
export function openResolver(options: ResolverOptions): Resolver {
  return new NetworkResolver(options)
}

class NetworkResolver implements Resolver {
  readonly #pacer: Pacer
  readonly #servers: readonly string[]
  readonly #usesOnlyOwnServers: boolean

  constructor({ servers, pacer }: ResolverOptions) {
    const parsed = (servers === "system" ? getServers() : servers.split(",")).map(parseServer)
    this.#pacer = pacer
    this.#servers = parsed.map(({ address }) => address)
    this.#usesOnlyOwnServers = servers !== "system" && parsed.some(({ hasPort }) => hasPort)
  }

  readonly query: Resolver["query"] = async (name, type, { server, isRecursive = true } = {}) =>
    server === undefined
      ? this.#queryAny(this.#servers, name, type, isRecursive)
      : this.#queryOne(server, name, type, isRecursive)

  readonly findDelegation = async (domain: string): Promise<Delegation | null> => {
    const parent = await this.#parentServers(domain)
    const answer = await this.#queryAny(parent, domain, "NS", false)
    const { answers, authorities, isAuthoritative } = answer
    const referred = nameServersIn(authorities, domain)
    // Servers that host both zones answer for the child zone directly.
    const hostsBothZones = !this.#usesOnlyOwnServers && isAuthoritative && referred.length === 0
    const nameServers = hostsBothZones ? nameServersIn(answers, domain) : referred
    if (nameServers.length === 0) return null
    const signed = await this.#queryAny(parent, domain, "DS", false)
    return { nameServers, dnssecOn: signed.answers.some(({ type }) => type === "DS") }
  }

  readonly copyZone: Resolver["copyZone"] = async (domain) => {
    const found = await this.findDelegation(domain)
    const hosts = this.#usesOnlyOwnServers
      ? this.#servers
      : await this.#addressesOf(found?.nameServers ?? [])
    const transferred = await transferFromAny(this.#pacer, hosts, domain)
    const query = (name: string, type: QueryType) => this.#queryAny(this.#servers, name, type, true)
    return copyZone({ domain, transferred, pacer: this.#pacer, query })
  }

  async #queryOne(
    server: string,
    name: string,
    type: QueryType,
    isRecursive: boolean,
  ): Promise<DnsAnswer> {
    return dnsAnswerFromPacket(
      await queryNameServer(this.#pacer, { server, name, type, isRecursive }),
    )
  }

  async #queryAny(
    servers: readonly string[],
    name: string,
    type: QueryType,
    isRecursive: boolean,
  ): Promise<DnsAnswer> {
    let fault: unknown = new ProviderUnavailable(`no name server is known for ${name}`)
    for (const server of servers.slice(0, MAX_SERVERS)) {
      try {
        const answer = await this.#queryOne(server, name, type, isRecursive)
        if (answer.code === "NOERROR" || answer.code === "NXDOMAIN") return answer
        fault = new ProviderUnavailable(`${server} answered ${answer.code} for ${name}`)
      } catch (error) {
        if (!isProviderError(error)) throw error
        fault = error
      }
    }
    throw fault
  }

  /** The addresses of name servers, with the DNS port. */
  async #addressesOf(nameServers: readonly string[]): Promise<readonly string[]> {
    const asked = nameServers.slice(0, MAX_SERVERS).map(async (host) => {
      const { answers } = await this.#queryAny(this.#servers, host, "A", true)
      return answers
        .filter(({ type }) => type === "A")
        .map(({ content }) => `${content}:${DNS_PORT}`)
    })
    const settled = await Promise.allSettled(asked)
    return settled.flatMap((one) => (one.status === "fulfilled" ? one.value.slice(0, 1) : []))
  }

  /** The name servers of the parent zone. */
  async #parentServers(domain: string): Promise<readonly string[]> {
    if (this.#usesOnlyOwnServers) return this.#servers
    for (let parent = parentOf(domain); ; parent = parentOf(parent)) {
      const { answers } = await this.#queryAny(this.#servers, parent, "NS", true)
      const named = answers.filter(({ type, name }) => type === "NS" && name === parent)
      if (named.length > 0) return this.#addressesOf(named.map(({ content }) => content))
      if (parent === ".") throw new ProviderUnavailable("no name server lists the root servers")
    }
  }
}

function parseServer(server: string): { readonly address: string; readonly hasPort: boolean } {
  const text = server.trim()
  if (isIPv6(text)) return { address: `[${text}]:${DNS_PORT}`, hasPort: false }
  const hasPort = /:\d+$/.test(text)
  return { address: hasPort ? text : `${text}:${DNS_PORT}`, hasPort }
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

/** Transfers the whole zone from the first server that allows it; null if none does. */
async function transferFromAny(pacer: Pacer, servers: readonly string[], domain: string) {
  for (const server of servers.slice(0, 2)) {
    try {
      const records = await transferZone(pacer, server, domain)
      if (records !== null) return records
    } catch (error) {
      // Most servers refuse transfers, some by not answering.
      if (!(error instanceof ProviderOutcomeUnknown) && !(error instanceof ProviderUnavailable))
        throw error
    }
  }
  return null
}
