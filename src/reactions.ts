/** Every reaction, and how the charges of each kind of thing are ended. */
import { followUps } from "../projections/kernel/follow-ups.ts"
import type { Projection } from "../projections/kernel/projection.ts"
import { chargeCalls } from "./charging/reactions/charge-calls.ts"
import { closeMonth } from "./charging/reactions/close-month.ts"
import { sendReminder } from "./charging/reactions/send-reminder.ts"
import { switchKeys } from "./company/reactions/company-deletion.ts"
import { eraseCompany } from "./company/reactions/erase-company.ts"
import { companyOpening } from "./company/reactions/open-company.ts"
import { collectCredit } from "./credits/reactions/collect-credit.ts"
import { purchaseEffect } from "./credits/reactions/pay-purchase.ts"
import { endedBy, factsLookedAt, itemsOf } from "./frame/effects/reaction.ts"
import type { Reaction } from "./frame/effects/reaction.ts"
import { reconciler } from "./frame/effects/reconcile.ts"
import { textEffect } from "./phone/reactions/text-effect.ts"
import { categoriesOf } from "./frame/writer/aggregates.ts"
import { reconciledText } from "./phone/texts.ts"

/** Everything that follows from facts. */
export const REACTIONS: readonly Reaction[] = [
  companyOpening,
  ...textEffect,
  reconciler([reconciledText]),
  closeMonth,
  chargeCalls,
  sendReminder,
  ...purchaseEffect,
  collectCredit,
  switchKeys,
  eraseCompany,
]

/** The rows that follow from facts. */
export const WORK_ROWS: Projection = followUps(
  {
    items: (recorded) => itemsOf(REACTIONS, recorded),
    ended: (recorded) => endedBy(REACTIONS, recorded),
  },
  categoriesOf(factsLookedAt(REACTIONS)),
)

/** The kinds of work that end with their company, and those whose rows go with it. */
export const WORK_OF_COMPANY = {
  ending: REACTIONS.filter((one) => one.endsWithCompany === true).map(({ kind }) => kind),
  personal: REACTIONS.filter((one) => one.isPersonal === true).map(({ kind }) => kind),
}
