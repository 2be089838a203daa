/** The companies' repositories, as the facts know them, beside the folders that there are. */
import { z } from "zod"
import { companiesWithCode } from "../../../projections/code/repositories.ts"
import { renderList, showWrites } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

/** Lists them. */
export const listedOperation: AdminOperation = operation({
  name: "repository list",
  summary: "list the companies that have a repository, and whether it is in its folder",
  example: "repository list --missing",
  input: z.object({
    missing: z.boolean().default(false).meta({ description: "only those that are not there" }),
  }),
  run: async ({ ports }, { missing }) => {
    await showWrites(ports)
    const { repositories, codeDir: folder } = ports
    const rows: { readonly companyId: string; readonly isThere: boolean }[] = []
    for (const companyId of await companiesWithCode(ports.readAll)) {
      const isThere = await repositories.has(companyId)
      if (!(missing && isThere)) rows.push({ companyId, isThere })
    }
    return { folder, repositories: rows }
  },
  render: ({ repositories }, page) => renderList(repositories, null, page, "repositories"),
})
