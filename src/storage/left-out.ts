/** What a backup or a move leaves out: the events of corrupt streams that are not proven. */
import type { CorruptStream } from "../../adapters/postgres/corrupt-streams/port.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { Page } from "../frame/operator/cli/render.ts"
import { renderTable } from "../frame/operator/cli/render.ts"
import type { Held, ProofPorts } from "../frame/writer/stream-proof.ts"
import { StreamProof } from "../frame/writer/stream-proof.ts"

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
