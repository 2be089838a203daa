/**
 * Signed heads of the trees over the events, kept so that every later history can be held against
 * them, and how far the trees were read.
 */
import type { Position } from "../../eventstore/port.ts"

/** How a tree stood after one of its events. */
export interface TreeHead {
  /** The company's id, or `installation` for the streams of no company. */
  readonly tree: string
  /** How many events it holds. */
  readonly size: number
  /** In hexadecimal. */
  readonly root: string
  /** The place of its last event in the global order, as a `Ledger-Position` names it. */
  readonly position: string
  /** The time of its last event, as the event has it. */
  readonly at: string
}

/** A head, and that this installation vouches for it. */
export interface SignedTreeHead extends TreeHead {
  /** Base64 of the 32 bytes of an Ed25519 key, and of the 64 of its signature. */
  readonly publicKey: string
  readonly signature: string
}

/** A tree that can be gone on with. */
export interface StoredTree {
  readonly tree: string
  readonly size: number
  /** Its right edge, as text. */
  readonly edge: string
  /** Of its last event. */
  readonly position: Position
  readonly at: string
}

/** How far all trees were read together. */
export interface TreeProgress {
  readonly position: Position
  readonly trees: readonly StoredTree[]
}

/** Keeps heads and trees. */
export interface TreeHeads {
  /** How far the trees were read; null where they must be read from the start. @param generation of the store */
  readonly load: (generation: number) => Promise<TreeProgress | null>
  /**
   * Keeps the trees that changed and their signed heads, all or nothing. A head that is kept stays.
   *
   * @param signedOn the UTC day, `YYYY-MM-DD`
   */
  readonly save: (
    generation: number,
    read: TreeProgress,
    heads: readonly SignedTreeHead[],
    signedOn: string,
  ) => Promise<void>
  /** The UTC day of the last signing, `YYYY-MM-DD`; null before the first. */
  readonly lastSignedOn: () => Promise<string | null>
  /** The newest head of one tree or (null) of all. */
  readonly newest: (tree: string | null) => Promise<readonly SignedTreeHead[]>
  /** Every head that was signed, of one tree or (null) of all, the smallest first. */
  readonly list: (tree: string | null) => Promise<readonly SignedTreeHead[]>
}
