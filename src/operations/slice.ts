/** What an operator can do with any program, whatever its slices are. */
import type { Slice } from "../frame/slice.ts"
import { clockOperations } from "./clock.ts"
import { programCommands } from "./program-commands.ts"
import { projectionOperations } from "./projections.ts"
import { simulatorOperations } from "./simulators.ts"
import { workOperations } from "./work.ts"

/** The program itself, its time, its work and its read models. */
export const operations: Slice = {
  name: "program",
  operations: [...programCommands, ...clockOperations, ...workOperations, ...projectionOperations],
  operationsOver: simulatorOperations,
  topics: {
    clock: "the ledger's time",
    work: "the queue of work",
    projections: "read models",
    "stand-in": "built-in stand-ins for outside things",
  },
}
