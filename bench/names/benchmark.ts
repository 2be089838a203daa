/** The name server and the API in one process: queries from many networks, and from a single one. */
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { StoredZoneRecord } from "../../domain/domains/domain-events.ts"
import { parseDomainId, parseRecordId } from "../../domain/domains/domain-events.ts"
import { RECORD_TTL_SECONDS } from "../../domain/domains/dns-records.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseStored } from "../../domain/kernel/ids.ts"
import { sendingDomainList } from "../../src/domains/sending-domains.ts"
import { nameServerDaemon } from "../../src/domains/providers/name-server.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openPeerProcess } from "../fixtures/peer-process.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { onInstallation } from "../fixtures/on-installation.ts"
import type { HttpCallers } from "../http/http-callers.ts"
import { assertStatuses } from "../http/http-callers.ts"
import { openTextingCompany } from "../texts/texting-company.ts"
import type { DnsLoadResult, DnsLoad } from "./dns-load.ts"

const DOMAINS = 50
const NETWORKS = 100
const PER_SECOND = 10_000
/** Limit of full answers per second for one network. */
const ONE_NETWORK = 200
const FOR_MS = 3_000
const CONNECTIONS = 8

export const namesBenchmark: Benchmark = {
  name: "names",
  title: `${PER_SECOND} questions a second from ${NETWORKS} networks, with the API in one process`,
  stores: ["postgres"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "asked", title: "questions asked, with the API idle", unit: "per second" },
    { name: "whole", title: "answered in full", unit: "per second" },
    { name: "p99", title: "in which 99 of 100 came", unit: "µs" },
    { name: "api", title: "calls of the API alone", unit: "per second" },
    { name: "busyApi", title: "calls of the API, with the questions", unit: "per second" },
    { name: "busyAsked", title: "questions asked meanwhile", unit: "per second" },
    { name: "busyWhole", title: "answered in full meanwhile", unit: "per second" },
    {
      name: "one",
      title: "answered in full of 2,000 a second from one network",
      unit: "per second",
    },
  ],
  ratios: [
    higherIsBetter("names idle", "answered ÷ asked", "whole", "asked", 0.999, 0.99),
    higherIsBetter(
      "names busy",
      "the same, with the API going on",
      "busyWhole",
      "busyAsked",
      0.99,
      0.95,
    ),
    higherIsBetter("names api", "the API with the questions ÷ alone", "busyApi", "api", 0.5, 0.3),
  ],
  open: (setting) => onInstallation(openOn)(setting),
}

function higherIsBetter(
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
  house: BenchInstallation,
  callers: HttpCallers,
  { signal, report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { ports, operate } = house
  await operate("price set", { item: "api_call", dollars: "0" })
  const { companyId, keys } = await openTextingCompany(house, "names", 2)
  report(`names: connecting ${DOMAINS} domains`)
  const asked = Array.from({ length: DOMAINS }, (_, n) => `www.acme-${n}.com`)
  for (const name of asked) await connect(ports, companyId, name)
  await house.waitUntilIdle()
  const port = await house.serve(ports, [sendingDomainList])
  const daemon = await nameServerDaemon.start(ports)
  const dnsPort = Number(daemon.listeningAddress?.address.split(":").at(-1))
  const asker = openPeerProcess<DnsLoad, DnsLoadResult>(
    new URL("dns-client-process.ts", import.meta.url),
    signal,
  )
  return {
    measure: measurements(house, {
      ask: (networks, perSecond) =>
        asker.ask({ port: dnsPort, names: asked, networks, perSecond, forMs: FOR_MS }),
      call: async () => {
        const asking = { port, method: "GET", path: sendingDomainList.url } as const
        const most = { keys: keys.slice(1), connections: CONNECTIONS, forMs: FOR_MS }
        const answers = await callers.ask({ ...asking, ...most })
        assertStatuses(answers, [200])
        return answers.perSecond
      },
    }),
    check: async () => {
      await asker.close()
      await daemon.stop()
      await house.waitUntilIdle()
      house.assertNoWarnings()
    },
  }
}

/** The two kinds of load. */
interface LoadActions {
  /** Queries names, in total so many per second. */
  readonly ask: (networks: number, perSecond: number) => Promise<DnsLoadResult>
  /** Calls the API; returns the calls per second. */
  readonly call: () => Promise<number>
}

/** How each figure is measured. */
function measurements(
  { pool }: BenchInstallation,
  { ask, call }: LoadActions,
): OpenBenchmark["measure"] {
  const each = (count: number) => (count * 1_000) / FOR_MS
  let idle: DnsLoadResult | null = null
  let busy: DnsLoadResult | null = null
  return {
    flush: () => flushMicroseconds(pool),
    asked: async () => each((idle = await ask(NETWORKS, PER_SECOND)).asked),
    whole: async () => each(assertAllAnswered(idle).whole),
    p99: async () => assertAllAnswered(idle).p99,
    api: call,
    busyApi: async () => {
      const [perSecond, answered] = await Promise.all([call(), ask(NETWORKS, PER_SECOND)])
      busy = answered
      return perSecond
    },
    busyAsked: async () => each(assertAllAnswered(busy).asked),
    busyWhole: async () => each(assertAllAnswered(busy).whole),
    one: async () => {
      const answered = await ask(1, 10 * ONE_NETWORK)
      // The windows of the limit and of the client do not start together.
      const most = ONE_NETWORK * (FOR_MS / 1_000 + 1)
      assertMeasurement(answered.whole <= most, `one network was answered ${answered.whole} times`)
      assertMeasurement(answered.others === 0, "it was answered otherwise than to come by TCP")
      return each(answered.whole)
    },
  }
}

/** The result of queries within the limits. @throws InvalidMeasurement if one was not answered in full */
function assertAllAnswered(answered: DnsLoadResult | null): DnsLoadResult {
  assertMeasurement(answered !== null, "nothing was asked before")
  const { truncated, others } = answered
  assertMeasurement(
    truncated + others === 0,
    "a question within the limit was not answered in full",
  )
  return answered
}

/** Connects the domain of a name, with one address at that name. */
async function connect({ runner }: Ports, companyId: CompanyId, host: string): Promise<void> {
  const domainId = parseStored(parseDomainId, newId("dom"))
  const name = host.slice(host.indexOf(".") + 1)
  const cause = causedBy("bench")
  await runner.execute(
    DOMAIN_RESERVATIONS_STREAM,
    { type: "ReserveDomain", domainId, companyId, name },
    cause,
  )
  const record: StoredZoneRecord = {
    id: parseStored(parseRecordId, newId("rec")),
    type: "A",
    name: host,
    content: "192.0.2.1",
    priority: null,
    ttl: RECORD_TTL_SECONDS,
    source: "copied",
  }
  const known = {
    formerNameServers: [],
    registrar: null,
    dnssecOn: false,
    queriedNames: null,
    omitted: [],
  }
  const command = {
    type: "ConnectDomain",
    domainId,
    name,
    nameServers: ["ns1.ledger.test"],
    ...known,
    records: [record],
  } as const
  await runner.execute(domainStreamOf(companyId, domainId), command, cause)
}
