/** Which trees grow, and which heads are signed, while streams are held back. */
import { describe, expect, it } from "vitest"
import type { CorruptStream } from "../../adapters/corrupt-streams/port.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { SignedHead, TreeHeads, TreesRead } from "../../adapters/tree-heads/port.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { auditStreams } from "../../src/audit/streams.ts"
import { signTrees } from "../../src/audit/trees.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { provenStore } from "../../src/frame/writer/proven-store.ts"
import { PROGRAM } from "../../src/slices.ts"
import { auditPortsOf, auditScopeOf, signingOfItsOwn } from "../support/audit-ports.ts"
import { OWN, STREAM, addFunds, execute, runnerOn } from "../writer/bench.ts"
import { virtualPacer } from "../writer/pacer.ts"

const OTHER = ledgerOf("co_bbbbbb")

/** Heads and trees in memory. */
function memoryTreeHeads(): TreeHeads {
  let kept: TreesRead | null = null
  const heads: SignedHead[] = []
  return {
    load: async () => kept,
    save: async (_generation, read, signed) => {
      const trees = new Map([...(kept?.trees ?? []), ...read.trees].map((one) => [one.tree, one]))
      kept = { position: read.position, trees: [...trees.values()] }
      heads.push(...signed)
    },
    lastSignedOn: async () => null,
    newest: async () => [],
    list: async (tree) => heads.filter((head) => tree === null || head.tree === tree),
  }
}

/** Two ledgers, the streams that are held back, and what signs and audits them. */
function opened() {
  const store = openMemoryEventStore()
  const runner = runnerOn(store)
  const held = new Map<string, CorruptStream>()
  const corrupt = {
    of: (stream: string) => held.get(stream) ?? null,
    all: () => [...held.values()],
    hold: (found: CorruptStream) => void held.set(found.stream, found),
    store: async () => undefined,
    release: async (stream: string) => void held.delete(stream),
  }
  const treeHeads = memoryTreeHeads()
  const signing = signingOfItsOwn()
  const proving = { streams: PROGRAM.streams, corrupt, pacer: virtualPacer() }
  const proven = provenStore(store, { ...proving, onHeld: () => undefined })
  const clock = { now: () => 0 }
  const ports = { proven, corrupt, treeHeads, signing, clock, storeGeneration: 1 }
  const signal = new AbortController().signal
  return {
    corrupt,
    proven,
    /** Adds a fact to each ledger. */
    add: async () => {
      await execute(runner, addFunds(100))
      await runner.execute(OTHER, addFunds(100), causedBy("test"))
    },
    sign: (read = proven) => signTrees({ ...ports, proven: read }, signal),
    sizes: async (tree: string) => (await treeHeads.list(tree)).map(({ size }) => size),
    broken: async () => {
      const audited = { ...auditPortsOf(store), treeHeads, signing }
      return (await auditStreams(audited, auditScopeOf(null))).firstBroken
    },
  }
}

const HELD = { stream: STREAM, revision: 1, reason: "a test holds it back" }

describe("signed heads", () => {
  it("are of the whole history after a stream was held back and released", async () => {
    const { corrupt, add, sign, sizes, broken } = opened()
    await add()
    await sign()
    corrupt.hold(HELD)
    await add()
    await add()
    await sign()
    expect(await sizes("co_aaaaaa")).toEqual([1])
    expect(await sizes("co_bbbbbb")).toEqual([1, 3])
    expect(await broken()).toBeNull()
    await corrupt.release(OWN.stream)
    await add()
    await sign()
    expect(await sizes("co_aaaaaa")).toEqual([1, 4])
    expect(await sizes("co_bbbbbb")).toEqual([1, 3, 4])
    expect(await broken()).toBeNull()
  })

  it("wait for a stream that is released while the trees are read", async () => {
    const { corrupt, proven, add, sign, sizes, broken } = opened()
    await add()
    await add()
    corrupt.hold(HELD)
    await sign({
      ...proven,
      readAll: async function* (range) {
        yield* proven.readAll(range)
        await corrupt.release(OWN.stream)
        await add()
        yield* proven.readAll({ limit: 1 })
      },
    })
    await sign()
    expect(await sizes("co_aaaaaa")).toEqual([3])
    expect(await broken()).toBeNull()
  })
})
