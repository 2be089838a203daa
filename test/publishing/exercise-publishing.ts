/** A company that published twice: for read models, which have rows of one that is live and one that failed. */
import type { Company, World } from "../support/world.ts"
import { publishOne } from "./route-scenarios.ts"
import { setPublishOutcome } from "./publish-world.ts"

/** Publishes twice; the second fails. */
export async function exercisePublishing(world: World, company: Company): Promise<void> {
  await publishOne(world, company)
  await setPublishOutcome(world, "build-fails", 1)
  await publishOne(world, company)
}
