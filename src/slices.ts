/** The one list of slices, and the program that it makes. */
import { access } from "./access/slice.ts"
import { affiliate } from "./affiliate/slice.ts"
import { audit } from "./audit/slice.ts"
import { charging } from "./charging/slice.ts"
import { company } from "./company/slice.ts"
import { connection } from "./connection/slice.ts"
import { credits } from "./credits/slice.ts"
import { billing } from "./exports/slice.ts"
import type { Slice } from "./frame/slice.ts"
import { assemble } from "./frame/slice.ts"
import { leads } from "./leads/slice.ts"
import { phone } from "./phone/slice.ts"

/** The slices, in the order of the specification's groups, and behind them those beyond it. */
export const SLICES: readonly Slice[] = [
  ...[access, phone, leads, credits, affiliate, company, connection],
  ...[charging, billing, audit],
]

/** The program that they make. */
export const PROGRAM = assemble(SLICES)
