/** Which fields of a call's input take an id or a name of a company's things: a row for every field, written by hand. */
import { type ZodType, z } from "zod"
import type { NameKind } from "./sample-company.ts"

/**
 * Kinds by field name, or by call and field. Null: the field names nothing, or nothing that belongs to one company.
 * A field without a row fails a test.
 */
export const FIELD_NAME_KINDS: Readonly<Record<string, NameKind | null>> = {
  company: "company",
  person: "person",
  personId: "person",
  key: "key",
  keyId: "key",
  inviteId: "invitation",
  chargeId: "charge",
  resource: "thing paid for",
  request: "request",
  formId: "form",
  leadId: "lead",
  publishId: "publish",
  commit: "commit",
  blob: "commit",
  callId: "call",
  domainId: "domain",
  installId: "installed app",
  sessionToken: "pick",
  stream: "stream",
  head: "head",
  collected: "lead",
  "/api/v1/sandboxes id": "box",
  "/api/v1/publish id": "publish",
  "/api/v1/phone/release id": "number",
  "/api/v1/phone/settings id": "number",
  "/api/v1/phone/messages from": "number",
  "/api/v1/email/send from": "sender",
  "/api/v1/email/domains id": "sending domain",
  "/api/v1/domain id": "record",
  "/api/v1/domain hostname": "host name",
  "/api/v1/phone/pages hostname": "host name",
  "/api/v1/email/domains domain": "domain name",
  "suppression-offer domain": "domain name",
  "domain-remove domain": "domain name",
  "/api/v1/phone/messages cursor": "cursor of messages",
  "/api/v1/phone/calls cursor": "cursor of calls",
  "/api/v1/leads cursor": "cursor of leads",
  "/api/v1/billing/lines cursor": "cursor of billing lines",
  "/api/v1/refusals cursor": "cursor of refusals",
  // A public domain name; the registry says who owns it.
  "/api/v1/domain domain": null,
  // An index in the list, not an issued cursor.
  "/api/v1/ledger/events cursor": null,
  // A code that an app requested, which carries its company.
  "connect-approve code": null,
  // A position in the order of names; the name need not exist.
  "audit-streams after": null,
  // Repeats a name that another field has.
  confirm: null,
  // Inside one box, whose id the call names as well.
  process: null,
  port: null,
  path: null,
  cwd: null,
  // Of one app, whose id the call names as well.
  eventId: null,
  attemptId: null,
}

/** Fields of free text or plain values, in every call. */
const FREE_TEXT_FIELDS: ReadonlySet<string> = new Set(
  (
    "addFundsPerMonth addFundsPerPurchase areaCode at before below body branch brandName channel city " +
    "clear command contains content country creditLine day deny description dollars ein email " +
    "extraOptOutWords file fingerprint grant helpReply hostnames html industry input item label legalName " +
    "locality message messageFlow month name number operations optInReply optOutReply ownPrivacyUrl " +
    "ownTermsUrl ownTextUrl phone placeId platform postalCode recordingNotice region reminders repEmail " +
    "repFirstName repLastName repPhone repTitle replyTo samples seal services sharedPaymentToken since " +
    "stockExchange stockTicker street street2 subject supportEmail supportPhone text to type until version " +
    "voicemailGreeting website"
  ).split(" "),
)

/** A text field of an input, and the kind it names; undefined if it has no row. */
export interface NamedField {
  /** Property names from the outermost; a list's name ends in `[]`. */
  readonly path: readonly string[]
  readonly isRequired: boolean
  readonly kind: NameKind | null | undefined
}

/**
 * The text fields of an input, without enums and constants.
 *
 * @param call the path of a route, or the slug of an operation
 */
export function inputFieldsOf(call: string, schema: ZodType): readonly NamedField[] {
  const form = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })
  const found = fieldsWithin(form, [], true).map((field) => ({
    ...field,
    kind: kindOf(call, field),
  }))
  return [...new Map(found.map((field) => [field.path.join("."), field])).values()]
}

/** The row keys that match a field, most specific first. */
export function fieldKeysFor(call: string, { path }: Pick<NamedField, "path">): readonly string[] {
  const name = (path.at(-1) ?? "").replace("[]", "")
  const parts = call.split("/")
  const prefixes = parts.map((_part, i) => parts.slice(0, parts.length - i).join("/"))
  return [...prefixes.map((prefix) => `${prefix} ${name}`), name]
}

function kindOf(call: string, field: Pick<NamedField, "path">): NameKind | null | undefined {
  const rows = fieldKeysFor(call, field)
  const row = rows.find((one) => Object.hasOwn(FIELD_NAME_KINDS, one))
  if (row !== undefined) return FIELD_NAME_KINDS[row]
  return FREE_TEXT_FIELDS.has(rows.at(-1) ?? "") ? null : undefined
}

type JsonSchema = z.core.JSONSchema.JSONSchema

function fieldsWithin(
  form: JsonSchema,
  path: readonly string[],
  isRequired: boolean,
): readonly Omit<NamedField, "kind">[] {
  const { properties = {}, required = [], items, anyOf = [], oneOf = [], allOf = [] } = form
  const alternatives = [...anyOf, ...oneOf, ...allOf] as readonly JsonSchema[]
  if (alternatives.length > 0)
    return alternatives.flatMap((one) => fieldsWithin(one, path, isRequired))
  if (form.type === "object") {
    return Object.entries(properties).flatMap(([name, one]) =>
      fieldsWithin(one as JsonSchema, [...path, name], isRequired && required.includes(name)),
    )
  }
  if (form.type === "array") {
    const list = [...path.slice(0, -1), `${path.at(-1)}[]`]
    return fieldsWithin(items as JsonSchema, list, isRequired)
  }
  const isChosen = form.enum !== undefined || form.const !== undefined
  const isText = form.type === undefined || form.type === "string" || Array.isArray(form.type)
  return isText && !isChosen ? [{ path, isRequired }] : []
}

/** A copy of an input with a name set at a path. */
export function withNameAt(
  input: unknown,
  [first, ...rest]: readonly string[],
  name: string,
): Readonly<Record<string, unknown>> {
  const found = (input ?? {}) as Readonly<Record<string, unknown>>
  if (first === undefined) throw new RangeError("the path of a name has at least one field")
  const field = first.replace("[]", "")
  const inner = rest.length === 0 ? name : withNameAt(found[field], rest, name)
  return { ...found, [field]: first === field ? inner : [inner] }
}
