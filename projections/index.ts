/** Every read model, in the order they are listed to an operator. */
import { accounts } from "./accounts.ts"
import { charges } from "./charges.ts"
import { companies } from "./companies.ts"
import { keys } from "./keys.ts"
import { limits } from "./limits.ts"
import { messages } from "./messages.ts"
import { numbers } from "./numbers.ts"
import { optOuts } from "./opt-outs.ts"
import { people } from "./people.ts"
import type { Projection } from "./projection.ts"

/** The read models of this installation. */
export const PROJECTIONS: readonly Projection[] = [
  accounts,
  charges,
  companies,
  keys,
  limits,
  messages,
  numbers,
  optOuts,
  people,
]
