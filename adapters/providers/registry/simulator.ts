/** What the built-in registry is called, and what it can be told to do. */
import type { Simulator } from "../simulators/port.ts"

/** What it can be told to do. */
export const REGISTRATION = {
  name: "registration",
  outcomes: ["approve", "reject", "action-needed"],
} as const satisfies Simulator
