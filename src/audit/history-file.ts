/**
 * The form of an exported history: NDJSON, one JSON object a line, in an order that the range alone
 * decides, so that the same range gives the same bytes (docs/verify.md).
 *
 *     {"companyLedger":"export","form":1,"company":"co_…"}           company null: everything
 *     {"stream":"ledger-co_…","revision":0,"id":"…","type":"…","data":"…","metadata":"…"}   in global order
 *     {"range":"ledger-co_…","first":0,"last":11,"hash":"…"}         each stream, by name
 *     {"head":{"tree":"co_…","size":12,"root":"…",…}}                each tree, by name, signed
 *     {"manifest":{"events":12,"streams":1,"heads":1,"sha256":"…"}}  over all bytes before this line
 *
 * `data` and `metadata` are the stored texts themselves, as JSON strings: they are what is hashed.
 */
import { createHash } from "node:crypto"
import type { EventStore, Position, StoredEvent } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { SignedTreeHead, TreeHead } from "../../adapters/postgres/tree-heads/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyOfStream } from "../../domain/kernel/aggregate.ts"
import type { Streams } from "../frame/writer/streams.ts"
import type { ProgressMeter } from "./findings.ts"
import { withProgress } from "./findings.ts"
import { GrowingTree, requireHashIn, treeNameOf } from "./trees.ts"

/** The format version that is written. */
export const HISTORY_FILE_FORM = 1
const CHUNK_CHARACTERS = 64 * 1024

export type HistoryEvent = Omit<StoredEvent, "position">

export interface HistoryExport {
  readonly store: Pick<EventStore, "readAll">
  readonly streams: Streams
  /** Null for everything. */
  readonly companyId: CompanyId | null
  /** The last position to include. */
  readonly to: Position
  /** How many times the store's events were migrated; part of position tokens. */
  readonly generation: number
  readonly sign: (head: TreeHead) => Promise<SignedTreeHead>
  /** Sends a chunk of the file; resolves when there is room for the next. */
  readonly send: (chunk: string) => Promise<void>
  readonly meter: ProgressMeter
  readonly signal: AbortSignal
}

export interface HistoryExportResult {
  readonly company: CompanyId | null
  readonly events: number
  readonly streams: number
  readonly sha256: string
  readonly heads: readonly SignedTreeHead[]
}

/** Yields every event up to a position, of a company or all, in global order, page by page. */
export async function* eventsUpTo(
  { store, streams, companyId, to }: Pick<HistoryExport, "store" | "streams" | "companyId" | "to">,
  prefixes = companyId === null ? null : streams.prefixesOf(companyId),
): AsyncGenerator<readonly StoredEvent[]> {
  const range = prefixes === null ? {} : { prefixes }
  for await (const page of store.readAll(
    companyId === null ? range : { ...range, isSelective: true },
  )) {
    const last = page.at(-1)
    const isWithin = last === undefined || comparePositions(last.position, to) <= 0
    const upTo = isWithin
      ? page
      : page.filter(({ position }) => comparePositions(position, to) <= 0)
    yield companyId === null
      ? upTo
      : upTo.filter(({ stream }) => companyOfStream(stream) === companyId)
    if (!isWithin) return
  }
}

/** Builds the line of an event. */
export function eventLine({ stream, revision, id, type, data, metadata }: HistoryEvent): string {
  return `${JSON.stringify({ stream, revision, id, type, data, metadata })}\n`
}

/**
 * Writes a history.
 *
 * @throws Unavailable if the events cannot be read, and the signal's reason
 */
export async function writeHistory(request: HistoryExport): Promise<HistoryExportResult> {
  const { companyId, sign, send, meter, signal } = request
  const out = new HashedLines(send)
  await out.add(
    `${JSON.stringify({ companyLedger: "export", form: HISTORY_FILE_FORM, company: companyId })}\n`,
  )
  const trees = new Map<string, GrowingTree>()
  const ranges = new Map<string, { first: number; last: number; hash: string }>()
  let events = 0
  for await (const page of withProgress(eventsUpTo(request), meter, signal)) {
    for (const stored of page) {
      const { stream, revision, metadata, position, data } = stored
      const hash = requireHashIn(metadata)
      const range = ranges.get(stream)
      ranges.set(stream, { first: range?.first ?? revision, last: revision, hash })
      const name = treeNameOf(stream)
      const tree = trees.get(name) ?? new GrowingTree(name)
      trees.set(name, tree)
      tree.add(hash, position, data)
      await out.add(eventLine(stored))
    }
    events += page.length
  }
  for (const [range, { first, last, hash }] of sortedByName(ranges)) {
    await out.add(`${JSON.stringify({ range, first, last, hash })}\n`)
  }
  const heads: SignedTreeHead[] = []
  for (const [, tree] of sortedByName(trees)) {
    const head = await sign(tree.head(request.generation))
    heads.push(head)
    await out.add(`${JSON.stringify({ head: orderedHeadFields(head) })}\n`)
  }
  const { sha256 } = out
  const counts = { events, streams: ranges.size, heads: heads.length }
  await out.add(`${JSON.stringify({ manifest: { ...counts, sha256 } })}\n`)
  await out.flush()
  return { company: companyId, events, streams: ranges.size, sha256, heads }
}

/** Puts the fields of a head into their order in files. */
export function orderedHeadFields(head: SignedTreeHead): SignedTreeHead {
  const { tree, size, root, position, at, publicKey, signature } = head
  return { tree, size, root, position, at, publicKey, signature }
}

/** Sorts by code units, which is the same order on every machine. */
function sortedByName<T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Lines that are sent in chunks and hashed as they are added. */
class HashedLines {
  readonly #send: (chunk: string) => Promise<void>
  readonly #hash = createHash("sha256")
  #lines: string[] = []
  #characters = 0

  constructor(send: (chunk: string) => Promise<void>) {
    this.#send = send
  }

  /** The hash of all lines added so far. */
  get sha256(): string {
    return this.#hash.copy().digest("hex")
  }

  async add(line: string): Promise<void> {
    this.#hash.update(line)
    this.#lines.push(line)
    this.#characters += line.length
    if (this.#characters >= CHUNK_CHARACTERS) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.#lines.length === 0) return
    const chunk = this.#lines.join("")
    this.#lines = []
    this.#characters = 0
    await this.#send(chunk)
  }
}
