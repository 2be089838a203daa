import type { StoredEvent } from "../../eventstore/port.ts"

/** The events among some that are of these categories of streams. */
export function factsOf(
  categories: readonly string[],
  events: readonly StoredEvent[],
): StoredEvent[] {
  return events.filter(({ stream }) => categories.includes(stream.split("-", 1)[0] as string))
}
