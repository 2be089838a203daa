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

const BLOCK_EVENTS = 500
const BLOCK_BYTES = 256 * 1024
const REPORT_EVERY = 10_000

/** What a backup is made of, and where it goes. */
export interface BackupSources {
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
