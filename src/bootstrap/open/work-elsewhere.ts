/**
 * Telling of work. Rows of work are written by one process; where a machine has several, each does that of the
 * companies at home in it, and is told at once and not at its next look.
 */
import type { Seat } from "../../../adapters/postgres/homes.ts"
import type { Calls, Processes } from "../../../adapters/postgres/leases/port.ts"
import type { Log } from "../../frame/kernel/log.ts"

const WORK = "ledger_work"

/**
 * Begins to hear of it. Answers what tells of work that was written.
 *
 * @param wake looks for work here
 * @throws the driver's error where the database cannot be told
 */
export async function openTelling(
  processes: Calls & Pick<Processes, "own">,
  { seat, log }: { readonly seat?: Seat; readonly log: Log },
  wake: () => void,
): Promise<() => void> {
  if (seat === undefined || seat.of === 1) return wake
  await processes.listen(WORK, (teller) => {
    // Who tells has looked for itself.
    if (teller !== processes.own) wake()
  })
  return () => {
    wake()
    processes.call(WORK, processes.own).catch((error: unknown) => {
      // They look by themselves twice a second.
      log.warn("the other processes could not be told of work", error)
    })
  }
}
