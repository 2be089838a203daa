/** Answers in the OpenAPI document: bodies, examples and headers. */
import type { ZodType } from "zod"
import type { RefusalCode, ErrorCode } from "../../routes/answers/refusal.ts"
import { publicErrorCode, statusOfCode } from "../../routes/answers/refusal.ts"
import type { JsonObject } from "./named-schemas.ts"
import { schemaReference, namedJsonSchema, jsonSchemaOf, typeName } from "./named-schemas.ts"
import { errorExampleOf, routeErrorExample } from "./error-examples.ts"
import { routeExampleOf as exampleRequestOf } from "./document-requests.ts"
import type { Route } from "../../routes/declare/route.ts"

const TEXT_SCHEMA = { type: "string" }

/** The headers of answers, by name. */
export const RESPONSE_HEADERS: Readonly<Record<string, JsonObject>> = {
  "x-request-id": {
    description: "Id of this request; quote it when you report a problem.",
    required: true,
    schema: TEXT_SCHEMA,
  },
  "Ledger-Position": {
    description:
      "Position in the ledger of the facts that this request recorded, including the cause of a refusal. Send it " +
      "with a read to wait until the answer includes it.",
    schema: TEXT_SCHEMA,
  },
  "Ledger-Stale": {
    description: "The answer may not include the newest changes yet.",
    schema: { type: "string", const: "true" },
  },
  "Idempotency-Replayed": {
    description: "This is the answer to an earlier request with the same Idempotency-Key.",
    schema: { type: "string", const: "true" },
  },
  "WWW-Authenticate": {
    description: "Authenticate with `Authorization: Bearer <key>`.",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
  Allow: {
    description: "The methods that this path supports.",
    required: true,
    schema: TEXT_SCHEMA,
  },
  "Retry-After": {
    description: "Seconds to wait before a retry.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
}

const headerReferences = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

function successHeaders(route: Route): JsonObject {
  const names = ["x-request-id"]
  const isWrite = route.method !== "GET" && route.auth !== false
  if (isWrite) names.push("Ledger-Position")
  if (route.method === "GET" && route.readModels !== undefined) names.push("Ledger-Stale")
  if (route.isCharged === true || route.permanentIdempotency !== undefined)
    names.push("Idempotency-Replayed")
  return headerReferences(names)
}

function refusalHeaders(route: Route, codes: readonly RefusalCode[]): JsonObject {
  const names = ["x-request-id"]
  if (codes.some((code) => statusOfCode(code) === 401)) names.push("WWW-Authenticate")
  if (codes.includes("method_not_allowed")) names.push("Allow")
  if (codes.some((code) => statusOfCode(code) === 503)) names.push("Retry-After")
  if (codes.some((code) => route.permanentIdempotency?.finalCodes.includes(code)))
    names.push("Idempotency-Replayed")
  const mayRecord = route.isCharged === true || route.permanentIdempotency !== undefined
  const ends = [...(route.permanentIdempotency?.finalCodes ?? []), ...(route.refusalCodes ?? [])]
  if (mayRecord && codes.some((code) => ends.includes(code))) names.push("Ledger-Position")
  if (!codes.includes("rate_limited")) return headerReferences(names)
  const isAlone = codes.length === 1
  const description = isAlone
    ? "Seconds until the calls are counted from zero again."
    : "With `rate_limited` only: seconds until the calls are counted from zero again."
  const seconds = {
    description,
    ...(isAlone ? { required: true } : {}),
    schema: { type: "integer", const: 60 },
  }
  return { ...headerReferences(names), "Retry-After": seconds }
}

/** Example answers by route name and status, recorded from real calls. */
export type ExampleAnswers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Describes the answers of a route, by status. */
export function responsesOf(
  route: Route,
  methods: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const byStatus = Map.groupBy(refusalCodesOf(route), statusOfCode)
  const refusals = [...byStatus].map(([status, codes]) => {
    return [status, refusalsOf(route, codes, methods)] as const
  })
  return { ...successesOf(route, answers), ...Object.fromEntries(refusals) }
}

/** Describes the answers of several routes on one method and path, by status. */
export function responsesOfVariants(
  variants: readonly Route[],
  methods: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const all = variants.map((route) => {
    const responses = responsesOf(route, methods, answers) as Record<string, DocumentedResponse>
    return { variant: route.summary, responses }
  })
  const statuses = [...new Set(all.flatMap(({ responses }) => Object.keys(responses)))]
  const answersWith = (status: string) =>
    all.flatMap(({ variant, responses }) => {
      const answer = responses[status]
      return answer === undefined ? [] : [{ ...answer, variant }]
    })
  return Object.fromEntries(statuses.map((status) => [status, mergeResponses(answersWith(status))]))
}

interface DocumentedResponse {
  readonly description: string
  readonly headers: JsonObject
  readonly content: Readonly<
    Record<string, { readonly schema: JsonObject; readonly examples?: JsonObject }>
  >
}

/** Merges the responses of several variants with one status: any of their bodies, all of their examples. */
function mergeResponses(
  answers: readonly (DocumentedResponse & { readonly variant: string })[],
): DocumentedResponse {
  const codes = [...new Set(answers.flatMap(({ description }) => description.split(", ")))]
  const contents = answers.flatMap(({ variant, content }) => {
    const json = content["application/json"]
    return json === undefined ? [] : [{ ...json, variant }]
  })
  const schemas = new Map(contents.map(({ schema }) => [JSON.stringify(schema), schema]))
  const [only, other] = schemas.values()
  const schema = other === undefined ? (only ?? {}) : { anyOf: [...schemas.values()] }
  const examples = mergeExamples(contents)
  const shown = Object.keys(examples).length === 0 ? { schema } : { schema, examples }
  return {
    description: codes.join(", "),
    headers: Object.assign({}, ...answers.map(({ headers }) => headers)) as JsonObject,
    content: { "application/json": shown },
  }
}

/** Merges the examples of all variants by code; a differing later one gets the variant's name. */
function mergeExamples(
  contents: readonly { readonly variant: string; readonly examples?: JsonObject }[],
): JsonObject {
  const byName = new Map<string, unknown>()
  const isThere = (code: string, example: unknown) =>
    [...byName].some(
      ([name, one]) =>
        codeOfExample(name) === code && JSON.stringify(one) === JSON.stringify(example),
    )
  for (const { variant, examples = {} } of contents) {
    for (const [code, example] of Object.entries(examples)) {
      if (!isThere(code, example))
        byName.set(byName.has(code) ? `${code}: ${variant}` : code, example)
    }
  }
  return Object.fromEntries(byName)
}

/** Returns the error code of an example from its name. */
export const codeOfExample = (name: string): string => name.split(":", 1)[0] ?? name

const STATUS_DESCRIPTIONS: Readonly<Record<number, string>> = {
  201: "Created",
  202: "Accepted",
  206: "Part of the file",
}

function successesOf(route: Route, answers: ExampleAnswers): JsonObject {
  const schema = namedJsonSchema(typeName(route.name, "Answer"), route.reply, "output")
  const headers = successHeaders(route)
  const statuses = route.statuses ?? [200]
  const types = (route.fileTypes ?? ["application/json"]).map(
    (type) => type.split(";", 1)[0] as string,
  )
  const schemaIn = (type: string) =>
    route.fileTypes === undefined ? schema : fileSchema(type, types)
  return Object.fromEntries(
    statuses.map((status) => {
      const description = STATUS_DESCRIPTIONS[status] ?? "Success"
      if (route.bodilessStatuses?.includes(status) === true)
        return [status, { description: "Accepted", headers }]
      const content = types.map((type) => [
        type,
        { schema: schemaIn(type), ...responseExample(answers, route, status, type) },
      ])
      return [status, { description, headers, content: Object.fromEntries(content) as JsonObject }]
    }),
  )
}

const BINARY_SCHEMA = { type: "string", format: "binary" }

/**
 * Describes a file in a response: text as a string, anything else as bytes. The first of a route's types
 * describes all of them, because client generators read only that one.
 */
function fileSchema(type: string, types: readonly string[]): JsonObject {
  const description = "The file"
  const kinds = new Set((type === types[0] ? types : [type]).map((one) => one.startsWith("text/")))
  if (kinds.size === 2)
    return schemaReference("TextOrBytes", { description, anyOf: [TEXT_SCHEMA, BINARY_SCHEMA] })
  return kinds.has(true) ? { description, ...TEXT_SCHEMA } : { description, ...BINARY_SCHEMA }
}

/** Returns the example of an answer; for a file only in the type that was recorded. */
function responseExample(
  answers: ExampleAnswers,
  { name, fileTypes }: Route,
  status: number,
  type: string,
): JsonObject {
  const shown = answers[name]?.[status]
  if (shown === undefined) return {}
  if (fileTypes === undefined) return { examples: { [name]: { value: shown } } }
  const { type: recordedType, file } = shown as { readonly type: string; readonly file: string }
  return recordedType === type ? { examples: { [name]: { value: file } } } : {}
}

/** The codes for bodies that cannot be parsed. */
const UNREADABLE_BODY_CODES: readonly RefusalCode[] = [
  "validation",
  "too_large",
  "unsupported_media_type",
]

/** Describes the refusals with one status: their codes, with one example each. */
function refusalsOf(
  route: Route,
  codes: readonly RefusalCode[],
  methods: readonly string[],
): JsonObject {
  // Another method is rejected before a route is chosen, so in the API's own format.
  const form = codes.includes("method_not_allowed") ? undefined : route.errorFormat
  const examples = codes.map((code) => {
    const value = routeErrorExample(route, code, methods)
    if (form === undefined)
      return [publicErrorCode(code), value === null ? exampleReference(code) : { value }]
    const why = { status: statusOfCode(code), body: value ?? errorExampleOf(code) }
    // A body that cannot be parsed has no fields to repeat.
    const sent = UNREADABLE_BODY_CODES.includes(code) ? undefined : exampleRequestOf(route).body
    return [publicErrorCode(code), { value: form.format(why, sent) }]
  })
  return {
    description: codes.map(publicErrorCode).join(", "),
    headers: refusalHeaders(route, codes),
    content: errorContent(Object.fromEntries(examples) as JsonObject, form?.schema),
  }
}

const exampleReference = (code: RefusalCode): JsonObject => ({
  $ref: `#/components/examples/${publicErrorCode(code)}`,
})

function errorContent(examples: JsonObject, form?: ZodType): JsonObject {
  const schema =
    form === undefined ? { $ref: "#/components/schemas/ApiError" } : jsonSchemaOf(form, "output")
  return { "application/json": { schema, examples } }
}

/** Describes the answer of a retired path. */
export function retiredResponses(): JsonObject {
  const content = errorContent({ gone: exampleReference("gone") })
  return { 410: { description: "gone", headers: headerReferences(["x-request-id"]), content } }
}

/** Codes that every call can get: `validation` also without a body, for an invalid `Ledger-Position`. */
const COMMON_CODES: readonly ErrorCode[] = [
  "validation",
  "method_not_allowed",
  "internal",
  "overloaded",
  "stream_corrupt",
  "unavailable",
]

/** Returns every code that a route can answer, without duplicates. */
function refusalCodesOf(route: Route): readonly RefusalCode[] {
  const checked = [
    ...callerCodes(route),
    ...accountCodes(route),
    ...idempotencyCodes(route),
    ...bodyCodes(route),
  ]
  return [...new Set([...COMMON_CODES, ...checked, ...(route.refusalCodes ?? [])])]
}

function callerCodes({
  auth,
  operation,
  additionalOperations = [],
  roleRefusalCode,
}: Route): readonly RefusalCode[] {
  if (auth === false) return []
  const codes: RefusalCode[] = ["invalid_key", "not_allowed"]
  if (operation !== null || additionalOperations.length > 0) codes.push("operation_not_granted")
  if (roleRefusalCode !== undefined) codes.push(roleRefusalCode)
  return codes
}

function accountCodes({
  isCounted,
  isAllowedWhenLocked,
  rateLimit,
  accountRequirement,
}: Route): readonly RefusalCode[] {
  const codes: RefusalCode[] = []
  if (isCounted) codes.push("spend_limit_reached")
  if (isCounted && isAllowedWhenLocked !== true) codes.push("payment_required")
  if (rateLimit !== undefined) codes.push("rate_limited")
  if (accountRequirement !== undefined) {
    codes.push(accountRequirement === "managed" ? "needs_managed_plan" : "card_required")
  }
  return codes
}

/** Codes of idempotency; `conflict` if another process executes the same request or took it over. */
function idempotencyCodes({ isCharged, permanentIdempotency }: Route): readonly RefusalCode[] {
  if (isCharged !== true && permanentIdempotency === undefined) return []
  const codes: RefusalCode[] = ["conflict", "idempotency_conflict"]
  return permanentIdempotency === undefined ? codes : [...codes, "idempotency_key_required"]
}

function bodyCodes({ method, body }: Route): readonly RefusalCode[] {
  if (method === "GET") return []
  return body === undefined ? ["too_large"] : ["too_large", "unsupported_media_type"]
}
