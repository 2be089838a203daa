/** The instant at which something is decided or looked at: time never goes back within a stream. */
import type { Lane } from "./lane.ts"
import type { Loaded } from "./load.ts"
import type { RunnerPorts } from "./port.ts"

/**
 * The ledger's time for a stream: not before its last fact, and not before what is gathered beside
 * it, for that was counted for its day. Of two processes, and of one whose clock was set back, one may
 * be behind. @throws ClockUnsure
 */
export function timeOf(
  { clock }: Pick<RunnerPorts, "clock">,
  lane: Pick<Lane, "gatheredAt">,
  loaded: Pick<Loaded<unknown>, "at">,
): number {
  return Math.max(clock.now(), loaded.at, lane.gatheredAt)
}
