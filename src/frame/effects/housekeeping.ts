/** Deletes expired data and signs the day's tree heads, every ten minutes. */
import type { Ports } from "../ports.ts"

/** How long answers to idempotent requests are stored (docs/decisions/api.md). */
const ANSWER_RETENTION_MS = 30 * 86_400_000
const INTERVAL_MS = 10 * 60_000

/** The running housekeeping of a process. */
export interface Housekeeping {
  /** Runs all tasks now; logs a failure, which the next run retries. */
  readonly run: () => Promise<void>
  /** Stops, and waits for the current run. */
  readonly stop: () => Promise<void>
}

/**
 * Starts housekeeping: runs now and every ten minutes.
 *
 * @param sweeps deletes expired data, per slice
 * @param signHeads signs the tree heads of the day unless they are signed
 */
export function startHousekeeping(
  ports: Ports,
  sweeps: readonly { readonly slice: string; readonly sweep: (ports: Ports) => Promise<void> }[],
  signHeads: (signal: AbortSignal) => Promise<void>,
): Housekeeping {
  // Signing reads all new events, so a stop interrupts it.
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const chores: readonly (readonly [failure: string, chore: () => Promise<unknown>])[] = [
    [
      "expired idempotent answers could not be deleted",
      async () =>
        void (await ports.idempotency.forgetBefore(ports.clock.now() - ANSWER_RETENTION_MS)),
    ],
    ["unfinished blobs could not be deleted", () => ports.blobs.deleteHalfWritten()],
    ["expiring records could not be deleted", () => ports.ttlStore.deleteExpired()],
    ...sweeps.map(
      ({ slice, sweep }) =>
        [`expired data of ${slice} could not be deleted`, () => sweep(ports)] as const,
    ),
    ["the tree heads of the day could not be signed", () => signHeads(stopping.signal)],
  ]
  const runOnce = async (): Promise<void> => {
    for (const [failure, chore] of chores) {
      try {
        await chore()
      } catch (error) {
        if (!stopping.signal.aborted) ports.log.warn(failure, error)
      }
    }
  }
  const run = () => {
    running = running.then(runOnce)
    return running
  }
  const timer = setInterval(() => void run(), INTERVAL_MS)
  timer.unref()
  void run()
  return {
    run,
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}
