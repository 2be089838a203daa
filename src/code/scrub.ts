/** Cleaning a repository, between the facts that it begins and has ended. */
import type { Scrubbed } from "../../adapters/git/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/**
 * Takes an object (a blob or any other) out and says so; pushes are taken again from then on, also where git has failed.
 *
 * @throws NoRepository, GitUnavailable, GitFailed, and as `Runner.execute` does
 */
export async function endScrub(
  { repositories, runner }: Pick<Ports, "repositories" | "runner">,
  companyId: CompanyId,
  blob: string,
  cause: Cause,
): Promise<Scrubbed> {
  const end = (isGone: boolean) =>
    runner.execute(codeOf(companyId), { type: "EndScrub", blob, isGone }, cause)
  try {
    const found = await repositories.scrub(companyId, blob)
    await end(found.is !== "reached")
    return found
  } catch (error) {
    await end(false)
    throw error
  }
}
