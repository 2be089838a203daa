/** `audit verify` and `audit replay`, beside reading the same streams, parsing them and one hash each. */
import { hash } from "node:crypto"
import { leafIn, signHead, treeOfStream } from "../../src/audit/trees.ts"
import { TreeEdge } from "../../src/audit/merkle.ts"
import { replayHistory } from "../../src/audit/replay-history.ts"
import { auditStreams } from "../../src/audit/streams.ts"
import type { Signing } from "../../adapters/sealing/port.ts"
import type { SignedHead } from "../../adapters/postgres/tree-heads/port.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { openCompany } from "../ground/company.ts"
import { eventsPerSecond } from "../ground/events-per-second.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { onGround } from "../ground/open-on.ts"
import { signingOfItsOwn } from "../../test/support/audit-ports.ts"
import { PROGRAM } from "../../src/slices.ts"

const SIZE = { people: 20, keys: 40 }
const CHARGES = 50_000

/** The auditor's two commands over one ledger. */
export const audit: Benchmark = {
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
  open: onGround(openOn),
}

async function openOn(ground: Ground, { signal, report }: Setting): Promise<Omit<Opened, "close">> {
  const { store } = ground
  const runner = ground.newRunner()
  const company = await openCompany(ground, runner, SIZE)
  report(`audit: writing ${CHARGES} charges`)
  await company.fill(runner, CHARGES, signal)
  const range = { prefixes: [company.stream] }
  const signing = signingOfItsOwn()
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

interface Audited {
  readonly store: EventStore
  readonly signing: Signing
  readonly signed: SignedHead
  readonly range: { readonly prefixes: readonly string[] }
  readonly signal: AbortSignal
}

/** The signed head of a stream's tree: its root is compared on the way. */
async function headOf(store: EventStore, stream: string, signing: Signing): Promise<SignedHead> {
  const edge = new TreeEdge()
  for await (const page of store.read(stream))
    for (const one of page) edge.add(leafIn(one.metadata))
  const tree = treeOfStream(stream)
  return signHead(signing, { tree, size: edge.size, root: edge.root(), position: "", at: "" })
}

async function verify({ store, signing, signed, range, signal }: Audited): Promise<number> {
  const ports = {
    store,
    readEverything: () => store.readAll(range),
    streams: PROGRAM.streams,
    streamOfIntent: PROGRAM.streamOfIntent,
    checkpointOf: async () => null,
    signing,
    treeHeads: { list: async () => [signed] },
    work: { names: async () => [] },
  }
  const pace = { at: () => undefined }
  const paces = { all: pace, each: () => pace }
  const found = await auditStreams(ports, { companyId: null, head: signed.root, paces, signal })
  const broken = JSON.stringify(found.firstBroken)
  honest(
    found.checks.every(({ ok }) => ok),
    `the audit found ${broken}`,
  )
  return found.events
}

async function replay(store: EventStore, range: Audited["range"]): Promise<number> {
  const found = await replayHistory({
    rules: null,
    pages: async function* (category) {
      if (category === "ledger") yield* store.readAll(range)
    },
  })
  honest(found.ok, `the replay found ${JSON.stringify(found.first)}`)
  return found.facts
}
