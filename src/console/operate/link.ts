/** Creates links that sign a person in to the console. */
import { z } from "zod"
import { findCompanyOfPerson } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

/** The operation `console link`. */
export const consoleLink: AdminOperation = operation({
  name: "console link",
  summary: "make a link that signs a person in to the console, once",
  notes: [
    "It works for ten minutes and signs in anyone who opens it. Send it only to that person.",
  ],
  example: "console link --person per_4Zb0x7",
  changes: true,
  input: z.object({ person: z.string().meta({ description: "the person, by id" }) }),
  run: async ({ ports }, { person }) => {
    const { companyId, personId } = await findCompanyOfPerson(ports, person)
    const token = await ports.consoleSignIn.createLink(companyId, personId)
    return { companyId, personId, url: `${ports.baseUrl()}/console/link/${token}` }
  },
})
