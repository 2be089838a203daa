/** What the document shows beside what the routes say of themselves. */
import { readFileSync } from "node:fs"
import type { Answers } from "./frame/http/documents/document-answers.ts"
import type { Shown } from "./frame/http/documents/documents.ts"
import { PROGRAM } from "./slices.ts"

/** Where the answers that are shown stand; `npm run answers` asks for them anew. */
export const ANSWERS_FILE = new URL("answers.json", import.meta.url)

/** The pages of the groups, and an answer of each route. */
export const SHOWN: Shown = {
  groups: PROGRAM.groups,
  answers: JSON.parse(readFileSync(ANSWERS_FILE, "utf8")) as Answers,
}
