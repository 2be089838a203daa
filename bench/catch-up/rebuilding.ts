/** Read models that are built anew from what is stored. */
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import type { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { PROGRAM } from "../../src/slices.ts"
import { EVERYBODY } from "../../test/support/read-models.ts"
import { honest } from "../benchmark.ts"
import type { Ground } from "../ground/ground.ts"

/** The read model of charges, as the program keeps it up. */
export const charges = PROGRAM.readModels.find(({ name }) => name === "charges") as Projection

/** What read models are rebuilt with. */
export function portsOf({ store, behind }: Ground): Parameters<typeof startProjector>[0] {
  return {
    pool: behind,
    store,
    comparedStore: store,
    pacer: machinePacer,
    decode: PROGRAM.streams.recorded,
    // What a bill shows of a charge is not sealed for anybody here.
    opener: { open: async (_company, sealed) => sealed },
    warn: (message) => honest(false, message),
    onApplied: () => undefined,
    onHeard: () => undefined,
    onRenewing: () => undefined,
    leases: EVERYBODY,
  }
}
