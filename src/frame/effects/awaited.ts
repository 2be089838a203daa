/**
 * A call that waits for what its intent comes to. It inserts the row of the intent itself, leased to its
 * own process, and does that work; whoever finds the row there already waits for facts. So there is one
 * row and one way of doing it, whether somebody waits or not, and a crash is carried on by whoever takes
 * the row.
 */
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { Caller } from "../routes/declare/route.ts"
import type { Ports } from "../ports.ts"
import type { Awaits, Named, Outcome } from "./charged-spec.ts"

/** How long a call waits where its spec says nothing: a provider's ten seconds, and what stands around it. */
const WITHIN_MS = 15_000
/** Facts of another process are looked for so often. */
const LOOK_EVERY_MS = 50

/**
 * Does the work of an intent, or waits for who does. Where nobody knows in time what came of it, or before
 * this process stops, what is known by then; null where that is no answer.
 */
export async function awaitOutcome<D, R, P extends string>(
  awaits: Awaits<D, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  named: Named<P>,
  stopping: AbortSignal,
): Promise<Outcome<R> | null> {
  const known = await inTimeOutcome(awaits, ports, caller, draft, named, stopping)
  return known ?? (await awaits.soFar?.(ports, caller, draft, named)) ?? null
}

async function inTimeOutcome<D, R, P extends string>(
  { work, outcome, withinMs = WITHIN_MS }: Awaits<D, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  named: Named<P>,
  stopping: AbortSignal,
): Promise<Outcome<R> | null> {
  const { pacer } = ports
  const look = () => outcome(ports, caller, draft, named)
  const until = pacer.elapsedMs() + withinMs
  const known = await look()
  if (known !== null || stopping.aborted) return known
  const doing = ports.doNow(work(ports, caller, draft, named), stopping)
  const isOwn = await orLate(pacer, doing, withinMs)
  for (;;) {
    const found = await look()
    // What this process did, and put off, is not known any sooner by looking again.
    if (found !== null || isOwn || stopping.aborted || pacer.elapsedMs() >= until) return found
    await pacer.pause(LOOK_EVERY_MS, stopping)
  }
}

/** What is being done, or false once it has taken too long: it goes on without who waits for it. */
async function orLate(pacer: Pacer, doing: Promise<boolean>, withinMs: number): Promise<boolean> {
  const done = new AbortController()
  const late = pacer.pause(withinMs, done.signal).then(() => false)
  return Promise.race([doing, late]).finally(() => done.abort())
}
