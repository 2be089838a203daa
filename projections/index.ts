/** Every read model, in the order they are listed to an operator. */
import { accounts } from "./accounts.ts"
import { apiCalls } from "./api-calls.ts"
import { apps } from "./apps.ts"
import { charges } from "./charges.ts"
import { companies } from "./companies.ts"
import { invitations } from "./invitations.ts"
import { keys } from "./keys.ts"
import { limits } from "./limits.ts"
import { messages } from "./messages.ts"
import { months } from "./months.ts"
import { numbers } from "./numbers.ts"
import { optOuts } from "./opt-outs.ts"
import { people } from "./people.ts"
import type { Projection } from "./projection.ts"
import { purchases } from "./purchases.ts"
import { refusals } from "./refusals.ts"
import { reminders } from "./reminders.ts"

/** The read models of this installation. */
export const PROJECTIONS: readonly Projection[] = [
  accounts,
  apiCalls,
  apps,
  charges,
  companies,
  invitations,
  keys,
  limits,
  messages,
  months,
  numbers,
  optOuts,
  people,
  purchases,
  refusals,
  reminders,
]
