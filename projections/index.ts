/** Every read model, in the order they are listed to an operator. */
import { accounts } from "./accounts.ts"
import { apiCalls } from "./api-calls.ts"
import { charges } from "./charges.ts"
import { companies } from "./companies.ts"
import { keys } from "./keys.ts"
import { limits } from "./limits.ts"
import { messages } from "./messages.ts"
import { months } from "./months.ts"
import { numbers } from "./numbers.ts"
import { optOuts } from "./opt-outs.ts"
import { people } from "./people.ts"
import type { Projection } from "./projection.ts"
import { purchases } from "./purchases.ts"
import { reminders } from "./reminders.ts"

/** The read models of this installation. */
export const PROJECTIONS: readonly Projection[] = [
  accounts,
  apiCalls,
  charges,
  companies,
  keys,
  limits,
  messages,
  months,
  numbers,
  optOuts,
  people,
  purchases,
  reminders,
]
