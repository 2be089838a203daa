/** Our name server beside the API in one process: asked by many networks, and by one alone. */
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import type { ZoneRow } from "../../domain/domains/domain-events.ts"
import { parseDomainId, parseRecordId } from "../../domain/domains/ids.ts"
import { RECORD_TTL } from "../../domain/domains/records.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parsed } from "../../domain/kernel/ids.ts"
import { sendingDomainList } from "../../src/domains/list-sending-domains.ts"
import { nameServerDaemon } from "../../src/domains/providers/name-server.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { openBeside } from "../ground/beside.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { House } from "../ground/house.ts"
import { onHouse } from "../ground/on-house.ts"
import type { Callers } from "../http/callers.ts"
import { onlyStatuses } from "../http/callers.ts"
import { openTextingCompany } from "../texts/companies.ts"
import type { NamesAnswered, Questions } from "./questions.ts"

const DOMAINS = 50
const NETWORKS = 100
const PER_SECOND = 10_000
/** What one network may be answered in full in a second. */
const ONE_NETWORK = 200
const FOR_MS = 3_000
const CONNECTIONS = 8

/** Names. */
export const names: Benchmark = {
  name: "names",
  title: `${PER_SECOND} questions a second from ${NETWORKS} networks, beside the API in one process`,
  stores: ["postgres"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "asked", title: "questions asked, with the API idle", unit: "per second" },
    { name: "whole", title: "answered in full", unit: "per second" },
    { name: "p99", title: "in which 99 of 100 came", unit: "µs" },
    { name: "api", title: "calls of the API alone", unit: "per second" },
    { name: "beside", title: "calls of the API, with the questions", unit: "per second" },
    { name: "askedBeside", title: "questions asked meanwhile", unit: "per second" },
    { name: "wholeBeside", title: "answered in full meanwhile", unit: "per second" },
    {
      name: "one",
      title: "answered in full of 2,000 a second from one network",
      unit: "per second",
    },
  ],
  ratios: [
    more("names idle", "answered ÷ asked", "whole", "asked", 0.999, 0.99),
    more("names busy", "the same, with the API going on", "wholeBeside", "askedBeside", 0.99, 0.95),
    more("names api", "the API with the questions ÷ alone", "beside", "api", 0.5, 0.3),
  ],
  open: (setting) => onHouse(openOn)(setting),
}

function more(
  id: string,
  title: string,
  of: string,
  per: string,
  target: number,
  floor: number,
): Benchmark["ratios"][number] {
  return { id, title, of, per, better: "more", target, floor }
}

async function openOn(
  house: House,
  callers: Callers,
  { signal, report }: Setting,
): Promise<Omit<Opened, "close">> {
  const { ports, operate } = house
  await operate("price set", { item: "api_call", dollars: "0" })
  const { companyId, keys } = await openTextingCompany(house, "names", 2)
  report(`names: connecting ${DOMAINS} domains`)
  const asked = Array.from({ length: DOMAINS }, (_, n) => `www.acme-${n}.com`)
  for (const name of asked) await connect(ports, companyId, name)
  await house.settle()
  const port = await house.serve(ports, [sendingDomainList])
  const daemon = await nameServerDaemon.start(ports)
  const dnsPort = Number(daemon.listens?.address.split(":").at(-1))
  const asker = openBeside<Questions, NamesAnswered>(
    new URL("asker-process.ts", import.meta.url),
    signal,
  )
  const question = (networks: number, perSecond: number) =>
    asker.ask({ port: dnsPort, names: asked, networks, perSecond, forMs: FOR_MS })
  const call = async () => {
    const asking = {
      port,
      method: "GET",
      path: sendingDomainList.url,
      keys: keys.slice(1),
    } as const
    const answers = await callers.ask({ ...asking, connections: CONNECTIONS, forMs: FOR_MS })
    onlyStatuses(answers, [200])
    return answers.perSecond
  }
  const each = (count: number) => (count * 1_000) / FOR_MS
  let idle: NamesAnswered | null = null
  let busy: NamesAnswered | null = null
  const seen = (one: NamesAnswered | null): NamesAnswered => {
    honest(one !== null, "nothing was asked before")
    honest(one.truncated + one.others === 0, "a question within the limit was not answered in full")
    return one
  }
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      asked: async () => each((idle = await question(NETWORKS, PER_SECOND)).asked),
      whole: async () => each(seen(idle).whole),
      p99: async () => seen(idle).p99,
      api: call,
      beside: async () => {
        const [perSecond, answered] = await Promise.all([call(), question(NETWORKS, PER_SECOND)])
        busy = answered
        return perSecond
      },
      askedBeside: async () => each(seen(busy).asked),
      wholeBeside: async () => each(seen(busy).whole),
      one: async () => {
        const answered = await question(1, 10 * ONE_NETWORK)
        // Windows of the limit and of the asker do not begin together.
        const most = ONE_NETWORK * (FOR_MS / 1_000 + 1)
        honest(answered.whole <= most, `one network was answered ${answered.whole} times`)
        honest(answered.others === 0, "it was answered otherwise than to come by TCP")
        return each(answered.whole)
      },
    },
    check: async () => {
      await asker.close()
      await daemon.stop()
      await house.settle()
      house.check()
    },
  }
}

/** Connects the domain of a name, with one address at that name. */
async function connect({ runner }: Ports, companyId: CompanyId, host: string): Promise<void> {
  const domainId = parsed(parseDomainId, newId("dom"))
  const name = host.slice(host.indexOf(".") + 1)
  const cause = causedBy("bench")
  await runner.execute(CLAIMS, { type: "ClaimDomain", domainId, companyId, name }, cause)
  const record: ZoneRow = {
    ...{ id: parsed(parseRecordId, newId("rec")), type: "A", name: host, content: "192.0.2.1" },
    ...{ priority: null, ttl: RECORD_TTL, source: "copied" },
  }
  const known = { replaces: [], registrar: null, dnssecOn: false, asked: null, leftOut: [] }
  const command = {
    type: "ConnectDomain",
    ...{ domainId, name, nameServers: ["ns1.ledger.test"], ...known, records: [record] },
  } as const
  await runner.execute(domainOf(companyId, domainId), command, cause)
}
