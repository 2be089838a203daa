/** Read models that are built anew from what is stored. */
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { PROGRAM } from "../../src/slices.ts"
import { ALL_LEASES } from "../../test/support/read-models.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** The read model of charges, as the program keeps it up. */
export const chargesProjection = PROGRAM.readModels.find(
  ({ name }) => name === "charges",
) as Projection

/** What read models are rebuilt with. */
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
    // What a bill shows of a charge is not sealed for anybody here.
    opener: { unseal: async (_company, sealed) => sealed },
    warn: (message) => assertMeasurement(false, message),
    onApplied: () => undefined,
    onEventsRead: () => undefined,
    onRebuildProgress: () => undefined,
    leases: ALL_LEASES,
  }
}
