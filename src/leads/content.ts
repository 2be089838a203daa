/** What of a form is kept, and within which bounds; and the same as it is shown. */
import { createHash } from "node:crypto"
import { HONEYPOT, PAGE_TIME } from "../frame/routes/declare/form-sender.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { isBlank, idOf, isoTime, sinceTime, idSchema } from "../frame/kernel/schema.ts"
import { z } from "zod"
import type { ListedLead } from "../../projections/leads/leads.ts"
import { listLeads } from "../../projections/leads/leads.ts"
import { cursorAt, cursorText, numberOfCursor } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { leadsOf } from "../../domain/leads/aggregates.ts"
import type { LeadEvent } from "../../domain/leads/lead-events.ts"
import { parseLeadId } from "../../domain/leads/lead-events.ts"
import { causeOf } from "../frame/routes/call.ts"
import { retryLater } from "../frame/effects/ask-again.ts"
import { reaction } from "../frame/effects/reaction.ts"

/** The names that every lead has a place for; all others are fields of the form's own. */
const KNOWN = [
  ...(["firstName", "lastName", "email", "phone"] as const),
  ...(["company", "message", "pageUrl"] as const),
]

/** One of these names. */
type Known = (typeof KNOWN)[number]

/** The text that stood beside the consents; only its hash is kept. */
const CONSENT_TEXT = "consentText"
/** Names that say something of the form and nothing of the person. Where it leads is the form's own. */
const NOT_KEPT = new Set([
  HONEYPOT,
  PAGE_TIME,
  "_next",
  "smsConsent",
  "emailConsent",
  "consentText",
])
const YES = new Set(["true", "on", "1", "yes"])
const UTM = "utm_"
const MOST_FIELDS = 50
const MOST_NAME = 100
const MOST_VALUE = 2_000
const MOST_MESSAGE = 5_000
const MOST_BYTES = 16_000

/** What is kept of a form: names and values in their order. */
type Pairs = readonly (readonly [name: string, value: string])[]

/** A lead as it is taken in. */
export interface Content {
  /** JSON text of `Pairs`. */
  readonly text: string
  readonly smsConsent: boolean
  readonly emailConsent: boolean
  readonly consentTextHash: string | null
}

/**
 * What is kept of the values of a form: texts without what no text can hold (NUL, half characters become
 * U+FFFD) and without white space around them. A refusal (413, 400) names no value, and only known names.
 */
export function contentOf(
  values: ReadonlyMap<string, string>,
): Content | { readonly refusal: Refusal } {
  const kept = new Map<string, string>()
  for (const [name, value] of values) {
    const [cleanName, cleanValue] = [clean(name), clean(value)]
    const isEmpty = isBlank(cleanName) || isBlank(cleanValue)
    if (!isEmpty && !NOT_KEPT.has(cleanName) && !kept.has(cleanName))
      kept.set(cleanName, cleanValue)
  }
  const pairs = [...kept]
  const consentText = clean(values.get(CONSENT_TEXT) ?? "")
  const tooLarge = faultOf(pairs) ?? lengthFault([CONSENT_TEXT, consentText])
  if (tooLarge !== null) return { refusal: refusal("too_large", tooLarge) }
  if (!kept.has("email") && !kept.has("phone")) {
    const why = "Give an email or a phone number, so that somebody can answer."
    const fields = { email: why, phone: why }
    return { refusal: refusal("validation", why, { fields }) }
  }
  const email = kept.get("email")
  if (email !== undefined && !EMAIL.test(email)) {
    const why = "Give an email address such as ada@example.com."
    return { refusal: refusal("validation", why, { fields: { email: why } }) }
  }
  const isYes = (name: string) => YES.has(values.get(name)?.trim().toLowerCase() ?? "")
  return {
    text: JSON.stringify(pairs),
    smsConsent: isYes("smsConsent"),
    emailConsent: isYes("emailConsent"),
    consentTextHash:
      consentText === "" ? null : createHash("sha256").update(consentText).digest("hex"),
  }
}

