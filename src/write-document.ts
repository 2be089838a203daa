/** Prints the OpenAPI document of a server at an address: `src/write-document.ts http://127.0.0.1:3000`. */
import { openApi } from "./frame/http/documents/documents.ts"
import { DOCUMENT_EXTRAS } from "./document-examples.ts"
import { PROGRAM } from "./slices.ts"

const [, , url = ""] = process.argv
// Retired paths are left out.
process.stdout.write(JSON.stringify(openApi(PROGRAM.entries, [], url, DOCUMENT_EXTRAS)))
