/** A company's repository as it stands: whether it is there, and its branches and tags. */
import { z } from "zod"
import { codeOf } from "../../../domain/code/aggregates.ts"
import { hasRepository } from "../../../domain/code/code-views.ts"
import { DEFAULT_BRANCH } from "../../../domain/code/ref-rules.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import { company, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"
import { followDefaultBranch } from "../default-branch.ts"
import { inOneLine } from "../refused-push.ts"
import { used } from "./making.ts"

const KINDS = [
  ["branch", "refs/heads/"],
  ["tag", "refs/tags/"],
] as const

/** Shows it. @throws OperatorRefused where git is not there, or the facts know one that its folder has not */
export const shownOperation: AdminOperation = operation({
  name: "repository show",
  summary: "show a company's repository: its branches and tags, and where they point",
  notes: ["Its files and commits are git's to show: clone it."],
  example: "repository show --company acme",
  input: z.object({ company }),
  console: { permission: "Download and pull the code" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    const [, prefix] = KINDS[0]
    const isKnown = await ports.runner.readLatest(codeOf(companyId), hasRepository)
    if (!isKnown) {
      const branch = DEFAULT_BRANCH.slice(prefix.length)
      return { companyId, isThere: false, branch, refs: [] }
    }
    const { head, tips } = await used(ports, companyId, async () => ({
      head: await followDefaultBranch(ports, companyId),
      tips: await ports.repositories.tips(companyId),
    }))
    const refs = KINDS.flatMap(([kind, before]) =>
      tips
        .filter(({ ref }) => ref.startsWith(before))
        .map(({ ref, id }) => ({ kind, name: inOneLine(ref.slice(before.length)), id })),
    )
    const branch = inOneLine(head.ref.slice(prefix.length))
    return { companyId, isThere: true, branch, refs }
  },
  render: ({ companyId, isThere, branch, refs }, page) => {
    const fields = Object.entries({ companyId, isThere, branch })
    return renderFields(fields) + renderTable(refs, page, "branches and tags")
  },
})
