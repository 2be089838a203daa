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

/** The standard fields of a lead; all others are custom fields of the form. */
const KNOWN_FIELDS = [
  ...(["firstName", "lastName", "email", "phone"] as const),
  ...(["company", "message", "pageUrl"] as const),
]

type KnownField = (typeof KNOWN_FIELDS)[number]

/** The text shown next to the consent boxes; only its hash is stored. */
const CONSENT_TEXT = "consentText"
/** Fields about the form and not the person. */
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

type FieldPairs = readonly (readonly [name: string, value: string])[]

/** The content of a lead before it is sealed. */
export interface LeadContent {
  /** JSON text of `FieldPairs`. */
  readonly text: string
  readonly smsConsent: boolean
  readonly emailConsent: boolean
  readonly consentTextHash: string | null
}

/**
 * Parses a form into storable texts, without NUL and lone surrogates; a refusal contains only known field
 * names.
 */
export function parseLeadContent(
  values: ReadonlyMap<string, string>,
): LeadContent | { readonly refusal: Refusal } {
  const cleanFields = new Map<string, string>()
  for (const [name, value] of values) {
    const [cleanName, cleanValue] = [cleanText(name), cleanText(value)]
    const isEmpty = isBlank(cleanName) || isBlank(cleanValue)
    if (!isEmpty && !IGNORED_FIELDS.has(cleanName) && !cleanFields.has(cleanName))
      cleanFields.set(cleanName, cleanValue)
  }
  const pairs = [...cleanFields]
  const consentText = cleanText(values.get(CONSENT_TEXT) ?? "")
  const tooLarge = sizeFaultOf(pairs) ?? lengthFaultOf([CONSENT_TEXT, consentText])
  if (tooLarge !== null) return { refusal: refusal("too_large", tooLarge) }
  if (!cleanFields.has("email") && !cleanFields.has("phone")) {
    const why = "Enter an email address or a phone number, so that we can answer."
    const fields = { email: why, phone: why }
    return { refusal: refusal("validation", why, { fields }) }
  }
  const email = cleanFields.get("email")
  if (email !== undefined && !EMAIL.test(email)) {
    const why = "Enter an email address, for example ada@example.com."
    return { refusal: refusal("validation", why, { fields: { email: why } }) }
  }
  const isAffirmative = (name: string) =>
    AFFIRMATIVE_VALUES.has(values.get(name)?.trim().toLowerCase() ?? "")
  return {
    text: JSON.stringify(pairs),
    smsConsent: isAffirmative("smsConsent"),
    emailConsent: isAffirmative("emailConsent"),
    consentTextHash:
      consentText === "" ? null : createHash("sha256").update(consentText).digest("hex"),
  }
}

