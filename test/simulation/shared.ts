/** What the processes of a run share. */
import type { MemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { Owner } from "./schedule.ts"
import type { Truth } from "./truth.ts"
import type { Wire } from "./wire.ts"

/** What every process of a run shares of the store. */
export interface Shared extends Wire {
  readonly store: MemoryEventStore
  readonly truth: Truth
  /** Who dies before they do anything more. */
  readonly doomed: Set<Owner>
}
