/**
 * Run in a process of its own: simulates what it is told. It takes seconds without a pause, in which an
 * installation of the same process would lose its connections.
 */
import type { ToSimulate } from "./simulated.ts"
import { simulate } from "./simulated.ts"

process.on("message", (told: ToSimulate) => process.send?.(simulate(told)))