/** An address with a dot in its domain. Letters of all scripts are valid, so the pattern is wide. */
const EMAIL = /^[^\s@"<>]{1,64}@[^\s@"<>.]+(?:\.[^\s@"<>.]+)+$/u

function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd").trim()
}

/** The first limit that the fields exceed, as a message; null if they exceed none. */
function sizeFaultOf(pairs: FieldPairs): string | null {
  const customPairs = pairs.filter(([name]) => !isKnown(name))
  if (customPairs.length > MAX_FIELDS) return `The form has more than ${MAX_FIELDS} filled fields.`
  if (customPairs.some(([name]) => [...name].length > MAX_NAME)) {
    return `The name of a field is longer than ${MAX_NAME} characters.`
  }
  const long = pairs.map(lengthFaultOf).find((fault) => fault !== null)
  if (long !== undefined) return long
  const bytes = pairs.reduce((sum, texts) => sum + Buffer.byteLength(texts.join("")), 0)
  return bytes > MAX_BYTES
    ? `The form's content is longer than ${MAX_BYTES.toLocaleString("en-US")} bytes.`
    : null
}

function lengthFaultOf([name, value]: FieldPairs[number]): string | null {
  const most = name === "message" || name === CONSENT_TEXT ? MAX_MESSAGE : MAX_VALUE
  if ([...value].length <= most) return null
  // The name of a custom field may be personal text.
  return `${isKnown(name) || name === CONSENT_TEXT ? name : "A field"} is longer than ${most.toLocaleString("en-US")} characters.`
}

const isKnown = (name: string): name is KnownField => KNOWN_FIELDS.some((known) => known === name)

interface LeadTexts {
  readonly known: Readonly<Record<KnownField, string | null>>
  readonly utm: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

/** Parses JSON text of `FieldPairs`; null if the lead was erased. */
function parseStoredContent(content: string | null): LeadTexts {
  const pairs = content === null ? [] : (JSON.parse(content) as FieldPairs)
  const values = new Map(pairs)
  const known = Object.fromEntries(KNOWN_FIELDS.map((name) => [name, values.get(name) ?? null]))
  const customPairs = pairs.filter(([name]) => !isKnown(name))
  const isUtm = ([name]: FieldPairs[number]) => name.startsWith(UTM) && name !== UTM
  // `Object.fromEntries` makes `__proto__` an own property.
  return {
    known: known as LeadTexts["known"],
    utm: Object.fromEntries(
      customPairs.filter(isUtm).map(([name, text]) => [name.slice(UTM.length), text]),
    ),
    fields: Object.fromEntries(customPairs.filter((pair) => !isUtm(pair))),
  }
}

const MAX_LEADS = 200
/** Ties a cursor to this list. */
const LIST = "leads"

const nullableText = (what: string) =>
  z.string().nullable().describe(`${what}; null if not given, or after erasure`)

const Lead = z
  .object({
    id: describedId("the lead"),
    formId: describedId("the form"),
    formName: z.string().nullable().describe("The form's name; null after erasure"),
    firstName: nullableText("First name"),
    lastName: nullableText("Last name"),
    email: nullableText("Email address as written"),
    phone: nullableText("Phone number as written"),
    company: nullableText("Company"),
    message: nullableText("Message"),
    pageUrl: nullableText("URL of the page with the form"),
    smsConsent: z
      .boolean()
      .describe("Whether the person consented to texts; this is not an opt-in"),
    emailConsent: z.boolean().describe("Whether the person consented to email"),
    utm: z.record(z.string(), z.string()).describe("The `utm_` fields, by name without the prefix"),
    fields: z.record(z.string(), z.string()).describe("The form's custom fields, by name"),
    createdAt: isoTimeSchema.describe("When it was recorded; `since` compares with it"),
    collectedAt: isoTimeSchema.nullable().describe("When it was collected, or null"),
  })
  .meta({ id: "Lead", description: "A request from a website form of the company" })

/** Lists the oldest 200 leads after `since`; `nextCursor` leads to the 200 after them. */
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
    leads: z.array(Lead).describe("Oldest first, including collected leads"),
    nextCursor: z
      .string()
      .optional()
      .meta({ description: "The `cursor` of the next leads; absent on the last page" }),
  }),
  readModels: ["leads", "forms"],
  specGap:
    "The specification returns only up to 200: `cursor` and `nextCursor` page forward from there.",
  handle: async (ports, { companyId }, { query }) => {
    const { since = null, cursor } = query
    const found = cursor === undefined ? null : parseNumberCursor(LIST, companyId, cursor)
    if (found !== null && "refusal" in found) return { ok: false, refusal: found.refusal }
    const after = Math.max(found?.place ?? 0, since?.getTime() ?? 0)
    // One extra row tells whether more exist.
    const rows = await ports.readAs(companyId, (db) =>
      listLeads(db, companyId, new Date(after), MAX_LEADS + 1),
    )
    const leads = rows.slice(0, MAX_LEADS)
    const last = rows.length > leads.length ? leads.at(-1) : undefined
    const more =
      last === undefined ? {} : { nextCursor: cursorForTime(LIST, companyId, last.created_at) }
    return { ok: true, body: { leads: leads.map(leadReply), ...more } }
  },
})

/** Builds the reply for a lead. */
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

/** Marks website leads as collected. */
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
      .describe("Ids of leads; unknown and already collected ids are ignored"),
  }),
  reply: z.object({ collected: z.int().describe("Number of newly collected leads") }),
  specGap: "The specification does not show the method: POST, because it changes leads.",
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

function countCollected(facts: readonly LeadEvent[]): number {
  return facts.reduce(
    (sum, fact) => sum + (fact.type === "LeadsCollected" ? fact.leadIds.length : 0),
    0,
  )
}

const READ_MODELS_WAIT_MS = 5_000

/** Erases a lead: destroys its key, waits for the read models, rewrites the database files. Safe to repeat. */
export const eraseLead = reaction({
  kind: "erase-lead",
  payload: z.object({ leadId: idSchema(parseLeadId) }),
  on: {
    LeadErased: ({ leadId, at }, { companyId }) => [
      { name: leadId, subject: `${companyId} erased leads`, payload: { leadId }, dueAt: at },
    ],
  },
  // Rewriting runs table by table, so concurrent erasures would not help.
  concurrency: { process: 1 },
  discard: "never",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    await ports.erasure.destroySubjectKey(companyId, payload.leadId)
    if (!(await ports.projector.waitUntilWritten(await ports.store.head(), READ_MODELS_WAIT_MS))) {
      return retryWithBackoff(work, "the read models are behind or stopped")
    }
    if (await ports.erasure.wipeFiles()) return { result: "done" }
    return retryWithBackoff(
      work,
      "a transaction is older than the erasure, so PostgreSQL still stores the erased rows for it",
    )
  },
})
