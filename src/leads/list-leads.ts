/**
 * `GET /api/v1/leads`: the oldest 200 leads after `since`. Where there are more, `nextCursor` gives the 200
 * behind these.
 */
import { z } from "zod"
import type { ListedLead } from "../../projections/leads/leads.ts"
import { listLeads } from "../../projections/leads/leads.ts"
import { cursorAt, cursorText, numberOfCursor } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { idOf, isoTime, sinceTime } from "../frame/kernel/schema.ts"
import { shownContent } from "./content.ts"

const MOST_LEADS = 200
/** What a cursor of this list is made for. */
const LIST = "leads"

const said = (what: string) =>
  z.string().nullable().describe(`${what}; null where it was not said, or was erased`)

const Lead = z
  .object({
    id: idOf("the lead"),
    formId: idOf("the form that it came by"),
    formName: z.string().nullable().describe("The form's name; null where it was erased"),
    firstName: said("Their first name"),
    lastName: said("Their last name"),
    email: said("Their email, as they wrote it"),
    phone: said("Their phone number, as they wrote it"),
    company: said("Their company"),
    message: said("What they wrote"),
    pageUrl: said("The page that they wrote it on"),
    smsConsent: z.boolean().describe("Whether they ticked that they may be texted; no opt-in yet"),
    emailConsent: z.boolean().describe("Whether they ticked that they may be mailed"),
    utm: z.record(z.string(), z.string()).describe("The `utm_` fields, by the rest of their names"),
    fields: z.record(z.string(), z.string()).describe("The form's own fields, by their names"),
    createdAt: isoTime.describe("When it was recorded: what `since` is compared with"),
    collectedAt: isoTime.nullable().describe("When it was collected; null where it was not yet"),
  })
  .meta({ id: "Lead", description: "Somebody asked to be answered, on a form of the company's" })

/** The route. */
export const leadList = route({
  name: "listLeads",
  method: "GET",
  url: "/api/v1/leads",
  group: "leads",
  summary: "List website leads",
  operation: "crm.leads.read",
  counted: false,
  query: z.object({ since: sinceTime.optional(), cursor: cursorText.optional() }),
  reply: z.object({
    leads: z.array(Lead).describe("The oldest first, collected ones too"),
    nextCursor: z
      .string()
      .optional()
      .meta({ description: "The `cursor` of those behind these; absent where there are none" }),
  }),
  reads: ["leads", "forms"],
  specGap:
    "The specification gives up to 200 alone: `cursor` and `nextCursor` walk forwards from there.",
  handle: async (ports, { companyId }, { query }) => {
    const { since = null, cursor } = query
    const found = cursor === undefined ? null : numberOfCursor(LIST, companyId, cursor)
    if (found !== null && "refusal" in found) return { ok: false, refusal: found.refusal }
    const place = Math.max(found?.place ?? 0, since?.getTime() ?? 0)
    // One more than is shown says whether there are more.
    const rows = await ports.readAs(companyId, (db) =>
      listLeads(db, companyId, new Date(place), MOST_LEADS + 1),
    )
    const leads = rows.slice(0, MOST_LEADS)
    const last = rows.length > leads.length ? leads.at(-1) : undefined
    const more =
      last === undefined ? {} : { nextCursor: cursorAt(LIST, companyId, last.created_at) }
    return { ok: true, body: { leads: leads.map(leadOf), ...more } }
  },
})

/** A lead as it is shown. */
export function leadOf(row: ListedLead): z.infer<typeof Lead> {
  const { known, utm, fields } = shownContent(row.content)
  return {
    id: row.lead_id,
    formId: row.form_id,
    formName: row.form_name,
    ...known,
    smsConsent: row.sms_consent,
    emailConsent: row.email_consent,
    utm,
    fields,
    createdAt: row.created_at.toISOString(),
    collectedAt: row.collected_at?.toISOString() ?? null,
  }
}
