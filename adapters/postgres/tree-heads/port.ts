/** Signed tree heads, stored to check every later history against them, and how far the trees were read. */
import type { Position } from "../../eventstore/port.ts"

/** A tree after one of its events. */
export interface TreeHead {
  /** The company's id, or `installation` for streams without a company. */
  readonly tree: string
  readonly size: number
  /** In hexadecimal. */
  readonly root: string
  /** The global position of its last event, as in `Ledger-Position`. */
  readonly position: string
  readonly at: string
}

export interface SignedTreeHead extends TreeHead {
  /** Base64 of the 32 bytes of an Ed25519 key, and of the 64 of its signature. */
  readonly publicKey: string
  readonly signature: string
}

/** A tree that later events can extend. */
export interface StoredTree {
  readonly tree: string
  readonly size: number
  /** Its right edge, as text. */
  readonly edge: string
  readonly position: Position
  readonly at: string
}

/** How far all trees were read. */
export interface TreeProgress {
  readonly position: Position
  readonly trees: readonly StoredTree[]
}

export interface TreeHeads {
  /** How far the trees were read; null if they must be read from the start. @param generation of the store */
  readonly load: (generation: number) => Promise<TreeProgress | null>
  /**
   * Saves the changed trees and their signed heads in one transaction. Existing heads stay.
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
  /** The newest head of one tree, or of all (null). */
  readonly newest: (tree: string | null) => Promise<readonly SignedTreeHead[]>
  /** All signed heads of one tree or of all (null), smallest first. */
  readonly list: (tree: string | null) => Promise<readonly SignedTreeHead[]>
}
