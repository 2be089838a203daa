/** What of a form is kept, and within which bounds; and the same as it is shown. */
import { createHash } from "node:crypto"
import { HONEYPOT_FIELD, PAGE_TIME_FIELD } from "../frame/routes/declare/public-form.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import {
  isBlank,
  describedId,
  isoTimeSchema,
  sinceTimeSchema,
  idSchema,
} from "../frame/kernel/schema.ts"
import { z } from "zod"
import type { ListedLead } from "../../projections/leads/leads.ts"
import { listLeads } from "../../projections/leads/leads.ts"
import { cursorForTime, cursorSchema, parseNumberCursor } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { leadsStreamOf } from "../../domain/leads/aggregates.ts"
import type { LeadEvent } from "../../domain/leads/lead-events.ts"
import { parseLeadId } from "../../domain/leads/lead-events.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { retryWithBackoff } from "../frame/effects/effect-times.ts"
import { reaction } from "../frame/effects/reaction.ts"

/** The names that every lead has a place for; all others are fields of the form's own. */
const KNOWN_FIELDS = [
  ...(["firstName", "lastName", "email", "phone"] as const),
  ...(["company", "message", "pageUrl"] as const),
]

/** One of these names. */
type KnownField = (typeof KNOWN_FIELDS)[number]

/** The text that stood beside the consents; only its hash is kept. */
const CONSENT_TEXT = "consentText"
/** Names that say something of the form and nothing of the person. Where it leads is the form's own. */
const IGNORED_FIELDS = new Set([
  HONEYPOT_FIELD,
  PAGE_TIME_FIELD,
  "_next",
  "smsConsent",
  "emailConsent",
  "consentText",
])
const AFFIRMATIVE_VALUES = new Set(["true", "on", "1", "yes"])
const UTM = "utm_"
const MAX_FIELDS = 50
const MAX_NAME = 100
const MAX_VALUE = 2_000
const MAX_MESSAGE = 5_000
const MAX_BYTES = 16_000

/** What is kept of a form: names and values in their order. */
type FieldPairs = readonly (readonly [name: string, value: string])[]

