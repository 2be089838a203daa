/** Choosing the default branch of a company's repository. */
import { z } from "zod"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import { codeOf } from "../../../domain/code/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { OWNER_OR_ADMIN } from "../../frame/operator/console-word.ts"
import { accepted, company, findLivingCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { tagOfRef } from "../compare-refs.ts"
import { followDefaultBranch } from "../default-branch.ts"
import { inOneLine } from "../refused-push.ts"
import { used } from "./making.ts"

const BRANCHES = "refs/heads/"
const MOST_NAMED = 20
const CORE = "src/sealed"

/** Changes it. @throws OperatorRefused where there is no such branch, or a push is under way */
export const defaultBranchOperation: AdminOperation = operation({
  name: "repository default-branch",
  summary: "change the default branch of a company's repository",
  notes: [
    "Clones check it out, boxes on a new branch begin there, uploads and zip exports use it. No push deletes or forces it.",
  ],
  example: "repository default-branch trunk --company acme",
  changes: true,
  input: z.object({
    branch: z.string().meta({ description: "the branch's name", argument: "BRANCH" }),
    company,
  }),
  console: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { branch, company: named }) => {
    const companyId = await findLivingCompany(ports, named)
    return used(ports, companyId, async () => {
      const tip = await tipOf(ports, companyId, branch)
      const ref = `${BRANCHES}${branch}`
      const command = {
        type: "ChangeDefaultBranch" as const,
        ref: await ports.sealing.seal(companyId, COMPANY_SUBJECT, ref),
        refHash: await tagOfRef(ports, companyId, ref),
        tree: await coreTreeAt(ports, companyId, tip),
      }
      accepted(await ports.runner.execute(codeOf(companyId), command, cause))
      await followDefaultBranch(ports, companyId)
      return { companyId, branch }
    })
  },
})

/** The commit of a branch. @throws OperatorRefused */
async function tipOf(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  branch: string,
): Promise<string> {
  const tips = await repositories.tips(companyId)
  const found = tips.find(({ ref }) => ref === `${BRANCHES}${branch}`)
  if (found !== undefined) return found.id
  const names = tips
    .filter(({ ref }) => ref.startsWith(BRANCHES))
    .map(({ ref }) => inOneLine(ref.slice(BRANCHES.length)))
  const shown = names.slice(0, MOST_NAMED).join(", ")
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : ""
  const hint = names.length === 0 ? "Push one first." : `Branches: ${shown}${more}.`
  throw new OperatorRefused("no_branch", `${companyId} has no branch of that name. ${hint}`)
}

/** The tree of the protected core at a commit; null where it has none. */
async function coreTreeAt(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  commit: string,
): Promise<string | null> {
  const found = await repositories.readFile(companyId, commit, CORE, 0)
  return found?.mode === "40000" ? found.id : null
}
