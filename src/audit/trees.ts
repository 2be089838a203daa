/**
 * Hash trees over all events: one for each company, over all its streams in global order, and one
 * for the streams of no company. Tree heads are signed each UTC day.
 */
import type { Position } from "../../adapters/eventstore/port.ts"
import { START, comparePositions } from "../../adapters/eventstore/port.ts"
import type { Signing } from "../../adapters/sealing/port.ts"
import type {
  StoredTree,
  SignedTreeHead,
  TreeHead,
} from "../../adapters/postgres/tree-heads/port.ts"
import { companyOfStream } from "../../domain/kernel/aggregate.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import { hashOfMetadata } from "../frame/kernel/envelope.ts"
import { formatPositionToken } from "../frame/routes/checks/6-position.ts"
import { TreeEdge } from "./merkle.ts"

/** Name of the tree for streams that belong to no company. */
const INSTALLATION_TREE = "installation"

export type TreePorts = Pick<
  AdminPorts,
  "provenStore" | "storeGeneration" | "treeHeads" | "signing" | "clock"
> & { readonly corruptList: Pick<AdminPorts["corruptList"], "all"> }

/** An event has no hash, so no tree can include it. `audit verify` names the event. */
class MissingHash extends Error {
  override readonly name = "MissingHash"
}

/** Names the tree of a stream's events. */
export function treeNameOf(stream: string): string {
  return companyOfStream(stream) ?? INSTALLATION_TREE
}

/**
 * Extracts the hash from stored metadata; it is the event's leaf.
 *
 * @throws MissingHash
 */
export function requireHashIn(metadata: string): string {
  const hash = hashOfMetadata(metadata)
  if (hash === null) throw new MissingHash(`Metadata without a hash: ${metadata.slice(0, 200)}`)
  return hash
}

/** Builds the text of a head that is signed: seven lines (docs/verify.md). */
export function headSigningText({ tree, size, root, position, at }: TreeHead): string {
  return `company-ledger tree head\n1\n${tree}\n${size}\n${root}\n${position}\n${at}\n`
}

/** Signs a head with the installation's key. */
export async function signHead(signing: Signing, head: TreeHead): Promise<SignedTreeHead> {
  return { ...head, ...(await signing.sign(headSigningText(head))) }
}

/** A hash tree while events are added. */
export class GrowingTree {
  readonly tree: string
  readonly edge: TreeEdge
  #position: Position
  /** Time of the last event; `#data` holds the event's text while the time is not parsed yet. */
  #at: string
  #data: string | null = null

  /** @param stored the state to continue from */
  constructor(tree: string, stored: StoredTree | null = null) {
    this.tree = tree
    this.edge = stored === null ? new TreeEdge() : new TreeEdge(stored.size, stored.edge)
    this.#position = stored?.position ?? START
    this.#at = stored?.at ?? ""
  }

  /** Adds an event by its hash. @param data its text, which contains its time */
  add(hash: string, position: Position, data: string): void {
    this.edge.add(hash)
    this.#position = position
    this.#data = data
  }

  /**
   * Returns the current head; an empty tree has no position and time. @param generation of the
   * store
   */
  head(generation: number): TreeHead {
    const { size } = this.edge
    const position = formatPositionToken(this.#position, generation)
    return { tree: this.tree, size, root: this.edge.root(), position, at: this.#time() }
  }

  /** Returns the state to store, for continuing later. */
  snapshot(): StoredTree {
    const { size, serialized: edge } = this.edge
    return { tree: this.tree, size, edge, position: this.#position, at: this.#time() }
  }

  #time(): string {
    if (this.#data !== null) this.#at = timeIn(this.#data)
    this.#data = null
    return this.#at
  }
}

/** Extracts the time of an event from its data; empty if it has none. */
function timeIn(data: string): string {
  try {
    const { at } = JSON.parse(data) as { readonly at?: unknown }
    return typeof at === "string" ? at : ""
  } catch (error) {
    if (error instanceof SyntaxError) return ""
    throw error
  }
}

/**
 * Adds the newest events to every tree and signs the heads of the trees that grew. The next call
 * continues from the stored position.
 *
 * A tree with a corrupt stream is left unchanged and gets no head, because its held-back events
 * take their place in the global order once the stream is released. The stored position waits for
 * it.
 *
 * @throws Unavailable if the events cannot be read; MissingHash for an event without a hash; the
 * signal's reason
 */
export async function signTrees(ports: TreePorts, signal: AbortSignal): Promise<void> {
  const saved = await ports.treeHeads.load(ports.storeGeneration)
  const stored = new Map(saved?.trees.map((tree) => [tree.tree, tree]))
  const grown = new Map<string, GrowingTree>()
  const waiting = new Set<string>()
  // A stream released during the read still waits: earlier pages left its events out.
  const noteCorrupt = (): void => {
    for (const { stream } of ports.corruptList.all()) waiting.add(treeNameOf(stream))
  }
  noteCorrupt()
  let position = saved?.position ?? START
  for await (const page of ports.provenStore.readAll({ after: position })) {
    signal.throwIfAborted()
    noteCorrupt()
    for (const { stream, metadata, position: at, data } of page) {
      const name = treeNameOf(stream)
      const before = stored.get(name)
      const isIncluded = before !== undefined && comparePositions(at, before.position) <= 0
      if (waiting.has(name) || isIncluded) continue
      const tree = grown.get(name) ?? new GrowingTree(name, before)
      grown.set(name, tree)
      tree.add(requireHashIn(metadata), at, data)
    }
    if (waiting.size === 0) position = page.at(-1)?.position ?? position
  }
  const { signing, storeGeneration: generation } = ports
  const heads: SignedTreeHead[] = []
  for (const tree of grown.values()) heads.push(await signHead(signing, tree.head(generation)))
  const trees = [...grown.values()].map((tree) => tree.snapshot())
  await ports.treeHeads.save(generation, { position, trees }, heads, dayOf(ports))
}

/**
 * Signs the day's heads unless it was done already.
 *
 * @throws the errors of `signTrees`
 */
export async function signDailyHeads(ports: TreePorts, signal: AbortSignal): Promise<void> {
  if ((await ports.treeHeads.lastSignedOn()) !== dayOf(ports)) await signTrees(ports, signal)
}

function dayOf({ clock }: TreePorts): string {
  return new Date(clock.now()).toISOString().slice(0, 10)
}
