/** `POST /api/v1/company/delete`: an owner deletes the company; its data is erased after 14 days. */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { deleteCompany } from "./reactions/company-deletion.ts"
import { companyProfileOf } from "../../domain/access/access.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { isoTimeSchema } from "../frame/kernel/schema.ts"

const DeleteCompany = z.object({
  confirm: z
    .string({ error: "Must be the company's name." })
    .describe("The company's name, exactly: it says that this is meant"),
})

const Deleted = z.object({
  deleteDataAfter: isoTimeSchema.describe("When its data is erased; until then it can be undone"),
  keysSwitchedOff: z.int().describe("How many keys worked until now"),
})

/** The route. */
export const deleteCompanyRoute = route({
  name: "deleteCompany",
  method: "POST",
  url: "/api/v1/company/delete",
  group: "company",
  summary: "Delete the company: its keys stop at once, its data is erased after 14 days",
  // Whoever sends the example deletes nothing.
  example: { body: { confirm: "Acme" }, omittedInTests: "confirm" },
  operation: "account.company.delete",
  roles: ["owner"],
  roleRefusalCode: "not_allowed",
  // An app's shared key never deletes the company, whoever is signed in through it.
  isPersonKeyOnly: true,
  isCounted: false,
  body: DeleteCompany,
  reply: Deleted,
  refusalCodes: ["not_allowed"],
  specGap: "The specification does not show the verb: POST, because it does something.",
  handle: async (ports, caller, { body }) => {
    if (body.confirm !== (await companyName(ports, caller))) {
      return rejected("This is not the company's name: nothing was deleted.")
    }
    const deleted = await deleteCompany(ports, caller.companyId, causeOf(caller))
    const { erasedFrom, keysSwitchedOff, position } = deleted
    // Its keys are refused by every process from here on.
    if (position !== null) await ports.waitForOtherProcesses(position)
    const deleteDataAfter = new Date(erasedFrom).toISOString()
    return { ok: true, body: { deleteDataAfter, keysSwitchedOff }, position }
  },
})

function rejected(message: string) {
  return { ok: false, refusal: refusal("not_allowed", message) } as const
}

async function companyName(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  { companyId }: Caller,
): Promise<string | null> {
  const standing = await runner.read(accessStreamOf(companyId), companyProfileOf)
  return standing === null ? null : sealing.unseal(companyId, standing.name)
}
