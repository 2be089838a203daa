/** Comparing what two stores hold. */
import { revisionText } from "../../adapters/eventstore/port.ts"
import type { MovedEvent } from "./left-out.ts"

/** Two stores do not hold the same. The message names the place. */
export class NotTheSame extends Error {
  override readonly name = "NotTheSame"
}

/** Sees that two events are one and the same, byte for byte. @throws NotTheSame */
export function checkSame(source: MovedEvent, target: MovedEvent): void {
  const fields = ["stream", "revision", "id", "type", "data", "metadata"] as const
  const differing = fields.find((field) => source[field] !== target[field])
  if (differing === undefined) return
  const place = placeOf(source)
  const there = placeOf(target)
  throw new NotTheSame(
    place === there
      ? `${place} has another ${differing} there`
      : `where ${place} should stand is ${there}`,
  )
}

/** The place of an event in its stream, for messages. */
export function placeOf({ stream, revision }: MovedEvent): string {
  return `${stream} revision ${revisionText(revision)}`
}

/** Events one by one, from pages of them. */
export async function* eachOf<E>(pages: AsyncIterable<readonly E[]>): AsyncGenerator<E> {
  for await (const page of pages) yield* page
}

/**
 * Sees that two stores hold the same events in the same global order, and so the same streams with the
 * same heads. Answers how many.
 *
 * @throws NotTheSame, and what reading throws
 */
export async function compareAll(
  source: AsyncIterable<readonly MovedEvent[]>,
  target: AsyncIterable<readonly MovedEvent[]>,
  onEvent: (events: number) => void,
): Promise<number> {
  const there = eachOf(target)
  let events = 0
  try {
    for await (const event of eachOf(source)) {
      const next = await there.next()
      if (next.done === true) {
        throw new NotTheSame(`${placeOf(event)} is missing there`)
      }
      checkSame(event, next.value)
      events += 1
      onEvent(events)
    }
    const next = await there.next()
    if (next.done !== true) {
      throw new NotTheSame(`${placeOf(next.value)} is there and was never copied`)
    }
    return events
  } finally {
    await there.return(undefined)
  }
}