/** An address with a dot in its domain. People have letters of all scripts in it, so no narrower form is asked for. */
const EMAIL = /^[^\s@"<>]{1,64}@[^\s@"<>.]+(?:\.[^\s@"<>.]+)+$/u

function clean(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd").trim()
}

/** What of it is too much; null where it is within all bounds. */
function faultOf(pairs: Pairs): string | null {
  const own = pairs.filter(([name]) => !isKnown(name))
  if (own.length > MOST_FIELDS) return `More than ${MOST_FIELDS} fields are filled in.`
  if (own.some(([name]) => [...name].length > MOST_NAME)) {
    return `The name of a field is longer than ${MOST_NAME} characters.`
  }
  const long = pairs.map(lengthFault).find((fault) => fault !== null)
  if (long !== undefined) return long
  const bytes = pairs.reduce((sum, texts) => sum + Buffer.byteLength(texts.join("")), 0)
  return bytes > MOST_BYTES ? `All that is filled in is longer than ${MOST_BYTES} bytes.` : null
}

function lengthFault([name, value]: Pairs[number]): string | null {
  const most = name === "message" || name === CONSENT_TEXT ? MOST_MESSAGE : MOST_VALUE
  if ([...value].length <= most) return null
  // The name of a form's own field is somebody's words.
  return `${isKnown(name) || name === CONSENT_TEXT ? name : "A field"} is longer than ${most} characters.`
}

const isKnown = (name: string): name is Known => KNOWN.some((known) => known === name)

/** A lead's texts as they are shown; names that nobody expects are names like others. */
interface Shown {
  readonly known: Readonly<Record<Known, string | null>>
  readonly utm: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

/** The texts of a lead. @param content JSON text of `Pairs`; null where the lead was erased */
function shownContent(content: string | null): Shown {
  const pairs = content === null ? [] : (JSON.parse(content) as Pairs)
  const values = new Map(pairs)
  const known = Object.fromEntries(KNOWN.map((name) => [name, values.get(name) ?? null]))
  const own = pairs.filter(([name]) => !isKnown(name))
  const isUtm = ([name]: Pairs[number]) => name.startsWith(UTM) && name !== UTM
  // Made from entries, `__proto__` is a name of its own.
  return {
    known: known as Shown["known"],
    utm: Object.fromEntries(
      own.filter(isUtm).map(([name, text]) => [name.slice(UTM.length), text]),
    ),
    fields: Object.fromEntries(own.filter((pair) => !isUtm(pair))),
  }
}

// `GET /api/v1/leads`: the oldest 200 leads after `since`. Where there are more, `nextCursor` gives the 200
// behind these.

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

const MOST_COLLECTED = 500

/** The route. */
export const collectLeads = route({
  name: "collectLeads",
  method: "POST",
  url: "/api/v1/leads",
  group: "leads",
  summary: "Mark website leads as collected",
  example: { body: { collected: ["lead_0123456789abcdef0123456789abcdef"] } },
  operation: "crm.leads.collect",
  counted: false,
  body: z.object({
    collected: z
      .array(z.string())
      .max(MOST_COLLECTED)
      .describe("Ids of leads; those of others, and those collected before, change nothing"),
  }),
  reply: z.object({ collected: z.int().describe("How many were not collected before") }),
  specGap: "The specification does not show the verb: POST, because it changes something.",
  handle: async ({ runner }, caller, { body }) => {
    const leadIds = body.collected.flatMap((text) => parseLeadId(text) ?? [])
    const command = { type: "CollectLeads" as const, leadIds }
    const stream = leadsOf(caller.companyId)
    const outcome = await runner.execute(stream, command, causeOf(caller))
    if (!outcome.accepted) throw new Error(`leads were not collected: ${outcome.refusal.code}`)
    const { facts, position } = outcome
    return { ok: true, body: { collected: countIn(facts) }, position }
  },
})

/** How many leads facts say were collected. */
function countIn(facts: readonly LeadEvent[]): number {
  return facts.reduce(
    (sum, fact) => sum + (fact.type === "LeadsCollected" ? fact.leadIds.length : 0),
    0,
  )
}

// Erases what somebody wrote, behind the fact that says so. Each step may be done again, so a crash at any
// place is made up for by doing all of it once more: the lead's key is destroyed, and then nothing that
// was sealed for it can be read; the read models have taken out what they showed; the database's files
// are rid of it.

const READ_MODELS_WAIT_MS = 5_000

/** The reaction. */
export const eraseLead = reaction({
  kind: "erase-lead",
  payload: z.object({ leadId: idSchema(parseLeadId) }),
  from: {
    LeadErased: ({ leadId, at }, { companyId }) => [
      { name: leadId, subject: `${companyId} erased leads`, payload: { leadId }, dueAt: at },
    ],
  },
  // The files are rid of what was erased one table after the other.
  atOnce: { process: 1 },
  giveUp: "owed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    await ports.erasure.destroySubject(companyId, payload.leadId)
    if (!(await ports.projector.waitFor(await ports.store.head(), READ_MODELS_WAIT_MS))) {
      return retryLater(work, "the read models are behind or stopped")
    }
    if (await ports.erasure.wipeFiles()) return { result: "done" }
    return retryLater(
      work,
      "a transaction is older than the erasure: PostgreSQL keeps for it what was there",
    )
  },
})
