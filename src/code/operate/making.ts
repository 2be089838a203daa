/** Making a company's repository, and what an operator is told where there is none. */
import { GitUnavailable, NoRepository } from "../../../adapters/git/port.ts"
import { codeOf } from "../../../domain/code/aggregates.ts"
import { hasRepository } from "../../../domain/code/code-views.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { accepted } from "../../frame/operator/inputs.ts"
import type { AdminContext } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { compareRefs } from "../compare-refs.ts"

/**
 * Makes the repository and says so; one that is there stays.
 *
 * @param isMeant whether an empty one may stand in for one that the facts know and that is lost
 * @throws OperatorRefused
 */
export async function make(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  isMeant = false,
): Promise<void> {
  const { repositories, runner } = ports
  const stream = codeOf(companyId)
  await used(ports, companyId, async () => {
    const isLost =
      (await runner.readLatest(stream, hasRepository)) && !(await repositories.has(companyId))
    if (isLost && !isMeant) throw lost(companyId, ports.codeDir)
    // The folder first: a fact without it would be a repository that nobody can use.
    await repositories.create(companyId)
    // What was in it is gone, and so are its refs.
    if (isLost) await compareRefs(ports, { companyId, cause }, null)
  })
  accepted(await runner.execute(stream, { type: "CreateRepository" }, cause))
}

function lost(companyId: CompanyId, codeDir: string): OperatorRefused {
  const message =
    `The facts know a repository of ${companyId}, and ${codeDir} has none. See that CODE_DIR is the folder and ` +
    "mounted. If it is lost, restore a backup; or make an empty one (repository create --anew), and take its code " +
    "in again (repository import)."
  return new OperatorRefused("repository_lost", message)
}

/** Does what needs a repository. @throws OperatorRefused where git, or the repository, is not there */
export async function used<T>(
  { runner, codeDir }: Pick<Ports, "codeDir" | "runner">,
  companyId: CompanyId,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NoRepository) {
      const isKnown = await runner.readLatest(codeOf(companyId), hasRepository)
      if (isKnown) throw lost(companyId, codeDir)
      throw new OperatorRefused("no_repository", `${companyId} has no repository: make it first.`)
    }
    if (error instanceof GitUnavailable) throw new OperatorRefused("unavailable", error.message)
    throw error
  }
}
