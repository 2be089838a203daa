/** What became of a row of work that an operator wanted tried at once. */
import type { AdminPorts } from "./operation.ts"

/** An operator is kept so long for the try's outcome; what takes longer is shown by `work list`. */
const KNOWN_WITHIN_MS = 3_000
const LOOK_MS = 25

/** A row after its try. */
export interface Tried {
  /**
   * `done`; `put_off` until `dueAt`; `failed`, so that it is tried again by itself; `parked`, with the
   * reason; `running` or `due` where it takes longer than somebody should wait for it.
   */
  readonly state: "done" | "put_off" | "failed" | "parked" | "running" | "due"
  /** By the ledger's clock, ISO 8601; null where the row is gone. */
  readonly dueAt: string | null
  readonly parked: string | null
}

/** Looks at a row that was made due until it was tried, for three seconds at most. */
export async function lookAfterTry(
  { work, clock, pacer }: Pick<AdminPorts, "work" | "clock" | "pacer">,
  workId: number,
  signal: AbortSignal,
): Promise<Tried> {
  const until = pacer.elapsedMs() + KNOWN_WITHIN_MS
  for (;;) {
    const row = await work.find(workId)
    if (row === null) return { state: "done", dueAt: null, parked: null }
    const { dueAt, parked, tries, running } = row
    const found = (state: Tried["state"]): Tried => ({ state, dueAt, parked })
    if (parked !== null) return found("parked")
    if (!running && Date.parse(dueAt) > clock.now()) return found("put_off")
    // Being tried once more counts from none: it was taken, failed and waits out a back-off.
    if (!running && tries > 0) return found("failed")
    if (pacer.elapsedMs() >= until || signal.aborted) return found(running ? "running" : "due")
    await pacer.pause(LOOK_MS, signal)
  }
}
