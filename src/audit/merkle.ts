/**
 * An append-only Merkle tree with the hashes of RFC 6962: a leaf is SHA-256 over a zero byte and
 * its data, a node SHA-256 over a one byte and its two children. The data of a leaf are the 32
 * bytes of an event's hash, so the tree commits to every byte of the events.
 */
import { hash as digest } from "node:crypto"

const HASH_BYTES = 32

/** Root of the empty tree: SHA-256 over no bytes. */
export const EMPTY_ROOT = digest("sha256", "", "hex")

// Reading and writing hexadecimal is several times faster than bytes.
const leafBytes = Buffer.alloc(1 + HASH_BYTES)
const nodeBytes = Buffer.alloc(1 + 2 * HASH_BYTES)
nodeBytes[0] = 1

/** Hashes the leaf of an event, in hexadecimal. @param hash the event's own hash */
export function leafHashOf(hash: string): string {
  leafBytes.write(hash, 1, "hex")
  return digest("sha256", leafBytes, "hex")
}

function nodeHashOf(left: string, right: string): string {
  nodeBytes.write(left, 1, "hex")
  nodeBytes.write(right, 1 + HASH_BYTES, "hex")
  return digest("sha256", nodeBytes, "hex")
}

/**
 * The right edge of a tree: the roots of its complete subtrees, largest first. Appending needs
 * nothing else, so a tree grows in the space of about thirty hashes.
 */
export class TreeEdge {
  #size: number
  readonly #roots: string[]

  /** @param edge the `serialized` edge of a tree of this size */
  constructor(size = 0, edge = "") {
    this.#size = size
    this.#roots = edge.match(/[0-9a-f]{64}/g) ?? []
  }

  get size(): number {
    return this.#size
  }

  /** The edge as text, to continue from later. */
  get serialized(): string {
    return this.#roots.join("")
  }

  /** Appends the leaf of the next event. */
  add(hash: string): void {
    let root = leafHashOf(hash)
    for (let size = this.#size; size % 2 === 1; size = (size - 1) / 2) {
      root = nodeHashOf(this.#roots.pop() as string, root)
    }
    this.#roots.push(root)
    this.#size += 1
  }

  /** The root over all leaves, in hexadecimal. */
  root(): string {
    if (this.#roots.length === 0) return EMPTY_ROOT
    return this.#roots.reduceRight((right, left) => nodeHashOf(left, right))
  }
}

/** A complete tree, for proofs: 64 bytes per leaf. */
export class MerkleTree {
  /** The roots of the complete subtrees of each height, concatenated. */
  readonly #levels: Buffer[] = []
  readonly #size: number

  /** @param leaves the concatenated leaf hashes */
  constructor(leaves: Buffer) {
    this.#size = leaves.length / HASH_BYTES
    let level = leaves
    while (level.length >= HASH_BYTES) {
      this.#levels.push(level)
      const next = Buffer.alloc(Math.floor(level.length / (2 * HASH_BYTES)) * HASH_BYTES)
      for (let at = 0; at < next.length; at += HASH_BYTES) {
        level.copy(nodeBytes, 1, 2 * at, 2 * at + 2 * HASH_BYTES)
        next.write(digest("sha256", nodeBytes, "hex"), at, "hex")
      }
      level = next
    }
  }

  /** The root of the tree of the first `size` leaves. */
  root(size = this.#size): string {
    return size === 0 ? EMPTY_ROOT : this.#rootOf(0, size)
  }

  /** The hashes on the path from a leaf to the root, in hexadecimal (RFC 6962, 2.1.1). */
  inclusion(index: number): readonly string[] {
    const path: string[] = []
    let [start, end] = [0, this.#size]
    while (end - start > 1) {
      const middle = start + splitPointOf(end - start)
      const isLeft = index < middle
      path.push(isLeft ? this.#rootOf(middle, end) : this.#rootOf(start, middle))
      if (isLeft) end = middle
      else start = middle
    }
    return path.toReversed()
  }

  /** The hashes that prove a former size's root consistent with this one (RFC 6962, 2.1.2). */
  consistency(former: number): readonly string[] {
    if (former === 0 || former === this.#size) return []
    const path: string[] = []
    let [start, end, isWhole] = [0, this.#size, true]
    while (former < end) {
      const middle = start + splitPointOf(end - start)
      if (former <= middle) {
        path.push(this.#rootOf(middle, end))
        end = middle
      } else {
        path.push(this.#rootOf(start, middle))
        start = middle
        isWhole = false
      }
    }
    if (!isWhole) path.push(this.#rootOf(start, end))
    return path.toReversed()
  }

  #rootOf(start: number, end: number): string {
    const size = end - start
    const height = Math.log2(size)
    if (Number.isInteger(height) && start % size === 0) {
      const at = (start / size) * HASH_BYTES
      return (this.#levels[height] as Buffer).toString("hex", at, at + HASH_BYTES)
    }
    const middle = start + splitPointOf(size)
    return nodeHashOf(this.#rootOf(start, middle), this.#rootOf(middle, end))
  }
}

/** The largest power of two below a size of two or more: where its tree is split. */
function splitPointOf(size: number): number {
  let split = 1
  while (2 * split < size) split *= 2
  return split
}

/** An invalid hash would leave old bytes in the buffer that is hashed. */
const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/**
 * Calculates the root from a leaf and its inclusion path (RFC 9162, 2.1.3.2); null for an invalid
 * path.
 */
export function rootFromInclusion(
  hash: string,
  index: number,
  size: number,
  path: readonly string[],
): string | null {
  if (index >= size) return null
  let [fn, sn] = [index, size - 1]
  let root = leafHashOf(hash)
  for (const sibling of path) {
    if (sn === 0 || !isHash(sibling)) return null
    if (fn % 2 === 1 || fn === sn) {
      root = nodeHashOf(sibling, root)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)]
    } else root = nodeHashOf(root, sibling)
    ;[fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  }
  return sn === 0 ? root : null
}

/** Whether a path proves a later root consistent with a former one (RFC 9162, 2.1.4.2). */
export function isConsistent(
  former: { readonly size: number; readonly root: string },
  later: { readonly size: number; readonly root: string },
  path: readonly string[],
): boolean {
  if (former.size > later.size) return false
  if (former.size === later.size) return path.length === 0 && former.root === later.root
  if (former.size === 0) return path.length === 0
  const isWhole = Number.isInteger(Math.log2(former.size))
  const [first, ...rest] = isWhole ? [former.root, ...path] : path
  if (first === undefined || !isHash(first)) return false
  let [fn, sn] = [former.size - 1, later.size - 1]
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  let before = first
  let after = before
  for (const sibling of rest) {
    if (sn === 0 || !isHash(sibling)) return false
    if (fn % 2 === 1 || fn === sn) {
      before = nodeHashOf(sibling, before)
      after = nodeHashOf(sibling, after)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)]
    } else after = nodeHashOf(after, sibling)
    ;[fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  }
  return sn === 0 && before === former.root && after === later.root
}
