/**
 * Run in a process of its own: simulates what it is told. It takes seconds without a pause, in which an
 * installation of the same process would lose its connections.
 */
import type { SimulationRequest } from "./simulate.ts"
import { simulate } from "./simulate.ts"

process.on("message", (told: SimulationRequest) => process.send?.(simulate(told)))
