/**
 * Bodies: one that is no JSON does not end a call by itself, because key, account and count are
 * checked before it is looked at; it becomes one of these marks, which validation refuses.
 */
import type { Call } from "./call.ts"
import type { AsSent } from "./as-sent.ts"
import { fieldOf } from "./as-sent.ts"
import { BODY_LIMIT_BYTES, BODY_WITHIN_MS, PIECES } from "./declare/route.ts"
import { isOneOf } from "./declare/one-of.ts"

/** The body is not valid JSON. */
export const BROKEN_BODY = Symbol("broken body")
/** The body has a content type other than JSON in UTF-8, or an encoding. */
export const UNSUPPORTED_BODY = Symbol("unsupported body")

/** No request here nests deeper; what walks a body may so call itself. */
const MOST_LEVELS = 64

/** A body that was read. */
export interface ReadBody {
  /** Null where there is none, and where it is taken piece by piece. */
  readonly bytes: Uint8Array | null
  /** What stands in it; undefined for nothing, else perhaps one of the marks. */
  readonly value: unknown
}

/** Nothing was sent. */
export const NO_BODY: ReadBody = { bytes: null, value: undefined }

/**
 * Reads the body of a call at most once, up to as many bytes as the first who asks takes of it; default as
 * many as its route does.
 *
 * @throws BodyTooLarge, BodyCutOff, BodyTooLate
 */
export type OpenBody = (mostBytes?: number) => Promise<ReadBody>

/** The body of a call, to be read. */
export function openBody(call: Call): OpenBody {
  let read: Promise<ReadBody> | null = null
  return (mostBytes) => {
    read ??= readBody(call, mostBytes)
    return read
  }
}

async function readBody(call: Call, mostBytes?: number): Promise<ReadBody> {
  const { route, body } = call
  // What is asked for by GET is in its address.
  if (route.method === "GET") return NO_BODY
  if (!isOneOf(route) && route.body === PIECES) return NO_BODY
  const { bodyLimitBytes = BODY_LIMIT_BYTES } = route
  const withinMs = isOneOf(route) ? BODY_WITHIN_MS : (route.bodyWithinMs ?? BODY_WITHIN_MS)
  const bytes = await body.bytes(mostBytes ?? bodyLimitBytes, withinMs)
  if (bytes === null || bytes.length === 0) return NO_BODY
  return { bytes, value: jsonIn(call, bytes) }
}

/** What stands in a body of JSON; one of the marks where it is none. */
export function jsonIn(sent: Pick<AsSent, "headers">, bytes: Uint8Array): unknown {
  return isPlain(sent, "application/json") ? parseJson(bytes) : UNSUPPORTED_BODY
}

/** Whether a body is of a type and in UTF-8, as JSON is (RFC 8259): nothing here takes off an encoding. */
export function isPlain(sent: Pick<AsSent, "headers">, mediaType: string): boolean {
  const type = (fieldOf(sent, "content-type") ?? "").trim()
  if (type.split(/\s*;/, 1)[0]?.toLowerCase() !== mediaType) return false
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1]
  const encoding = fieldOf(sent, "content-encoding") ?? "identity"
  return /^(utf-?8|us-ascii)?$/i.test(charset ?? "") && /^identity$/i.test(encoding)
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    const body: unknown = JSON.parse(text)
    return isNestedTooDeep(body) ? BROKEN_BODY : body
  } catch (error) {
    // A TypeError is the decoder's: these bytes are no UTF-8.
    if (error instanceof SyntaxError || error instanceof TypeError) return BROKEN_BODY
    throw error
  }
}

/** Looks level by level, without calling itself. */
function isNestedTooDeep(body: unknown): boolean {
  const isNode = (value: unknown): value is object => typeof value === "object" && value !== null
  let level = [body].filter(isNode)
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true
    level = level.flatMap((node) => Object.values(node) as unknown[]).filter(isNode)
  }
  return false
}
