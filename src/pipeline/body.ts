/**
 * Reading bodies: a body that is no JSON does not end a call by itself, because key, account and
 * count are checked before it is looked at; it becomes one of these marks, which validation refuses.
 */
import type { FastifyInstance } from "fastify"

/** The body is not valid JSON. */
export const BROKEN_BODY = Symbol("broken body")
/** The body has a content type other than JSON. */
export const UNSUPPORTED_BODY = Symbol("unsupported body")

/** Replaces the content type parsers of an app. */
export function parseBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
    done(null, parseJson(String(text)))
  })
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => {
    done(null, bytes.length === 0 ? undefined : UNSUPPORTED_BODY)
  })
}

function parseJson(text: string): unknown {
  if (text === "") return undefined
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    if (error instanceof SyntaxError) return BROKEN_BODY
    throw error
  }
}
