/** What the built-in carrier is called, and what it can be told to do. */
import type { Simulator } from "../simulators/port.ts"

/** What it can be told to do. */
export const CARRIER = {
  name: "carrier",
  outcomes: ["reject", "undelivered", "taken"],
} as const satisfies Simulator
