/** A world in which registrations are sent and answered, for all tests of a file. */
import { afterAll, afterEach, beforeAll } from "vitest"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { answerAs, sendBusiness, written } from "./registering.ts"

/** A business that is meant. */
export const LIVE = { live: true }
/** What its fee is charged as. */
export const BRAND = "brand_fee_low_volume 4500000"

/** Opens it before the tests, and closes it behind them; after each the stand-in does as it should again. */
export function reviewing() {
  let world: World
  const registryIs = (outcome: string, times?: number) =>
    world.operate("stand-in set", { name: "registration", outcome, times })
  beforeAll(async () => {
    world = await openWorld("time", { clock: "test" })
  })
  afterEach(() => registryIs("ok"))
  afterAll(() => world.close())
  /** A company that has written everything. */
  const company = async (funds = "100"): Promise<Company> => {
    const made = await makeCompany(world, funds)
    await written(world, made)
    return made
  }
  return {
    get world() {
      return world
    },
    registryIs,
    advance: async (duration: string) => {
      await world.operate("clock advance", { duration })
      await world.operate("wait")
    },
    company,
    /** A company whose registration is meant, and whose business is approved. */
    approvedBusiness: async (): Promise<Company> => {
      const made = await company()
      await sendBusiness(world, made, LIVE)
      await answerAs(world, made, "business")
      return made
    },
  }
}
