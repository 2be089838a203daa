import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { Business, isSoleProprietorship } from "./business.ts"
import { registrationRefusal } from "./registration-refusals.ts"
import { readSavedRegistration } from "./saved-registration.ts"

export const saveBusiness = route({
  name: "saveBusiness",
  method: "PUT",
  url: "/api/v1/phone/business",
  group: "phone",
  summary: "Save the business details that carriers review",
  example: {
    body: {
      legalName: "Acme Bakery LLC",
      brandName: "Acme Bakery",
      entityType: "llc",
      ein: "123456789",
      industry: "RETAIL",
      website: "https://acme.example",
      street: "1 Main St",
      city: "Austin",
      region: "TX",
      postalCode: "78701",
      repFirstName: "Ada",
      repLastName: "Lane",
      repEmail: "ada@acme.example",
      repPhone: "+15125550123",
    },
  },
  operation: "phone.registration.prepare",
  isCounted: true,
  body: Business,
  reply: z.object({ ok: z.literal(true).describe("The details were saved") }),
  refusalCodes: ["conflict"],
  refusalMessages: {
    conflict: "The carriers are reviewing this. You can change or send it after they answer.",
  },
  specGap: "The specification does not show the method: PUT, because it replaces all details.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const former = await readSavedRegistration(ports, companyId)
    // Unchanged details need no new review.
    if (isDeepStrictEqual(former.business, body)) return { ok: true, body: { ok: true } }
    const { keyId, personId } = caller.spender
    const business = await ports.sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(body))
    const saved = await ports.runner.execute(
      registrationStreamOf(companyId),
      {
        type: "SaveBusiness",
        business,
        isSoleProprietor: isSoleProprietorship(body),
        keyId,
        personId,
      },
      causeOf(caller),
    )
    return saved.accepted
      ? { ok: true, body: { ok: true }, position: saved.position }
      : { ok: false, refusal: registrationRefusal(saved.refusal) }
  },
})
