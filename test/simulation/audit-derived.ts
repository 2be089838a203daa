/** What is made of the facts is as if it were made anew: read models, checkpoints, work. */
import { LEDGER } from "../../domain/charging/aggregates.ts"
import { RECIPIENT } from "../../domain/phone/aggregates.ts"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { categoryOf } from "../../domain/kernel/streams.ts"
import { loadStream } from "../../src/frame/writer/runner/load.ts"
import { openIn } from "../charging/plain-facts.ts"
import type { PlainModel, Rows } from "./read-models.ts"
import { PLAIN_MODELS, fold, showRows } from "./read-models.ts"
import type { StoredStream } from "./stored.ts"
import { ledgerFacts, ledgersIn } from "./stored.ts"
import type { World } from "./world.ts"

type Streams = ReadonlyMap<string, StoredStream>

/** Read models whose rows are not what folding from zero gives. */
export function auditModels(world: World, events: readonly StoredEvent[]): readonly string[] {
  return (Object.keys(PLAIN_MODELS) as PlainModel[]).flatMap((model) => {
    const rebuilt: Rows = new Map()
    fold(model, rebuilt, events)
    const [live, anew] = [showRows(world.database.rows[model]), showRows(rebuilt)]
    return live === anew ? [] : [`${model} is ${live} and would be ${anew}`]
  })
}

/** Open charges that no work will end. */
export function orphans({ database }: World, streams: Streams): readonly string[] {
  const rows = database.work.rows().filter(({ parked }) => parked === null)
  const ended = new Set(
    rows.map(({ kind, name, payload }) => {
      if (kind === "end-charge") return name
      return kind.endsWith("-text")
        ? (JSON.parse(payload) as { readonly chargeId: string | null }).chargeId
        : null
    }),
  )
  return ledgersIn(streams).flatMap((ledger) => {
    const left = openIn(ledgerFacts(ledger)).filter((id) => !ended.has(id))
    return left.map((id) => `${id} is open, and no work will end it`)
  })
}

const WITH_CHECKPOINTS = { ledger: LEDGER, recipient: RECIPIENT }

/** Streams whose state from a checkpoint is another than that from the start. */
export async function auditCheckpoints(world: World, streams: Streams): Promise<readonly string[]> {
  const { store, database } = world
  const breaks: string[] = []
  for (const { stream, hashes } of streams.values()) {
    const category = categoryOf(stream)
    if (category !== "ledger" && category !== "recipient") continue
    const kept = await database.checkpoints.load(stream)
    if (kept === null) continue
    if (hashes[kept.revision] !== kept.hash) breaks.push(`${stream}: a checkpoint of no history`)
    const { checkpoint, ...rest } = WITH_CHECKPOINTS[category]
    const aggregate = { ...rest, checkpoint } as typeof LEDGER
    const { checkpoints } = database
    const [loaded, folded] = await Promise.all([
      loadStream({ store, checkpoints }, aggregate, stream),
      loadStream({ store, checkpoints: openMemoryCheckpoints() }, aggregate, stream),
    ])
    const texts = [loaded, folded].map(({ state, ...place }) => {
      return orderFree([aggregate.checkpoint.save(state), place.revision, place.hash, place.at])
    })
    if (texts[0] !== texts[1]) breaks.push(`${stream}: ${texts[0]} and not ${texts[1]}`)
  }
  return breaks
}

/** Text that is equal for equal states, whatever order their maps and objects were filled in. */
function orderFree(saved: unknown): string {
  if (Array.isArray(saved)) return `[${saved.map(orderFree).toSorted().join(",")}]`
  if (typeof saved !== "object" || saved === null) return JSON.stringify(saved)
  const fields = Object.entries(saved).map(([name, value]) => `${name}:${orderFree(value)}`)
  return `{${fields.toSorted().join(",")}}`
}
