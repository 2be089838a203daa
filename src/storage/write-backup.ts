/**
 * Writes a backup of a running installation.
 *
 * The order of reads decides what a backup can miss. First, in one snapshot, tables that must not be newer than
 * the events: waiting jobs and stored answers. Then all events up to the head at that time. Then, in a second
 * snapshot, the tables that those events need; other data is put into blobs before. Keys are created before
 * facts are sealed with them, and requests are claimed before they charge. So no answer lacks its charge, no
 * repeated request is charged again, no job is lost, and no fact lacks its key.
 */
import type { BackupTableReader } from "../../adapters/postgres/installation/port.ts"
import type { EventStore, Position, StoredEvent } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import { BackupWriter, EVENTS_BLOCK } from "./backup-file.ts"
import type { CorruptStreamEntry } from "../../adapters/postgres/corrupt-streams/port.ts"
import type { OutputPage } from "../frame/operator/cli/render.ts"
import { renderTable } from "../frame/operator/cli/render.ts"
import type { HeldBackStreams, ProofPorts } from "../frame/writer/stream-proof.ts"
import { StreamProof } from "../frame/writer/stream-proof.ts"

const BLOCK_EVENTS = 500
const BLOCK_BYTES = 256 * 1024
const REPORT_EVERY = 10_000

interface BackupSources {
  readonly tables: BackupTableReader
  readonly store: EventStore
  readonly send: (text: string) => Promise<void>
  /** Puts data outside the database into blobs; called after the events and before the second snapshot. */
  readonly addBundles?: () => Promise<void>
  readonly progress: (message: string) => void
  /** Aborted to stop between two blocks. */
  readonly signal: AbortSignal
}

/** Counts and checksum of a backup. */
export interface WrittenBackup {
  readonly events: number
  /** Rows of all tables. */
  readonly rows: number
  readonly bytes: number
  /** Checksum of the whole file, as in its last line. */
  readonly checksum: string
}

/** Writes a backup. @throws the signal's reason, and the errors of the stores */
export async function writeBackup(sources: BackupSources): Promise<WrittenBackup> {
  const { tables, store, send, signal } = sources
  const writer = new BackupWriter(async (text) => {
    signal.throwIfAborted()
    await send(text)
  })
  await writer.begin({
    migrations: await tables.migrationNames(),
    generation: await tables.generation(),
  })
  const handled = new Map<string, Position>()
  for await (const { name, count, json } of tables.read("before")) {
    if (name === "projections") for (const [hint, at] of parsePositions(json)) handled.set(hint, at)
    await writer.block({ kind: name, count, json })
  }
  const handledEvents = await writeEvents(sources, writer, await store.head(), handled)
  await sources.addBundles?.()
  for await (const { name, count, json } of tables.read("after")) {
    await writer.block({ kind: name, count, json })
  }
  const checksum = await writer.end(Object.fromEntries(handledEvents))
  const { [EVENTS_BLOCK]: events = 0, ...others } = writer.counts
  const rows = Object.values(others).reduce((sum, count) => sum + count, 0)
  return { events, rows, bytes: writer.bytes, checksum }
}

/** The checkpoint of each once-only projection. */
function parsePositions(json: string): ReadonlyMap<string, Position> {
  const rows = JSON.parse(json) as readonly {
    readonly name: string
    readonly commit_position: number
    readonly prepare_position: number
  }[]
  return new Map(
    rows.map(({ name, commit_position: commit, prepare_position: prepare }) => {
      return [name, { commit: BigInt(commit), prepare: BigInt(prepare) }]
    }),
  )
}

/** Writes all events up to `head`; returns how many of them each projection in `handled` has handled. */
async function writeEvents(
  { store, progress }: BackupSources,
  writer: BackupWriter,
  head: Position,
  handled: ReadonlyMap<string, Position>,
): Promise<ReadonlyMap<string, number>> {
  let block: string[] = []
  let bytes = 0
  let events = 0
  const handledEvents = new Map([...handled.keys()].map((hint) => [hint, 0]))
  const flush = async () => {
    if (block.length > 0) {
      await writer.block({ kind: EVENTS_BLOCK, count: block.length, json: `[${block.join(",")}]` })
    }
    block = []
    bytes = 0
  }
  for await (const page of store.readAll()) {
    const wanted = page.filter(({ position }) => comparePositions(position, head) <= 0)
    for (const event of wanted) {
      const text = eventJson(event)
      if (block.length >= BLOCK_EVENTS || bytes + text.length > BLOCK_BYTES) await flush()
      block.push(text)
      bytes += text.length
      events += 1
      for (const [hint, at] of handled) {
        if (comparePositions(event.position, at) <= 0) handledEvents.set(hint, events)
      }
      if (events % REPORT_EVERY === 0) progress(`${events} events`)
    }
    if (wanted.length < page.length) break
  }
  await flush()
  return handledEvents
}

function eventJson({ stream, revision, id, type, data, metadata }: StoredEvent): string {
  return JSON.stringify([stream, revision, id, type, data, metadata])
}

/** An event without its position, which differs between stores. */
export type PortableEvent = Omit<StoredEvent, "position">

/** A corrupt stream, and the number of its omitted events. */
export interface LeftOutStream extends CorruptStreamEntry {
  readonly events: number
}

/** The corrupt streams of a copy or backup, and the events that it omits. */
export class LeftOutStreams implements HeldBackStreams {
  readonly #streams = new Map<string, CorruptStreamEntry>()
  readonly #events = new Map<string, number>()

  constructor(known: readonly CorruptStreamEntry[] = []) {
    for (const one of known) this.holdBack(one)
  }

  get(stream: string): CorruptStreamEntry | null {
    return this.#streams.get(stream) ?? null
  }

  holdBack(found: CorruptStreamEntry): void {
    if (!this.#streams.has(found.stream)) this.#streams.set(found.stream, found)
  }

  addOmitted(events: readonly PortableEvent[]): void {
    for (const { stream } of events) this.#events.set(stream, (this.#events.get(stream) ?? 0) + 1)
  }

  /** All corrupt streams, by name. */
  get all(): readonly LeftOutStream[] {
    return countLeftOut([...this.#streams.values()], this.#events)
  }

  /** The omitted events of streams that another list holds back. */
  omittedFrom(streams: readonly CorruptStreamEntry[]): readonly LeftOutStream[] {
    return countLeftOut(streams, this.#events)
  }
}

function countLeftOut(
  streams: readonly CorruptStreamEntry[],
  events: ReadonlyMap<string, number>,
): readonly LeftOutStream[] {
  return streams
    .map((one) => ({ ...one, events: events.get(one.stream) ?? 0 }))
    .toSorted((a, b) => (a.stream < b.stream ? -1 : 1))
}

/** Yields the proven events of all streams; counts the omitted ones. */
export async function* provenEvents<E extends PortableEvent>(
  pages: AsyncIterable<readonly E[]>,
  omitted: LeftOutStreams,
  ports: Pick<ProofPorts, "streams" | "findChainEnd">,
): AsyncGenerator<readonly E[]> {
  const proof = new StreamProof<E>({ ...ports, heldBackStreams: omitted })
  for await (const page of pages) {
    const { proven, heldBack } = await proof.prove(page)
    omitted.addOmitted(heldBack)
    if (proven.length > 0) yield proven
  }
}

/** Renders the corrupt streams with their omitted events; empty if there are none. */
export function renderLeftOut(all: readonly LeftOutStream[], page: OutputPage): string {
  if (all.length === 0) return ""
  return `\nEvents omitted, because these streams are corrupt:\n${renderTable(all, page, "streams")}`
}
