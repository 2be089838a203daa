/** The list of all slices, and the program assembled from it. */
import { accessSlice } from "./access/slice.ts"
import { affiliateSlice } from "./affiliate/slice.ts"
import { auditSlice } from "./audit/slice.ts"
import { chargingSlice } from "./charging/slice.ts"
import { codeSlice } from "./code/slice.ts"
import { companySlice } from "./company/slice.ts"
import { connectionSlice } from "./connection/slice.ts"
import { creditsSlice } from "./credits/slice.ts"
import { domainsSlice } from "./domains/slice.ts"
import { emailSlice } from "./email/slice.ts"
import { consoleSlice } from "./console/slice.ts"
import { boxesSlice } from "./boxes/slice.ts"
import { billingSlice } from "./billing/slice.ts"
import type { Slice } from "./frame/slice.ts"
import { assemble } from "./frame/slice.ts"
import { leadsSlice } from "./leads/slice.ts"
import { mcpSlice } from "./mcp/slice.ts"
import { storageSlice } from "./storage/slice.ts"
import { programSlice } from "./operations/slice.ts"
import { registrationSlice } from "./registration/slice.ts"
import { phoneSlice } from "./phone/slice.ts"
import { placesSlice } from "./places/slice.ts"
import { publishingSlice } from "./publishing/slice.ts"
import { voiceSlice } from "./voice/slice.ts"
import { recordingsSlice } from "./recordings/slice.ts"

/** The slices: the program itself, then the order of the specification's groups, then those beyond it. */
export const SLICES: readonly Slice[] = [
  programSlice,
  accessSlice,
  phoneSlice,
  voiceSlice,
  recordingsSlice,
  registrationSlice,
  emailSlice,
  domainsSlice,
  placesSlice,
  leadsSlice,
  creditsSlice,
  affiliateSlice,
  companySlice,
  codeSlice,
  boxesSlice,
  mcpSlice,
  publishingSlice,
  connectionSlice,
  chargingSlice,
  billingSlice,
  auditSlice,
  storageSlice,
  consoleSlice,
]

export const PROGRAM = assemble(SLICES)
