/**
 * Run in a process of its own: runs simulations. They take seconds without a pause, in which an installation in the same
 * process would lose its connections.
 */
import type { SimulationRequest } from "./simulate.ts"
import { simulate } from "./simulate.ts"

process.on("message", (request: SimulationRequest) => process.send?.(simulate(request)))
