/** The ledger's time, from the database or from a test's hand. */
import type { Pool } from "pg"
import { openDatabaseClock, machinePacer } from "../../../adapters/machine/clock/clock.ts"
import type { TestClock } from "../../../adapters/machine/clock/test.ts"
import { openTestClock, testClockAhead } from "../../../adapters/machine/clock/test.ts"
import type { DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import type { RegisteredProcess } from "../../../adapters/postgres/leases/postgres.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Faulty } from "../settings/faults.ts"

/** What a clock is made of. */
interface ClockParts {
  readonly pool: Pool
  readonly watch: Pick<DatabaseWatch, "quick">
  readonly processes: RegisteredProcess
}

/** A clock, how it is set where it can be, and what to do before it is another one's. */
type Set = Pick<TestClock, "beforeFollowing"> & Pick<AdminPorts, "clock" | "setClock">

/** What is stored goes by a test clock that is ahead of the machine's. */
export class ClockAhead extends Error {
  override readonly name = "ClockAhead"
}

/** By the machine's clock all that is done would wait for the time of what is stored. @throws ClockAhead */
async function refuseAhead(pool: Pool): Promise<void> {
  const stands = await testClockAhead(pool)
  if (stands === null) return
  const at = new Date(stands).toISOString()
  throw new ClockAhead(
    `The test clock of this installation was moved to ${at}, and all that is stored goes by it: set ` +
      "LEDGER_CLOCK=test, or use another data folder or database. By the machine's clock what is done now would " +
      "wait until then.",
  )
}

/** Opens the ledger's clock. @throws ClockAhead; the driver's error where it cannot be measured */
export async function openClock(
  { clock: kind, log: { warn } }: { readonly clock: "system" | "test"; readonly log: Log },
  { pool, watch, processes }: ClockParts,
  faulty: Faulty,
): Promise<{ readonly clock: Set; readonly stop: () => void }> {
  if (kind === "test") {
    const test = await openTestClock({ pool, pacer: machinePacer, processes, warn })
    const { beforeFollowing, set: setClock } = test
    return { clock: { clock: test, setClock, beforeFollowing }, stop: () => undefined }
  }
  await refuseAhead(pool)
  const machine = faulty.machine({ pool: watch.quick, pacer: machinePacer })
  const clock = await openDatabaseClock(machine.pool, machine.pacer, warn)
  const set = { clock, setClock: null, beforeFollowing: () => undefined }
  return { clock: set, stop: clock.stop }
}
