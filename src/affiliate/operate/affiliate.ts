/** The operation that lets a company join the affiliate program. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../../domain/access/access.ts"
import { randomTag } from "../../frame/kernel/ids.ts"
import { requireAccepted, companyInput, findUnerasedCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation } from "../../frame/operator/operation.ts"

const TAG_LENGTH = 10

const join = operation({
  name: "affiliate join",
  summary: "let a company earn from its referrals",
  example: "affiliate join --company acme",
  changes: true,
  input: z.object({ company: companyInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, input) => {
    const companyId = await findUnerasedCompany(ports, input.company)
    const stream = accessStreamOf(companyId)
    const command = { type: "JoinAffiliateProgram" as const, tag: randomTag(TAG_LENGTH) }
    const { view } = requireAccepted(
      await ports.runner.execute(stream, command, cause, companyProfileOf),
    )
    return { companyId, joined: true, link: `${ports.baseUrl()}/join/${view?.affiliateTag}` }
  },
})

export const affiliateOperations: readonly AdminOperation[] = [join]
