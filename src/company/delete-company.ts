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
    .describe("The company's exact name, to confirm the deletion"),
})

const Deleted = z.object({
  deleteDataAfter: isoTimeSchema.describe("When its data is erased; until then it can be undone"),
  keysSwitchedOff: z.int().describe("How many working keys were switched off"),
})

export const deleteCompanyRoute = route({
  name: "deleteCompany",
  method: "POST",
  url: "/api/v1/company/delete",
  group: "company",
  summary: "Delete the company: its keys stop immediately, its data is erased after 14 days",
  // The example's name matches no company, so sending it deletes nothing.
  example: { body: { confirm: "Acme" }, omittedInTests: "confirm" },
  operation: "account.company.delete",
  roles: ["owner"],
  roleRefusalCode: "not_allowed",
  // The app key never deletes the company, whatever person is signed in.
  isPersonKeyOnly: true,
  isCounted: false,
  body: DeleteCompany,
  reply: Deleted,
  refusalCodes: ["not_allowed"],
  specGap: "The specification does not show the method: POST, because it changes something.",
  handle: async (ports, caller, { body }) => {
    if (body.confirm !== (await companyName(ports, caller))) {
      return rejected("This is not the company's name. Nothing was deleted.")
    }
    const deleted = await deleteCompany(ports, caller.companyId, causeOf(caller))
    const { erasedFrom, keysSwitchedOff, position } = deleted
    // From here on every process refuses the company's keys.
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
  const profile = await runner.read(accessStreamOf(companyId), companyProfileOf)
  return profile === null ? null : sealing.unseal(companyId, profile.name)
}
