/** What the API's own document promises of an answer, for tests that have an answer in hand. */
import { PROGRAM } from "../../src/slices.ts"
import { entryAt } from "./right-requests.ts"
import { codeIn } from "../../src/frame/http/documents/document-answers.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"

interface Response {
  readonly headers: Readonly<
    Record<string, { readonly required?: boolean; readonly $ref?: string }>
  >
  readonly content?: { readonly "application/json": { readonly examples?: object } }
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Record<string, Response> }>>>
  >
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>
  }
}

const DOCUMENT = openApi(
  PROGRAM.entries,
  PROGRAM.retired,
  "http://ledger.test",
) as unknown as Document

/** Headers that say something of an answer; all others are those of any HTTP server. */
export const TELLING_HEADERS = Object.keys(DOCUMENT.components.headers)

/** What is promised of an answer; null where the path is none of the document's. */
export function promisedOf(method: string, url: string, status: number) {
  const [path = ""] = url.split("?", 1)
  const known = entryAt(PROGRAM.entries, method, path)?.url ?? path
  const item = DOCUMENT.paths[known.replaceAll(/:(\w+)/g, "{$1}")]
  if (item === undefined) return null
  // A verb that is not there is described where there is one, and retired paths answer every verb.
  const operation = item[method.toLowerCase()] ?? Object.values(item)[0]
  const response = operation?.responses[status]
  const headers = Object.entries(response?.headers ?? {}).map(([name, header]) => {
    const { required = false } = DOCUMENT.components.headers[header.$ref ? name : ""] ?? header
    return { name, required }
  })
  const { examples = {} } = response?.content?.["application/json"] ?? {}
  return { isThere: response !== undefined, headers, codes: Object.keys(examples).map(codeIn) }
}