/** A lead as it is taken in. */
export interface LeadContent {
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
export function parseLeadContent(
  values: ReadonlyMap<string, string>,
): LeadContent | { readonly refusal: Refusal } {
  const kept = new Map<string, string>()
  for (const [name, value] of values) {
    const [cleanName, cleanValue] = [cleanText(name), cleanText(value)]
    const isEmpty = isBlank(cleanName) || isBlank(cleanValue)
    if (!isEmpty && !IGNORED_FIELDS.has(cleanName) && !kept.has(cleanName))
      kept.set(cleanName, cleanValue)
  }
  const pairs = [...kept]
  const consentText = cleanText(values.get(CONSENT_TEXT) ?? "")
  const tooLarge = sizeFaultOf(pairs) ?? lengthFaultOf([CONSENT_TEXT, consentText])
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
  const isYes = (name: string) =>
    AFFIRMATIVE_VALUES.has(values.get(name)?.trim().toLowerCase() ?? "")
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

function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd").trim()
}

/** What of it is too much; null where it is within all bounds. */
function sizeFaultOf(pairs: FieldPairs): string | null {
  const own = pairs.filter(([name]) => !isKnown(name))
  if (own.length > MAX_FIELDS) return `More than ${MAX_FIELDS} fields are filled in.`
  if (own.some(([name]) => [...name].length > MAX_NAME)) {
    return `The name of a field is longer than ${MAX_NAME} characters.`
  }
  const long = pairs.map(lengthFaultOf).find((fault) => fault !== null)
  if (long !== undefined) return long
  const bytes = pairs.reduce((sum, texts) => sum + Buffer.byteLength(texts.join("")), 0)
  return bytes > MAX_BYTES ? `All that is filled in is longer than ${MAX_BYTES} bytes.` : null
}

function lengthFaultOf([name, value]: FieldPairs[number]): string | null {
  const most = name === "message" || name === CONSENT_TEXT ? MAX_MESSAGE : MAX_VALUE
  if ([...value].length <= most) return null
  // The name of a form's own field is somebody's words.
  return `${isKnown(name) || name === CONSENT_TEXT ? name : "A field"} is longer than ${most} characters.`
}

const isKnown = (name: string): name is KnownField => KNOWN_FIELDS.some((known) => known === name)

/** A lead's texts as they are shown; names that nobody expects are names like others. */
interface LeadTexts {
  readonly known: Readonly<Record<KnownField, string | null>>
  readonly utm: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

/** The texts of a lead. @param content JSON text of `Pairs`; null where the lead was erased */
function parseStoredContent(content: string | null): LeadTexts {
  const pairs = content === null ? [] : (JSON.parse(content) as FieldPairs)
  const values = new Map(pairs)
  const known = Object.fromEntries(KNOWN_FIELDS.map((name) => [name, values.get(name) ?? null]))
  const own = pairs.filter(([name]) => !isKnown(name))
  const isUtm = ([name]: FieldPairs[number]) => name.startsWith(UTM) && name !== UTM
  // Made from entries, `__proto__` is a name of its own.
  return {
    known: known as LeadTexts["known"],
    utm: Object.fromEntries(
      own.filter(isUtm).map(([name, text]) => [name.slice(UTM.length), text]),
    ),
    fields: Object.fromEntries(own.filter((pair) => !isUtm(pair))),
  }
}

// `GET /api/v1/leads`: the oldest 200 leads after `since`. Where there are more, `nextCursor` gives the 200
// behind these.

const MAX_LEADS = 200
/** What a cursor of this list is made for. */
const LIST = "leads"

const nullableText = (what: string) =>
  z.string().nullable().describe(`${what}; null where it was not said, or was erased`)

const Lead = z
  .object({
    id: describedId("the lead"),
    formId: describedId("the form that it came by"),
    formName: z.string().nullable().describe("The form's name; null where it was erased"),
    firstName: nullableText("Their first name"),
    lastName: nullableText("Their last name"),
    email: nullableText("Their email, as they wrote it"),
    phone: nullableText("Their phone number, as they wrote it"),
    company: nullableText("Their company"),
    message: nullableText("What they wrote"),
    pageUrl: nullableText("The page that they wrote it on"),
    smsConsent: z.boolean().describe("Whether they ticked that they may be texted; no opt-in yet"),
    emailConsent: z.boolean().describe("Whether they ticked that they may be mailed"),
    utm: z.record(z.string(), z.string()).describe("The `utm_` fields, by the rest of their names"),
    fields: z.record(z.string(), z.string()).describe("The form's own fields, by their names"),
    createdAt: isoTimeSchema.describe("When it was recorded: what `since` is compared with"),
    collectedAt: isoTimeSchema
      .nullable()
      .describe("When it was collected; null where it was not yet"),
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
  isCounted: false,
  query: z.object({ since: sinceTimeSchema.optional(), cursor: cursorSchema.optional() }),
  reply: z.object({
    leads: z.array(Lead).describe("The oldest first, collected ones too"),
    nextCursor: z
      .string()
      .optional()
      .meta({ description: "The `cursor` of those behind these; absent where there are none" }),
  }),
  readModels: ["leads", "forms"],
  specGap:
    "The specification gives up to 200 alone: `cursor` and `nextCursor` walk forwards from there.",
  handle: async (ports, { companyId }, { query }) => {
    const { since = null, cursor } = query
    const found = cursor === undefined ? null : parseNumberCursor(LIST, companyId, cursor)
    if (found !== null && "refusal" in found) return { ok: false, refusal: found.refusal }
    const place = Math.max(found?.place ?? 0, since?.getTime() ?? 0)
    // One more than is shown says whether there are more.
    const rows = await ports.readAs(companyId, (db) =>
      listLeads(db, companyId, new Date(place), MAX_LEADS + 1),
    )
    const leads = rows.slice(0, MAX_LEADS)
    const last = rows.length > leads.length ? leads.at(-1) : undefined
    const more =
      last === undefined ? {} : { nextCursor: cursorForTime(LIST, companyId, last.created_at) }
    return { ok: true, body: { leads: leads.map(leadReply), ...more } }
  },
})

/** A lead as it is shown. */
export function leadReply(row: ListedLead): z.infer<typeof Lead> {
  const { known, utm, fields } = parseStoredContent(row.content)
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

const MAX_COLLECTED = 500

/** The route. */
export const collectLeads = route({
  name: "collectLeads",
  method: "POST",
  url: "/api/v1/leads",
  group: "leads",
  summary: "Mark website leads as collected",
  example: { body: { collected: ["lead_0123456789abcdef0123456789abcdef"] } },
  operation: "crm.leads.collect",
  isCounted: false,
  body: z.object({
    collected: z
      .array(z.string())
      .max(MAX_COLLECTED)
      .describe("Ids of leads; those of others, and those collected before, change nothing"),
  }),
  reply: z.object({ collected: z.int().describe("How many were not collected before") }),
  specGap: "The specification does not show the verb: POST, because it changes something.",
  handle: async ({ runner }, caller, { body }) => {
    const leadIds = body.collected.flatMap((text) => parseLeadId(text) ?? [])
    const command = { type: "CollectLeads" as const, leadIds }
    const stream = leadsStreamOf(caller.companyId)
    const outcome = await runner.execute(stream, command, causeOf(caller))
    if (!outcome.accepted) throw new Error(`leads were not collected: ${outcome.refusal.code}`)
    const { facts, position } = outcome
    return { ok: true, body: { collected: countCollected(facts) }, position }
  },
})

/** How many leads facts say were collected. */
function countCollected(facts: readonly LeadEvent[]): number {
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
  on: {
    LeadErased: ({ leadId, at }, { companyId }) => [
      { name: leadId, subject: `${companyId} erased leads`, payload: { leadId }, dueAt: at },
    ],
  },
  // The files are rid of what was erased one table after the other.
  concurrency: { process: 1 },
  discard: "owed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    await ports.erasure.destroySubjectKey(companyId, payload.leadId)
    if (!(await ports.projector.waitUntilWritten(await ports.store.head(), READ_MODELS_WAIT_MS))) {
      return retryWithBackoff(work, "the read models are behind or stopped")
    }
    if (await ports.erasure.wipeFiles()) return { result: "done" }
    return retryWithBackoff(
      work,
      "a transaction is older than the erasure: PostgreSQL keeps for it what was there",
    )
  },
})
