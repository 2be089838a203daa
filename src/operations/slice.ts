/** What an operator can do with any program, whatever its slices are. */
import type { Slice } from "../frame/slice.ts"
import { clockOperations } from "./clock.ts"
import { programCommands } from "./program-commands.ts"
import { projectionOperations } from "./projections.ts"
import { simulatorOperations, workOperations } from "./work.ts"

/** The program itself, its time, its work and its read models. */
export const operations: Slice = {
  name: "program",
  operations: [...programCommands, ...clockOperations, ...workOperations, ...projectionOperations],
  operationsOver: simulatorOperations,
  topics: {
    clock: "the ledger's time",
    job: "jobs: work that waits, runs or is stuck",
    projections: "read models",
    simulator: "simulators of outside things",
  },
}
