/** What the document shows beside what the routes say of themselves. */
import { readFileSync } from "node:fs"
import type { ExampleAnswers } from "./frame/http/documents/document-responses.ts"
import type { DocumentContent } from "./frame/http/documents/documents.ts"
import { PROGRAM } from "./slices.ts"

/** Where the answers that are shown stand; `npm run answers` asks for them anew. */
export const EXAMPLE_ANSWERS_FILE = new URL("answers.json", import.meta.url)

/** The pages of the groups, and an answer of each route. */
export const DOCUMENT_EXTRAS: DocumentContent = {
  groups: PROGRAM.groups,
  answers: JSON.parse(readFileSync(EXAMPLE_ANSWERS_FILE, "utf8")) as ExampleAnswers,
}
