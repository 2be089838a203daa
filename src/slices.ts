/** The one list of slices, and the program that it makes. */
import { access } from "./access/slice.ts"
import { affiliate } from "./affiliate/slice.ts"
import { audit } from "./audit/slice.ts"
import { charging } from "./charging/slice.ts"
import { code } from "./code/slice.ts"
import { company } from "./company/slice.ts"
import { connection } from "./connection/slice.ts"
import { credits } from "./credits/slice.ts"
import { domains } from "./domains/slice.ts"
import { email } from "./email/slice.ts"
import { consoleSlice } from "./console/slice.ts"
import { boxes } from "./boxes/slice.ts"
import { billing } from "./billing/slice.ts"
import type { Slice } from "./frame/slice.ts"
import { assemble } from "./frame/slice.ts"
import { leads } from "./leads/slice.ts"
import { mcp } from "./mcp/slice.ts"
import { storage } from "./storage/slice.ts"
import { operations } from "./operations/slice.ts"
import { registration } from "./registration/slice.ts"
import { phone } from "./phone/slice.ts"
import { places } from "./places/slice.ts"
import { publishing } from "./publishing/slice.ts"
import { voice } from "./voice/slice.ts"
import { recordings } from "./recordings/slice.ts"

/** The slices: the program itself, then the order of the specification's groups, then those beyond it. */
export const SLICES: readonly Slice[] = [
  operations,
  access,
  phone,
  voice,
  recordings,
  registration,
  email,
  domains,
  places,
  leads,
  credits,
  affiliate,
  company,
  code,
  boxes,
  mcp,
  publishing,
  connection,
  charging,
  billing,
  audit,
  storage,
  consoleSlice,
]

/** The program that they make. */
export const PROGRAM = assemble(SLICES)
