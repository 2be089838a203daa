/** Charging the minutes that were kept over a day: once, as its fact says how many they were. */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { chargeByName } from "../../frame/effects/charge-by-name.ts"
import { priceOfOne } from "../../frame/effects/price-of-one.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { DAY_MS, dayText } from "../of-call.ts"

/** Charges a day. Where the ledger refuses it, that day costs nothing. */
export const chargeKeptMinutes = reaction({
  kind: "charge-stored-minutes",
  // The first millisecond of the day in UTC.
  payload: z.object({ day: z.number(), minutes: z.int() }),
  from: {
    StoredMinutesCounted: ({ at, day, minutes }, { companyId }) => {
      if (minutes === 0) return []
      const subject = `${companyId} kept minutes`
      return [{ name: nameOf(companyId, day), subject, payload: { day, minutes }, dueAt: at }]
    },
  },
  giveUp: "owed",
  perform: async (ports, { companyId, payload }) => {
    const { day, minutes: quantity } = payload
    const cause = causedBy(`charge-stored-minutes ${dayText(day)}`)
    const price = await priceOfOne(ports, "recording_minute_day")
    const charge = () => ({
      ...price,
      quantity,
      resource: null,
      exemption: "funds_while_above_zero" as const,
      dueAt: day + DAY_MS,
      servedFrom: day,
    })
    const named = { chargeId: nameOf(companyId, day), knownTo: null }
    const refused = await chargeByName(ports, companyId, named, charge, cause)
    if (refused !== null) ports.keepRefusal(companyId, refused)
    return { result: "done" }
  },
})

/** What the charge of a day is called. */
const nameOf = (companyId: CompanyId, day: number): string =>
  `${companyId}:recordings:${dayText(day)}`
