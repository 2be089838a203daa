/** What of a call's input names something of a company: a row for every field, written by hand. */
import { type ZodType, z } from "zod"
import type { NameKind } from "./sample-company.ts"

/**
 * By the field's name, or by the call and the field. Null: it names nothing of a company, or nothing that
 * only one company has a name for. A field without its row fails the build.
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
  // A name in the world: whose it is there is asked there.
  "/api/v1/domain domain": null,
  // A number in the list, not a place that was given out.
  "/api/v1/ledger/events cursor": null,
  // An app's own, which says at which company it means to be.
  "connect-approve code": null,
  // The order of names, whichever there are.
  "audit-streams after": null,
  // The company's own again.
  confirm: null,
  // Of one box, and named with it.
  process: null,
  port: null,
  path: null,
  cwd: null,
  // Of one app, and named with it.
  eventId: null,
  attemptId: null,
}

/** Fields that say something and name nothing, wherever they stand. */
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

/** A text field of an input, and what it names; undefined where no row says it. */
export interface NamedField {
  /** From the outside in; `[]` stands behind the name of a list. */
  readonly path: readonly string[]
  readonly isRequired: boolean
  readonly kind: NameKind | null | undefined
}

/**
 * The text fields of an input whose values do not all stand in its schema.
 *
 * @param at the path of a route, or the name of an operation as paths have it
 */
export function inputFieldsOf(at: string, schema: ZodType): readonly NamedField[] {
  const form = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })
  const found = fieldsWithin(form, [], true).map((field) => ({ ...field, kind: kindOf(at, field) }))
  return [...new Map(found.map((field) => [field.path.join("."), field])).values()]
}

/** The rows that a field could be told by, the closest first. */
export function fieldKeysFor(at: string, { path }: Pick<NamedField, "path">): readonly string[] {
  const name = (path.at(-1) ?? "").replace("[]", "")
  const parts = at.split("/")
  const above = parts.map((_part, i) => parts.slice(0, parts.length - i).join("/"))
  return [...above.map((place) => `${place} ${name}`), name]
}

function kindOf(at: string, field: Pick<NamedField, "path">): NameKind | null | undefined {
  const rows = fieldKeysFor(at, field)
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
  const several = [...anyOf, ...oneOf, ...allOf] as readonly JsonSchema[]
  if (several.length > 0) return several.flatMap((one) => fieldsWithin(one, path, isRequired))
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

/** An input with a name at a place of it. */
export function withNameAt(
  input: unknown,
  [first, ...rest]: readonly string[],
  name: string,
): Readonly<Record<string, unknown>> {
  const found = (input ?? {}) as Readonly<Record<string, unknown>>
  if (first === undefined) throw new RangeError("a name stands in a field")
  const field = first.replace("[]", "")
  const inner = rest.length === 0 ? name : withNameAt(found[field], rest, name)
  return { ...found, [field]: first === field ? inner : [inner] }
}
