/** Every read model, in the order they are listed to an operator. */
import { accounts } from "./charging/accounts.ts"
import { apiCalls } from "./charging/api-calls.ts"
import { apps } from "./connection/apps.ts"
import { charges } from "./charging/charges.ts"
import { companies } from "./company/companies.ts"
import { invitations } from "./access/invitations.ts"
import { keys } from "./access/keys.ts"
import { limits } from "./charging/limits.ts"
import { messages } from "./phone/messages.ts"
import { months } from "./charging/months.ts"
import { numbers } from "./phone/numbers.ts"
import { optOuts } from "./phone/opt-outs.ts"
import { people } from "./access/people.ts"
import type { Projection } from "./kernel/projection.ts"
import { purchases } from "./charging/purchases.ts"
import { refusals } from "./charging/refusals.ts"
import { reminders } from "./charging/reminders.ts"

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
