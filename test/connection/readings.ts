/** What the routes of an app's connection show. */
import { PLANS } from "../../domain/access/access-events.ts"
import { buy } from "../credits/buying.ts"
import type { Readings } from "../support/readings.ts"
import type { World } from "../support/world.ts"

let releases = 0

async function publish(world: World): Promise<string> {
  releases += 1
  const version = `2.${releases}.0`
  await world.operate("release publish", { version, notes: "Better", channel: "stable" })
  return version
}

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/account": {
    write: async (world, company) => {
      const version = await publish(world)
      const { balance } = (await buy(world, company.key, 5)).body
      const plan = PLANS[releases % PLANS.length]
      await world.operate("company change", { company: company.companyId, plan })
      return [version, Math.round(balance * 1e6), plan]
    },
    shown: (body) => [body.latest, body.balanceMicros, body.plan],
  },
  "GET /api/v1/updates": {
    write: (world) => publish(world),
    shown: (body) => body.updates.at(-1)?.version,
  },
}
