/** What the audit looks at. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { Callers } from "./callers.ts"
import type { World } from "./world.ts"

/** A run that is over. */
export interface AuditedRun {
  readonly world: World
  readonly callers: Callers
  /** Everything that is stored, in global order. */
  readonly events: readonly StoredEvent[]
}
