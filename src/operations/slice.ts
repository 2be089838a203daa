/** What an operator can do with any program, whatever its slices are. */
import type { Slice } from "../frame/slice.ts"
import { clockOperations } from "./clock.ts"
import { programCommands } from "./program-commands.ts"
import { projectionOperations } from "./projections.ts"
import { simulatorOperations, jobOperations } from "./jobs.ts"

/** The program itself, its time, its work and its read models. */
export const programSlice: Slice = {
  name: "program",
  commands: [...programCommands, ...clockOperations, ...jobOperations, ...projectionOperations],
  deriveCommands: simulatorOperations,
  topics: {
    clock: "the ledger's time",
    job: "jobs: work that waits, runs or is stuck",
    projections: "read models",
    simulator: "simulators of outside things",
  },
}
