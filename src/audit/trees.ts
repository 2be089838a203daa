/**
 * The trees over all events: one for each company over all its streams in global order, and one for
 * the streams of no company. Each grows with the events, and its head is signed each UTC day.
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

/** The tree of the streams that belong to no company. */
const INSTALLATION_TREE = "installation"

/** What signing takes. */
export type TreePorts = Pick<
  AdminPorts,
  "provenStore" | "storeGeneration" | "treeHeads" | "signing" | "clock"
> & { readonly corruptList: Pick<AdminPorts["corruptList"], "all"> }

/** An event carries no hash, so no tree can be grown over it: `audit verify` names the place. */
class MissingHash extends Error {
  override readonly name = "MissingHash"
}

/** The tree that a stream's events are in. */
export function treeNameOf(stream: string): string {
  return companyOfStream(stream) ?? INSTALLATION_TREE
}

/** The hash that stored metadata carries, which is its leaf of the tree. @throws MissingHash */
export function requireHashIn(metadata: string): string {
  const hash = hashOfMetadata(metadata)
  if (hash === null) throw new MissingHash(`metadata without a hash: ${metadata.slice(0, 200)}`)
  return hash
}

/** The text that is signed of a head: seven lines (docs/verify.md). */
export function headSigningText({ tree, size, root, position, at }: TreeHead): string {
  return `company-ledger tree head\n1\n${tree}\n${size}\n${root}\n${position}\n${at}\n`
}

/** A head with the installation's signature. */
export async function signHead(signing: Signing, head: TreeHead): Promise<SignedTreeHead> {
  return { ...head, ...(await signing.sign(headSigningText(head))) }
}

/** A tree while it grows. */
export class GrowingTree {
  readonly tree: string
  readonly edge: TreeEdge
  #position: Position
  /** The time of the last event, and its text where that was not read yet. */
  #at: string
  #data: string | null = null

  /** @param kept where it is gone on from */
  constructor(tree: string, kept: StoredTree | null = null) {
    this.tree = tree
    this.edge = kept === null ? new TreeEdge() : new TreeEdge(kept.size, kept.edge)
    this.#position = kept?.position ?? START
    this.#at = kept?.at ?? ""
  }

  /** Adds an event by its hash. @param data its text, for its time */
  add(hash: string, position: Position, data: string): void {
    this.edge.add(hash)
    this.#position = position
    this.#data = data
  }

  /** How it stands; of a tree of nothing, at no place and time. @param generation of the store */
  head(generation: number): TreeHead {
    const { size } = this.edge
    const position = formatPositionToken(this.#position, generation)
    return { tree: this.tree, size, root: this.edge.root(), position, at: this.#time() }
  }

  /** What is kept of it, to go on from. */
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

/** The time of an event, as its data has it; empty where it has none. */
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
 * Reads every tree on to the newest event and signs the heads of those that grew. The next time reads on
 * from the position that is kept.
 *
 * A tree with a corrupt stream stays as it is and gets no head, because an event that is held back now
 * comes in its place of the global order once its stream is released. The kept position waits for it.
 *
 * @throws Unavailable where the events cannot be read; MissingHash where one carries none; the signal's
 * reason
 */
export async function signTrees(ports: TreePorts, signal: AbortSignal): Promise<void> {
  const read = await ports.treeHeads.load(ports.storeGeneration)
  const kept = new Map(read?.trees.map((tree) => [tree.tree, tree]))
  const grown = new Map<string, GrowingTree>()
  const waiting = new Set<string>()
  // A stream that is released meanwhile does not end the wait: its events were left out of former pages.
  const noteCorrupt = (): void => {
    for (const { stream } of ports.corruptList.all()) waiting.add(treeNameOf(stream))
  }
  noteCorrupt()
  let position = read?.position ?? START
  for await (const page of ports.provenStore.readAll({ after: position })) {
    signal.throwIfAborted()
    noteCorrupt()
    for (const { stream, metadata, position: at, data } of page) {
      const name = treeNameOf(stream)
      const before = kept.get(name)
      const isIn = before !== undefined && comparePositions(at, before.position) <= 0
      if (waiting.has(name) || isIn) continue
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

/** Signs the heads of the UTC day, unless that was done. @throws as `signTrees` does */
export async function signDailyHeads(ports: TreePorts, signal: AbortSignal): Promise<void> {
  if ((await ports.treeHeads.lastSignedOn()) !== dayOf(ports)) await signTrees(ports, signal)
}

function dayOf({ clock }: TreePorts): string {
  return new Date(clock.now()).toISOString().slice(0, 10)
}
