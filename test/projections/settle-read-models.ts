import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { World } from "../support/world.ts"

/** Waits for everything stored; again where a connection that was broken is found only then. */
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
