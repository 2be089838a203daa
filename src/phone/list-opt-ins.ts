/** `GET /api/v1/phone/optins`: who agreed to be texted, on a form of the company's. */
import { z } from "zod"
import { listOptIns } from "../../projections/phone/opt-ins.ts"
import { route } from "../frame/calls/route.ts"
import { isoTime } from "../frame/kernel/schema.ts"

const MOST_OPT_INS = 500

const OptIn = z.object({
  id: z.string(),
  phone: z.string().nullable(),
  firstName: z.string().nullable(),
  service: z.string(),
  offers: z.boolean(),
  method: z.enum(["web", "phone", "paper", "text"]),
  sourceUrl: z.string().nullable(),
  at: isoTime,
})

/** Lists opt-ins, newest first, up to 500. */
export const optInList = route({
  method: "GET",
  url: "/api/v1/phone/optins",
  group: "phone",
  summary: "List opt-ins",
  operation: "phone.overview.read",
  counted: true,
  reply: z.object({ optins: z.array(OptIn) }),
  reads: ["opt-ins"],
  handle: async ({ readAs }, { companyId }) => {
    const rows = await readAs(companyId, (db) => listOptIns(db, companyId, MOST_OPT_INS))
    const optins = rows.map(({ opt_in_id: id, phone, service, offers, method, ...row }) => ({
      ...{ id, phone, firstName: row.first_name, service, offers, method },
      ...{ sourceUrl: row.source_url, at: row.opted_in_at.toISOString() },
    }))
    return { ok: true, body: { optins } }
  },
})
