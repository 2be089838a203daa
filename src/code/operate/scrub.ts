/** Taking something out of a company's repository for good. */
import { z } from "zod"
import { codeOf } from "../../../domain/code/aggregates.ts"
import { accepted, company, findLivingCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { inOneLine } from "../refused-push.ts"
import { endScrub } from "../scrub.ts"

/** Takes an object out. @throws OperatorRefused where a ref reaches it, or it is not there */
export const scrubOperation: AdminOperation = operation({
  name: "repository scrub",
  summary: "take a file's content, or a commit, out of a company's repository for good",
  notes: [
    "For a secret that came in: git hands out whatever was pushed once, to whoever knows its id, also when no branch has it. First take it out of all branches and tags (rewrite the commits, push with --force; delete old branches).",
    "All else that no branch or tag reaches goes too. Nobody can push meanwhile. Backups of before have it still.",
    "git rev-parse COMMIT:PATH says the id of a file's content. For what stands in a commit's message or a tag's, give the id of that commit or tag.",
  ],
  example:
    'repository scrub 0f3c5a1e9b7d24680f3c5a1e9b7d24680f3c5a1e --company acme --reason "a password"',
  changes: true,
  needsReason: true,
  isPatient: true,
  irreversible: { field: "blob", says: "the content is taken out of the repository, for ever" },
  input: z.object({
    blob: z
      .string()
      .regex(/^[0-9a-f]{40}$/, "must be the id of a file's content or of a commit, 40 hex digits")
      .meta({ description: "the id of the content, commit, folder or tag", argument: "BLOB" }),
    company,
  }),
  console: { roles: ["owner"] },
  run: async ({ ports, cause }, { blob, company: named }) => {
    const companyId = await findLivingCompany(ports, named)
    accepted(await ports.runner.execute(codeOf(companyId), { type: "BeginScrub", blob }, cause))
    const found = await endScrub(ports, companyId, blob, cause)
    if (found.is === "reached") {
      const at = inOneLine(found.path)
      const message = `A branch or tag has it still, or its history does${at === "" ? "" : `, at ${at}`}: rewrite that first.`
      throw new OperatorRefused("still_reached", message)
    }
    if (found.is === "missing") {
      throw new OperatorRefused("not_found", `The repository has nothing of the id ${blob}.`)
    }
    return { companyId, blob, gone: true }
  },
})
