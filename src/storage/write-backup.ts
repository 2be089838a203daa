/**
 * Writing a backup of a running installation.
 *
 * Nothing stands still meanwhile, so what is read in which order decides what can be missing. First,
 * in one snapshot, what must not know of more than the events do: work that waits, and answers that
 * were given. Then all events up to the head of that moment. Then, in another snapshot, what those
 * events need, as they are by then: what stands in neither was put into blobs before. Keys are made before a fact is sealed with them, requests are claimed before they
 * charge. So no answer is kept for a charge that is not there, no request is charged again that asks
 * again, no work is lost, and no fact is without its key.
 */
import type { BackupSet } from "../../adapters/postgres/installation/port.ts"
import type { EventStore, Position, StoredEvent } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import { BackupWriter, EVENTS } from "./backup-file.ts"
import type { CorruptStream } from "../../adapters/postgres/corrupt-streams/port.ts"
import type { Page } from "../frame/operator/cli/render.ts"
import { renderTable } from "../frame/operator/cli/render.ts"
import type { Held, ProofPorts } from "../frame/writer/stream-proof.ts"
import { StreamProof } from "../frame/writer/stream-proof.ts"

const BLOCK_EVENTS = 500
const BLOCK_BYTES = 256 * 1024
const REPORT_EVERY = 10_000

/** What a backup is made of, and where it goes. */
interface BackupSources {
  readonly tables: BackupSet
  readonly store: EventStore
  readonly send: (text: string) => Promise<void>
  /** Puts what stands in neither into blobs: called behind the events, before what fits them is read. */
  readonly putIn?: () => Promise<void>
  readonly progress: (message: string) => void
  /** Aborted to stop between two blocks. */
  readonly signal: AbortSignal
}

/** What was written. */
export interface WrittenBackup {
  readonly events: number
  /** Rows of all tables. */
  readonly rows: number
  readonly bytes: number
  /** The checksum of the whole file, as its last line has it. */
  readonly checksum: string
}

/** Writes a backup. @throws the signal's reason, and what the stores throw */
export async function writeBackup(sources: BackupSources): Promise<WrittenBackup> {
  const { tables, store, send, signal } = sources
  const writer = new BackupWriter(async (text) => {
    signal.throwIfAborted()
    await send(text)
  })
  await writer.begin({
    migrations: await tables.migrations(),
    generation: await tables.generation(),
  })
  const handled = new Map<string, Position>()
  for await (const { name, count, json } of tables.read("before")) {
    if (name === "projections") for (const [hint, at] of positionsIn(json)) handled.set(hint, at)
    await writer.block({ kind: name, count, json })
  }
  const handledEvents = await writeEvents(sources, writer, await store.head(), handled)
  await sources.putIn?.()
  for await (const { name, count, json } of tables.read("after")) {
    await writer.block({ kind: name, count, json })
  }
  const checksum = await writer.end(Object.fromEntries(handledEvents))
  const { [EVENTS]: events = 0, ...others } = writer.counts
  const rows = Object.values(others).reduce((sum, count) => sum + count, 0)
  return { events, rows, bytes: writer.bytes, checksum }
}

/** Where each projection that is written once stands. */
function positionsIn(json: string): ReadonlyMap<string, Position> {
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

/** Writes all events up to a place; answers how many of them stand up to each place in `handled`. */
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
      await writer.block({ kind: EVENTS, count: block.length, json: `[${block.join(",")}]` })
    }
    block = []
    bytes = 0
  }
  for await (const page of store.readAll()) {
    const wanted = page.filter(({ position }) => comparePositions(position, head) <= 0)
    for (const event of wanted) {
      const text = textOf(event)
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

function textOf({ stream, revision, id, type, data, metadata }: StoredEvent): string {
  return JSON.stringify([stream, revision, id, type, data, metadata])
}

/** An event without its place in the global order, which is each store's own. */
export type MovedEvent = Omit<StoredEvent, "position">

/** A corrupt stream, and how much of it was left out here. */
export interface LeftOut extends CorruptStream {
  readonly events: number
}

/** The corrupt streams that a move knows of or meets, and what it leaves out of each. */
export class LeavingOut implements Held {
  readonly #streams = new Map<string, CorruptStream>()
  readonly #events = new Map<string, number>()

  constructor(known: readonly CorruptStream[] = []) {
    for (const one of known) this.hold(one)
  }

  of(stream: string): CorruptStream | null {
    return this.#streams.get(stream) ?? null
  }

  hold(found: CorruptStream): void {
    if (!this.#streams.has(found.stream)) this.#streams.set(found.stream, found)
  }

  /** Counts events that are left out. */
  count(events: readonly MovedEvent[]): void {
    for (const { stream } of events) this.#events.set(stream, (this.#events.get(stream) ?? 0) + 1)
  }

  /** All of them, by the names of their streams. */
  get all(): readonly LeftOut[] {
    return leftOut([...this.#streams.values()], this.#events)
  }

  /** The same of streams that somebody else holds back. */
  among(streams: readonly CorruptStream[]): readonly LeftOut[] {
    return leftOut(streams, this.#events)
  }
}

function leftOut(
  streams: readonly CorruptStream[],
  events: ReadonlyMap<string, number>,
): readonly LeftOut[] {
  return streams
    .map((one) => ({ ...one, events: events.get(one.stream) ?? 0 }))
    .toSorted((a, b) => (a.stream < b.stream ? -1 : 1))
}

/** The proven events among those of all streams; the others are left out, and counted. */
export async function* provenAmong<E extends MovedEvent>(
  pages: AsyncIterable<readonly E[]>,
  leaving: LeavingOut,
  ports: Pick<ProofPorts, "streams" | "endAt">,
): AsyncGenerator<readonly E[]> {
  const proof = new StreamProof<E>({ ...ports, held: leaving })
  for await (const page of pages) {
    const { proven, held } = await proof.take(page)
    leaving.count(held)
    if (proven.length > 0) yield proven
  }
}

/** What was left out, as an operator reads it; nothing where nothing was. */
export function renderLeftOut(all: readonly LeftOut[], page: Page): string {
  if (all.length === 0) return ""
  return `\nLeft out, because these streams are corrupt:\n${renderTable(all, page, "streams")}`
}
