/**
 * Reading bodies: a body that is no JSON does not end a call by itself, because key, account and
 * count are checked before it is looked at; it becomes one of these marks, which validation refuses.
 */
import type { FastifyInstance, FastifyRequest } from "fastify"
import { isSigned } from "../calls/sign-in.ts"

/** The body is not valid JSON. */
export const BROKEN_BODY = Symbol("broken body")
/** The body has a content type other than JSON in UTF-8, or an encoding. */
export const UNSUPPORTED_BODY = Symbol("unsupported body")

/** No request here nests deeper; what walks a body may so call itself. */
const MOST_LEVELS = 64

/** The bytes of bodies that somebody vouches for. */
const signedBodies = new WeakMap<FastifyRequest, Buffer>()

/** The bytes of a signed request's body; null where it has none, or is not signed. */
export function signedBody(request: FastifyRequest): Buffer | null {
  return signedBodies.get(request) ?? null
}

/** Replaces the content type parsers of an app. */
export function parseBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes, done) => {
    keepSigned(request, bytes as Buffer)
    done(null, isPlainUtf8(request) ? parseJson(bytes as Buffer) : UNSUPPORTED_BODY)
  })
  app.addContentTypeParser("*", { parseAs: "buffer" }, (request, bytes, done) => {
    keepSigned(request, bytes as Buffer)
    done(null, bytes.length === 0 ? undefined : UNSUPPORTED_BODY)
  })
}

function keepSigned(request: FastifyRequest, bytes: Buffer): void {
  if (isSigned(request.headers)) signedBodies.set(request, bytes)
}

/** JSON is UTF-8 (RFC 8259), and nothing here takes off an encoding. */
function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers["content-type"] ?? "")?.[1]
  const encoding = headers["content-encoding"] ?? "identity"
  return /^(utf-?8|us-ascii)?$/i.test(charset ?? "") && /^identity$/i.test(encoding)
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
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
