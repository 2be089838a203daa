/** Closes what was opened, in reverse order. */
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"

/** Close functions, in the order their resources were opened. */
export type CloseFunctions = (() => Promise<void> | void)[]

/** Closes all in reverse order, whatever fails. @throws AggregateError of the failures */
export async function closeAll(closers: CloseFunctions): Promise<void> {
  const errors: unknown[] = []
  for (const close of closers.splice(0).toReversed()) {
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "not everything could be closed")
}

/** A closer with the name that is reported if it does not close in time. */
export interface NamedCloser {
  readonly what: string
  readonly close: () => Promise<void> | void
}

/**
 * Closes all in reverse order, within a time. Each may take half of the remaining time, the last
 * one all of it; a slower one continues in the background. Returns the names of the slow ones.
 *
 * @throws AggregateError of the failures
 */
export async function closeInTime(
  closers: NamedCloser[],
  withinMs: number,
): Promise<readonly string[]> {
  const until = machinePacer.elapsedMs() + withinMs
  const left: string[] = []
  const errors: unknown[] = []
  const inTurn = closers.splice(0).toReversed()
  for (const [place, { what, close }] of inTurn.entries()) {
    const closing = (async () => close())().catch((error: unknown) => void errors.push(error))
    const isLast = place === inTurn.length - 1
    const restMs = Math.max(0, until - machinePacer.elapsedMs())
    if (!(await isDoneWithin(closing, isLast ? restMs : restMs / 2))) left.push(what)
  }
  if (errors.length > 0) throw new AggregateError(errors, "not everything could be closed")
  return left
}

async function isDoneWithin(work: Promise<unknown>, mostMs: number): Promise<boolean> {
  const bored = new AbortController()
  const done = work.then(() => true)
  const late = machinePacer.pause(mostMs, bored.signal).then(() => false)
  const isDone = await Promise.race([done, late])
  bored.abort()
  return isDone
}
