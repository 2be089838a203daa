/** The ledger's time, from the database or from a test's hand. */
import type { Pool } from "pg"
import { openDatabaseClock } from "../../adapters/clock/database.ts"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import type { TestClock } from "../../adapters/clock/test.ts"
import { openTestClock } from "../../adapters/clock/test.ts"
import type { DatabaseWatch } from "../../adapters/postgres/watch.ts"
import type { RegisteredProcess } from "../../adapters/processes/postgres.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import type { Log } from "../frame/ports.ts"
import type { Faulty } from "./faults.ts"

/** What a clock is made of. */
interface ClockParts {
  readonly pool: Pool
  readonly watch: Pick<DatabaseWatch, "quick">
  readonly processes: RegisteredProcess
}

/** A clock, how it is set where it can be, and what to do before it is another one's. */
type Set = Pick<TestClock, "beforeFollowing"> & Pick<AdminPorts, "clock" | "setClock">

/** Opens the ledger's clock. @throws the driver's error where it cannot be measured */
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
  const machine = faulty.machine({ pool: watch.quick, pacer: machinePacer })
  const clock = await openDatabaseClock(machine.pool, machine.pacer, warn)
  const set = { clock, setClock: null, beforeFollowing: () => undefined }
  return { clock: set, stop: clock.stop }
}
