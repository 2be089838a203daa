/** Rebuilds the read model of charges. */
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { PROGRAM } from "../../src/slices.ts"
import { ALL_LEASES } from "../../test/support/read-models.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** The program's read model of charges. */
export const chargesProjection = PROGRAM.readModels.find(
  ({ name }) => name === "charges",
) as Projection

/** The ports to rebuild a read model with. */
export function projectorPorts({
  store,
  asyncCommitPool,
}: StoreEnvironment): Parameters<typeof startProjector>[0] {
  return {
    pool: asyncCommitPool,
    store,
    comparisonStore: store,
    pacer: machinePacer,
    decode: PROGRAM.streams.toRecorded,
    // The texts of a bill are not sealed here.
    opener: { unseal: async (_company, sealed) => sealed },
    warn: (message) => assertMeasurement(false, message),
    onApplied: () => undefined,
    onEventsRead: () => undefined,
    onRebuildProgress: () => undefined,
    leases: ALL_LEASES,
  }
}
