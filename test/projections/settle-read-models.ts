import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { World } from "../support/world.ts"

/** Waits until everything stored is projected; retries if it finds a broken connection. */
export async function untilReadModelsSettle(world: World): Promise<void> {
  for (;;) {
    try {
      await world.operate("wait")
      return
    } catch (error) {
      if (!isConnectionFault(error)) throw error
    }
  }
}
