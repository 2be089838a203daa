import { z } from "zod"
import { listOptIns } from "../../projections/phone/opt-ins.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"

const MAX_OPT_INS = 500

const OptIn = z
  .object({
    id: describedId("the opt-in"),
    phone: z.string().nullable().describe("The person's number; null after erasure"),
    firstName: z.string().nullable().describe("Null if not given, or after erasure"),
    service: z.boolean().describe("Whether they agreed to texts about the service"),
    offers: z.boolean().describe("Whether they agreed to offers"),
    method: z.enum(["web", "phone", "paper", "text"]).describe("How they agreed"),
    sourceUrl: z.string().nullable().describe("The page of the form, or null"),
    createdAt: isoTimeSchema.describe("When they agreed"),
  })
  .meta({ id: "OptIn", description: "A person's consent to be texted" })

/** Lists opt-ins, newest first, up to 500. */
export const optInList = route({
  name: "listOptIns",
  method: "GET",
  url: "/api/v1/phone/optins",
  group: "phone",
  summary: "List opt-ins",
  operation: "phone.overview.read",
  isCounted: true,
  reply: z.object({ optins: z.array(OptIn).describe(`Newest first, up to ${MAX_OPT_INS}`) }),
  readModels: ["opt-ins"],
  handle: async ({ readAs }, { companyId }) => {
    const rows = await readAs(companyId, (db) => listOptIns(db, companyId, MAX_OPT_INS))
    const optins = rows.map(({ opt_in_id: id, phone, service, offers, method, ...row }) => ({
      id,
      phone,
      firstName: row.first_name,
      service,
      offers,
      method,
      sourceUrl: row.source_url,
      createdAt: row.opted_in_at.toISOString(),
    }))
    return { ok: true, body: { optins } }
  },
})
