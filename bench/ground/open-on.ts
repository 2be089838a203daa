import type { Opened, Setting } from "../benchmark.ts"
import type { Ground } from "./ground.ts"
import { openGround } from "./ground.ts"

/** Opens a benchmark on a ground of its own, which is taken down with it or where opening fails. */
export function onGround(
  open: (ground: Ground, setting: Setting) => Promise<Omit<Opened, "close">>,
): (setting: Setting) => Promise<Opened> {
  return async (setting) => {
    const ground = await openGround(setting)
    try {
      return { ...(await open(ground, setting)), close: ground.close }
    } catch (error) {
      await ground.close()
      throw error
    }
  }
}
