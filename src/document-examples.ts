/** Additional content of the OpenAPI document: group pages and example answers. */
import { readFileSync } from "node:fs"
import type { ExampleAnswers } from "./frame/http/documents/document-responses.ts"
import type { DocumentContent } from "./frame/http/documents/documents.ts"
import { PROGRAM } from "./slices.ts"

/** The file of the example answers; `npm run answers` regenerates it. */
export const EXAMPLE_ANSWERS_FILE = new URL("answers.json", import.meta.url)

/** The pages of the groups and an example answer of each route. */
export const DOCUMENT_EXTRAS: DocumentContent = {
  groups: PROGRAM.groups,
  answers: JSON.parse(readFileSync(EXAMPLE_ANSWERS_FILE, "utf8")) as ExampleAnswers,
}
