/** Scenarios of the connection routes. */
import { PLANS } from "../../domain/access/access-events.ts"
import { buyFunds } from "../credits/buy-funds.ts"
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import type { World } from "../support/world.ts"

const START = "/api/v1/connect/start"

/** Answers by route name and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "startConnection 200": async (world, { companyId, ownerId }) => {
    const { body } = await world.call(null, "POST", START, { body: { version: "2.0.0" } })
    const { code } = body
    await world.operate("connect approve", { code, company: companyId, person: ownerId })
    await world.operate("wait")
    return world.call(null, "POST", START, { body: { code } })
  },
}

let releases = 0

async function publish(world: World): Promise<string> {
  releases += 1
  const version = `2.${releases}.0`
  await world.operate("release publish", { version, notes: "Better", channel: "stable" })
  return version
}

/** A change, and how the route shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/account": {
    writeValue: async (world, company) => {
      const version = await publish(world)
      const { balance } = (await buyFunds(world, company.key, 5)).body
      const plan = PLANS[releases % PLANS.length]
      await world.operate("company change", { company: company.companyId, plan })
      return [version, Math.round(balance * 1e6), plan]
    },
    readValue: (body) => [body.latest, body.balanceMicros, body.plan],
  },
  "GET /api/v1/updates": {
    writeValue: (world) => publish(world),
    readValue: (body) => body.updates.at(-1)?.version,
  },
}
