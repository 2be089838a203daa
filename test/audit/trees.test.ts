/** Hash trees, and the signed heads while streams are held back. */
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import {
  EMPTY_ROOT,
  MerkleTree,
  TreeEdge,
  isConsistent,
  leafHashOf,
  rootFromInclusion,
} from "../../src/audit/merkle.ts"
import type { CorruptStreamEntry } from "../../adapters/postgres/corrupt-streams/port.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type {
  SignedTreeHead,
  TreeHeads,
  TreeProgress,
} from "../../adapters/postgres/tree-heads/port.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { auditStreams } from "../../src/audit/stream-audit.ts"
import { signTrees } from "../../src/audit/trees.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { provenStore } from "../../src/frame/writer/proven-store.ts"
import { PROGRAM } from "../../src/slices.ts"
import { auditPortsOf, auditScopeOf, newSigning } from "../support/audit-ports.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  executeOnLedger,
  runnerOn,
  virtualPacer,
} from "../writer/runner-fixture.ts"

const sha = (...parts: readonly Buffer[]) =>
  createHash("sha256").update(Buffer.concat(parts)).digest()

const hashes = Array.from({ length: 70 }, (_, i) => sha(Buffer.from([i])).toString("hex"))

/** The tree hash exactly as RFC 6962 defines it. */
function plainRoot(leaves: readonly string[]): Buffer {
  const [first] = leaves
  if (first === undefined) return sha()
  if (leaves.length === 1) return sha(Buffer.from([0]), Buffer.from(first, "hex"))
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return sha(Buffer.from([1]), plainRoot(leaves.slice(0, k)), plainRoot(leaves.slice(k)))
}

const rootOf = (size: number) => plainRoot(hashes.slice(0, size)).toString("hex")
const treeOf = (size: number) =>
  new MerkleTree(Buffer.from(hashes.slice(0, size).map(leafHashOf).join(""), "hex"))

describe("the Merkle tree", () => {
  it("has the roots of RFC 6962, built incrementally or completely", () => {
    const edge = new TreeEdge()
    expect(edge.root()).toBe(EMPTY_ROOT)
    for (const [i, hash] of hashes.entries()) {
      edge.add(hash)
      expect(edge.root()).toBe(rootOf(i + 1))
      expect(treeOf(i + 1).root()).toBe(rootOf(i + 1))
      expect(treeOf(hashes.length).root(i + 1)).toBe(rootOf(i + 1))
    }
  })

  it("continues from a stored edge", () => {
    for (const size of [0, 1, 2, 3, 12, 64]) {
      const before = new TreeEdge()
      for (const hash of hashes.slice(0, size)) before.add(hash)
      const edge = new TreeEdge(before.size, before.serialized)
      for (const hash of hashes.slice(size)) edge.add(hash)
      expect([edge.size, edge.root()]).toEqual([hashes.length, rootOf(hashes.length)])
    }
  })

  it("proves the inclusion of a leaf, and of no other leaf, index or size", () => {
    for (let size = 1; size <= 34; size += 1) {
      const tree = treeOf(size)
      for (let index = 0; index < size; index += 1) {
        const path = tree.inclusion(index)
        const hash = hashes[index] as string
        expect(rootFromInclusion(hash, index, size, path)).toBe(rootOf(size))
        const other = hashes[index + 1] as string
        expect(rootFromInclusion(other, index, size, path)).not.toBe(rootOf(size))
        expect(rootFromInclusion(hash, index, size, [...path, other])).toBeNull()
        if (path.length > 0) {
          expect(rootFromInclusion(hash, index, size, path.slice(1))).not.toBe(rootOf(size))
          expect(rootFromInclusion(hash, (index + 1) % size, size, path)).not.toBe(rootOf(size))
        }
      }
      expect(rootFromInclusion(hashes[0] as string, size, size, [])).toBeNull()
    }
  })

  it("proves its consistency with a former head, and with no other tree", () => {
    for (let size = 1; size <= 34; size += 1) {
      const later = { size, root: rootOf(size) }
      for (let former = 0; former <= size; former += 1) {
        const path = treeOf(size).consistency(former)
        const before = { size: former, root: rootOf(former) }
        expect(isConsistent(before, later, path), `${former} of ${size}`).toBe(true)
        if (former === 0) continue
        expect(isConsistent({ ...before, root: rootOf(former + 1) }, later, path)).toBe(false)
        expect(isConsistent(before, { ...later, root: rootOf(size + 1) }, path)).toBe(false)
        expect(isConsistent(before, later, [...path, rootOf(1)])).toBe(false)
        expect(isConsistent(later, before, path)).toBe(former === size)
      }
    }
  })
})

