/** The slice of operations that every program has, whatever its other slices are. */
import type { Slice } from "../frame/slice.ts"
import { clockOperations } from "./clock.ts"
import { programCommands } from "./program-commands.ts"
import { projectionOperations } from "./projections.ts"
import { simulatorOperations, jobOperations } from "./jobs.ts"

/** Operations on the program, its clock, its jobs and its read models. */
export const programSlice: Slice = {
  name: "program",
  commands: [...programCommands, ...clockOperations, ...jobOperations, ...projectionOperations],
  deriveCommands: simulatorOperations,
  topics: {
    clock: "the ledger's time",
    job: "jobs: work that waits, runs or is stuck",
    projections: "read models",
    simulator: "simulators of providers",
  },
}
