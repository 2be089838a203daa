/** What is kept for a time only goes when its time is over, by the ledger's clock. */
import type { Ports } from "../ports.ts"

/** Answers to idempotent requests are kept so long (decisions.md §6). */
const ANSWER_RETENTION_MS = 30 * 86_400_000
const INTERVAL_MS = 10 * 60_000

/** Running housekeeping. */
export interface Housekeeping {
  /** Does what is due now; a failure is told to the log and done again next time. */
  readonly run: () => Promise<void>
  /** Stops, and waits for what is being done. */
  readonly stop: () => Promise<void>
}

/**
 * Keeps house now and every ten minutes.
 *
 * @param sweeps what slices let go of, each by its slice
 * @param signHeads signs the heads of the day, unless that was done
 */
export function startHousekeeping(
  ports: Ports,
  sweeps: readonly { readonly slice: string; readonly sweep: (ports: Ports) => Promise<void> }[],
  signHeads: (signal: AbortSignal) => Promise<void>,
): Housekeeping {
  // Signing reads all that is new: a stop does not wait for that.
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const chores: readonly (readonly [failure: string, chore: () => Promise<unknown>])[] = [
    [
      "old answers could not be forgotten",
      async () =>
        void (await ports.idempotency.forgetBefore(ports.clock.now() - ANSWER_RETENTION_MS)),
    ],
    ["blobs that were left half-written could not be swept", () => ports.blobs.deleteHalfWritten()],
    ["what was kept for a time could not be swept", () => ports.ttlStore.deleteExpired()],
    ...sweeps.map(
      ({ slice, sweep }) =>
        [`what ${slice} keeps for a time could not be let go of`, () => sweep(ports)] as const,
    ),
    ["the heads of the day could not be signed", () => signHeads(stopping.signal)],
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
