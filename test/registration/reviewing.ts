/** A world in which registrations are sent and answered, for all tests of a file. */
import { afterEach } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { answerAs, sendBusiness, written } from "./registering.ts"

/** A business that is meant. */
export const LIVE = { live: true }
/** What its fee is charged as. */
export const BRAND = "brand_fee_low_volume 4500000"

/** Opens it for the calling test file; after each test the simulator does as it should again. */
export async function reviewing() {
  const world = await ownWorld("time")
  const registryIs = (outcome: string, times?: number) =>
    world.operate("stand-in set", { name: "registration", outcome, times })
  afterEach(() => registryIs("ok"))
  /** A company that has written everything. */
  const company = async (funds = "100"): Promise<Company> => {
    const made = await makeCompany(world, funds)
    await written(world, made)
    return made
  }
  return {
    world,
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
