import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import {
  EMPTY_ROOT,
  Tree,
  TreeEdge,
  isConsistent,
  leafOf,
  rootByInclusion,
} from "../../src/audit/merkle.ts"

const sha = (...parts: readonly Buffer[]) =>
  createHash("sha256").update(Buffer.concat(parts)).digest()
const hashes = Array.from({ length: 70 }, (_, i) => sha(Buffer.from([i])).toString("hex"))

/** The tree hash as RFC 6962 writes it down, word for word. */
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
  new Tree(Buffer.from(hashes.slice(0, size).map(leafOf).join(""), "hex"))

describe("the Merkle tree", () => {
  it("has the roots of RFC 6962, appended to or made at once", () => {
    const edge = new TreeEdge()
    expect(edge.root()).toBe(EMPTY_ROOT)
    for (const [i, hash] of hashes.entries()) {
      edge.add(hash)
      expect(edge.root()).toBe(rootOf(i + 1))
      expect(treeOf(i + 1).root()).toBe(rootOf(i + 1))
      expect(treeOf(hashes.length).root(i + 1)).toBe(rootOf(i + 1))
    }
  })

  it("goes on from an edge that was kept", () => {
    for (const size of [0, 1, 2, 3, 12, 64]) {
      const before = new TreeEdge()
      for (const hash of hashes.slice(0, size)) before.add(hash)
      const edge = new TreeEdge(before.size, before.text)
      for (const hash of hashes.slice(size)) edge.add(hash)
      expect([edge.size, edge.root()]).toEqual([hashes.length, rootOf(hashes.length)])
    }
  })

  it("proves that a leaf is in it, and of no other leaf, place or size", () => {
    for (let size = 1; size <= 34; size += 1) {
      const tree = treeOf(size)
      for (let index = 0; index < size; index += 1) {
        const path = tree.inclusion(index)
        const hash = hashes[index] as string
        expect(rootByInclusion(hash, index, size, path)).toBe(rootOf(size))
        const other = hashes[index + 1] as string
        expect(rootByInclusion(other, index, size, path)).not.toBe(rootOf(size))
        expect(rootByInclusion(hash, index, size, [...path, other])).toBeNull()
        if (path.length > 0) {
          expect(rootByInclusion(hash, index, size, path.slice(1))).not.toBe(rootOf(size))
          expect(rootByInclusion(hash, (index + 1) % size, size, path)).not.toBe(rootOf(size))
        }
      }
      expect(rootByInclusion(hashes[0] as string, size, size, [])).toBeNull()
    }
  })

  it("proves that it only grew, and of no other tree", () => {
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
