/** A company with a live and a failed publish, for read models. */
import type { Company, World } from "../support/world.ts"
import { publishOne } from "./route-scenarios.ts"
import { setPublishOutcome } from "./publish-world.ts"

/** Publishes twice; the second publish fails. */
export async function exercisePublishing(world: World, company: Company): Promise<void> {
  await publishOne(world, company)
  await setPublishOutcome(world, "build-fails", 1)
  await publishOne(world, company)
}
