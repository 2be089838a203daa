/** Writes the catalogue of the command line; `node bin/catalogue.mjs` runs it after a command has changed. */
import { writeFileSync } from "node:fs"
import { formatCatalogue } from "./frame/operator/catalogue.ts"
import { PROGRAM } from "./slices.ts"

writeFileSync(new URL("catalogue.json", import.meta.url), formatCatalogue(PROGRAM))
