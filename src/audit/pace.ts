/** How far long work over events has come: how many are done, how fast, and how long it still takes. */
import type { Position, StoredEvent } from "../../adapters/eventstore/port.ts"

const TELL_EVERY_MS = 200

/** The pace of work. */
export interface Pace {
  /** Notes that so many more events are done, up to a place; null where that is not known. */
  readonly at: (position: Position | null, events: number) => void
}

/**
 * Tells the pace of reading all events up to a place, or of work that says what share of it is done.
 * Places of a store grow with its events, though not evenly: what is left is an estimate.
 *
 * @param elapsedMs milliseconds since some moment, never going back
 */
export function paceTo(
  end: Position | (() => number),
  progress: (message: string) => void,
  elapsedMs: () => number = () => performance.now(),
): Pace {
  const begun = elapsedMs()
  let done = 0
  let toldAt = begun
  return {
    at: (position, events) => {
      done += events
      const now = elapsedMs()
      if (now - toldAt < TELL_EVERY_MS) return
      toldAt = now
      const share = typeof end === "function" ? end() : shareOf(position, end)
      progress(paceText(done, share, now - begun))
    },
  }
}

/** Pages of events, each told of once it is done with. @throws the signal's reason */
export async function* paced(
  pages: AsyncIterable<readonly StoredEvent[]>,
  pace: Pace,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const page of pages) {
    signal.throwIfAborted()
    yield page
    pace.at(page.at(-1)?.position ?? null, page.length)
  }
}

function shareOf(position: Position | null, end: Position): number {
  if (position === null || end.commit <= 0n) return 0
  return Number(position.commit) / Number(end.commit)
}

/** `12,000 events, 48,000 a second, about 3 s left`. @param share of the whole, from 0 to 1 */
function paceText(done: number, share: number, tookMs: number): string {
  const perSecond = Math.round((done * 1_000) / Math.max(1, tookMs))
  const text = `${grouped(done)} events, ${grouped(perSecond)} a second`
  if (share <= 0) return text
  const leftS = Math.ceil((tookMs * (1 / Math.min(1, share) - 1)) / 1_000)
  return `${text}, about ${leftS < 120 ? `${leftS} s` : `${Math.ceil(leftS / 60)} min`} left`
}

function grouped(value: number): string {
  return value.toLocaleString("en-US")
}
