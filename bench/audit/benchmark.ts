/** `audit verify` and `audit replay`, compared with reading the same streams, parsing them and one hash each. */
import { hash } from "node:crypto"
import { requireHashIn, signHead, treeNameOf } from "../../src/audit/trees.ts"
import { TreeEdge } from "../../src/audit/merkle.ts"
import { replayHistory } from "../../src/audit/replay-history.ts"
import { auditStreams } from "../../src/audit/stream-audit.ts"
import type { Signing } from "../../adapters/sealing/port.ts"
import type { SignedTreeHead } from "../../adapters/postgres/tree-heads/port.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { eventsPerSecond } from "../fixtures/events-per-second.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"
import { newSigning } from "../../test/support/audit-ports.ts"
import { PROGRAM } from "../../src/slices.ts"

const SIZE = { people: 20, keys: 40 }
const CHARGES = 50_000

/** The two audit commands over one ledger. */
export const auditBenchmark: Benchmark = {
  name: "audit",
  title: `a ledger of ${CHARGES.toLocaleString("en-US")} charges audited`,
  stores: ["postgres", "eventstoredb", "memory"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "bare", title: "events read, parsed, hashed once", unit: "per second" },
    { name: "verified", title: "audit verify of the streams", unit: "per second" },
    { name: "replayed", title: "audit replay", unit: "per second" },
  ],
  ratios: [
    {
      id: "audit verify",
      title: "audit verify ÷ read, parse, one SHA-256 an event",
      of: "verified",
      per: "bare",
      better: "more",
      target: 0.5,
      floor: null,
    },
    {
      id: "audit replay",
      title: "audit replay ÷ the same",
      of: "replayed",
      per: "bare",
      better: "more",
      target: 0.5,
      floor: null,
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal, report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { store } = ground
  const runner = ground.newRunner()
  const company = await openSpendingCompany(ground, runner, SIZE)
  report(`audit: writing ${CHARGES} charges`)
  await company.fill(runner, CHARGES, signal)
  const range = { prefixes: [company.stream] }
  const signing = newSigning()
  const signed = await headOf(store, company.stream, signing)
  const events = signed.size

  const timed = (read: () => Promise<number>) => eventsPerSecond(events, read, signal)
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      bare: () =>
        timed(async () => {
          let count = 0
          for await (const page of store.readAll(range)) {
            for (const { data, metadata } of page) {
              JSON.parse(data)
              JSON.parse(metadata)
              hash("sha256", data, "hex")
              count += 1
            }
          }
          return count
        }),
      verified: () => timed(() => verify({ store, signing, signed, range, signal })),
      replayed: () => timed(() => replay(store, range)),
    },
    check: () => company.check(runner),
  }
}

interface AuditedLedger {
  readonly store: EventStore
  readonly signing: Signing
  readonly signed: SignedTreeHead
  readonly range: { readonly prefixes: readonly string[] }
  readonly signal: AbortSignal
}

/** The signed head of a stream's tree, which the audit compares. */
async function headOf(
  store: EventStore,
  stream: string,
  signing: Signing,
): Promise<SignedTreeHead> {
  const edge = new TreeEdge()
  for await (const page of store.read(stream))
    for (const one of page) edge.add(requireHashIn(one.metadata))
  const tree = treeNameOf(stream)
  return signHead(signing, { tree, size: edge.size, root: edge.root(), position: "", at: "" })
}

async function verify({ store, signing, signed, range, signal }: AuditedLedger): Promise<number> {
  const ports = {
    store,
    readAllStreams: () => store.readAll(range),
    streams: PROGRAM.streams,
    streamOfIntent: PROGRAM.streamOfIntent,
    checkpointOf: async () => null,
    signing,
    treeHeads: { list: async () => [signed] },
    jobs: { listNames: async () => [] },
  }
  const pace = { advance: () => undefined }
  const meters = { all: pace, each: () => pace }
  const found = await auditStreams(ports, { companyId: null, head: signed.root, meters, signal })
  const broken = JSON.stringify(found.firstBroken)
  assertMeasurement(
    found.checks.every(({ ok }) => ok),
    `the audit found ${broken}`,
  )
  return found.events
}

async function replay(store: EventStore, range: AuditedLedger["range"]): Promise<number> {
  const found = await replayHistory({
    rules: null,
    pages: async function* (category) {
      if (category === "ledger") yield* store.readAll(range)
    },
  })
  assertMeasurement(found.ok, `the replay found ${JSON.stringify(found.first)}`)
  return found.facts
}
