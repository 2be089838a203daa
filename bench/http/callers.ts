/** Callers over HTTP, in a process of their own. */
import { honest } from "../benchmark.ts"
import type { Beside } from "../ground/beside.ts"
import { openBeside } from "../ground/beside.ts"
import type { Answers, Asking } from "./asking.ts"

/** Callers that wait for what they are to ask. */
export type Callers = Beside<Asking, Answers>

/** Starts the callers' process. */
export const openCallers = (signal: AbortSignal): Callers =>
  openBeside(new URL("caller-process.ts", import.meta.url), signal)

/** Makes sure that nothing was answered but with these statuses. @throws Dishonest */
export function onlyStatuses({ statuses }: Answers, allowed: readonly number[]): void {
  const others = Object.entries(statuses).filter(([status]) => !allowed.includes(Number(status)))
  const told = others.map(([status, count]) => `${count} times ${status}`)
  honest(others.length === 0, `calls were answered ${told.join(", ")}`)
}