const OTHER = ledgerStreamOf("co_bbbbbb")

function memoryTreeHeads(): TreeHeads {
  let progress: TreeProgress | null = null
  const heads: SignedTreeHead[] = []
  return {
    load: async () => progress,
    save: async (_generation, read, signed) => {
      const trees = new Map(
        [...(progress?.trees ?? []), ...read.trees].map((one) => [one.tree, one]),
      )
      progress = { position: read.position, trees: [...trees.values()] }
      heads.push(...signed)
    },
    lastSignedOn: async () => null,
    newest: async () => [],
    list: async (tree) => heads.filter((head) => tree === null || head.tree === tree),
  }
}

/** Two ledgers with a list of held-back streams, and functions to sign and audit them. */
function opened() {
  const store = openMemoryEventStore()
  const runner = runnerOn(store)
  const held = new Map<string, CorruptStreamEntry>()
  const corruptList = {
    get: (stream: string) => held.get(stream) ?? null,
    all: () => [...held.values()],
    holdBack: (found: CorruptStreamEntry) => void held.set(found.stream, found),
    store: async () => undefined,
    release: async (stream: string) => void held.delete(stream),
  }
  const treeHeads = memoryTreeHeads()
  const signing = newSigning()
  const proving = { streams: PROGRAM.streams, corruptList, pacer: virtualPacer() }
  const proven = provenStore(store, { ...proving, onHeldBack: () => undefined })
  const clock = { now: () => 0 }
  const ports = { provenStore: proven, corruptList, treeHeads, signing, clock, storeGeneration: 1 }
  const signal = new AbortController().signal
  return {
    corruptList,
    proven,
    /** Adds a fact to each ledger. */
    add: async () => {
      await executeOnLedger(runner, addFundsCommand(100))
      await runner.execute(OTHER, addFundsCommand(100), causedBy("test"))
    },
    sign: (read = proven) => signTrees({ ...ports, provenStore: read }, signal),
    sizes: async (tree: string) => (await treeHeads.list(tree)).map(({ size }) => size),
    broken: async () => {
      const audited = { ...auditPortsOf(store), treeHeads, signing }
      return (await auditStreams(audited, auditScopeOf(null))).firstBroken
    },
  }
}

const HELD = { stream: TEST_LEDGER_STREAM, revision: 1, reason: "a test holds it back" }

describe("signed heads", () => {
  it("cover the whole history after a stream is held back and released", async () => {
    const { corruptList, add, sign, sizes, broken } = opened()
    await add()
    await sign()
    corruptList.holdBack(HELD)
    await add()
    await add()
    await sign()
    expect(await sizes("co_aaaaaa")).toEqual([1])
    expect(await sizes("co_bbbbbb")).toEqual([1, 3])
    expect(await broken()).toBeNull()
    await corruptList.release(TEST_LEDGER.stream)
    await add()
    await sign()
    expect(await sizes("co_aaaaaa")).toEqual([1, 4])
    expect(await sizes("co_bbbbbb")).toEqual([1, 3, 4])
    expect(await broken()).toBeNull()
  })

  it("wait for a stream that is released while the trees are read", async () => {
    const { corruptList, proven, add, sign, sizes, broken } = opened()
    await add()
    await add()
    corruptList.holdBack(HELD)
    await sign({
      ...proven,
      readAll: async function* (range) {
        yield* proven.readAll(range)
        await corruptList.release(TEST_LEDGER.stream)
        await add()
        yield* proven.readAll({ limit: 1 })
      },
    })
    await sign()
    expect(await sizes("co_aaaaaa")).toEqual([3])
    expect(await broken()).toBeNull()
  })
})
