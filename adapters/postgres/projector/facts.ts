import type { Projection } from "../../../projections/projection.ts"
import { categoryOf } from "../../../domain/kernel/streams.ts"
import type { StoredEvent } from "../../eventstore/port.ts"

/** The events among some that may change the rows of a read model. */
export function factsOf(
  { categories, ignores = [] }: Pick<Projection, "categories" | "ignores">,
  events: readonly StoredEvent[],
): StoredEvent[] {
  return events.filter(
    ({ stream, type }) => categories.includes(categoryOf(stream)) && !ignores.includes(type),
  )
}
