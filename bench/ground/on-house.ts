import type { Opened, Setting } from "../benchmark.ts"
import type { Callers } from "../http/callers.ts"
import { openCallers } from "../http/callers.ts"
import type { House } from "./house.ts"
import { openHouse } from "./house.ts"

/** Opens a benchmark on a house of its own with callers beside it, taken down with it or where opening fails. */
export function onHouse(
  open: (house: House, callers: Callers, setting: Setting) => Promise<Omit<Opened, "close">>,
): (setting: Setting) => Promise<Opened> {
  return async (setting) => {
    const house = await openHouse()
    const callers = openCallers(setting.signal)
    const close = async (): Promise<void> => {
      await callers.close()
      await house.close()
    }
    try {
      return { ...(await open(house, callers, setting)), close }
    } catch (error) {
      await close()
      throw error
    }
  }
}
