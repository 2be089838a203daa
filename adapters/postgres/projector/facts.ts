import type { FactsRead } from "../../../projections/kernel/projection.ts"
import type { StoredEvent } from "../../eventstore/port.ts"

/** The events among some that may change the rows of a read model. */
export function factsOf(
  { categories, ignores = [] }: FactsRead,
  events: readonly StoredEvent[],
): StoredEvent[] {
  return events.filter(
    ({ stream, type }) => reads({ categories }, stream) && !ignores.includes(type),
  )
}

/** Whether a read model reads a stream. */
export function reads({ categories }: Pick<FactsRead, "categories">, stream: string): boolean {
  return categories.includes(stream.split("-", 1)[0] as string)
}
