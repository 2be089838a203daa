/** The affiliate programme, as an operator lets companies join it. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../../domain/access/access.ts"
import { randomTag } from "../../frame/kernel/ids.ts"
import { accepted, company, findLivingCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation } from "../../frame/operator/operation.ts"

const TAG_LENGTH = 10

const join = operation({
  name: "affiliate join",
  summary: "let a company earn by those it brings",
  example: "affiliate join --company acme",
  changes: true,
  input: z.object({ company }),
  console: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, input) => {
    const companyId = await findLivingCompany(ports, input.company)
    const stream = accessOf(companyId)
    const command = { type: "JoinAffiliate" as const, tag: randomTag(TAG_LENGTH) }
    const { view } = accepted(await ports.runner.execute(stream, command, cause, companyStanding))
    return { companyId, joined: true, link: `${ports.baseUrl()}/join/${view?.affiliateTag}` }
  },
})

/** Operations on the affiliate programme. */
export const affiliateOperations: readonly AdminOperation[] = [join]
