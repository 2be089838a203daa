/** Charging the minutes that were kept over a day: once, as its fact says how many they were. */
import { z } from "zod"
import { PRICES, ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { Charge } from "../../../domain/charging/ledger-commands.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-events.ts"
import { priceOf } from "../../../domain/charging/price-book.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { lookUpCharge } from "../../frame/effects/charges.ts"
import { mustSearch } from "../../frame/effects/place-charge.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { DAY_MS, dayText } from "../days.ts"

const ITEM = "recording_minute_day"

/** Charges a day. Where the ledger refuses it, that day costs nothing. */
export const chargeKeptMinutes = reaction({
  kind: "charge-kept-minutes",
  // The first millisecond of the day in UTC.
  payload: z.object({ day: z.number(), minutes: z.int() }),
  from: {
    KeptMinutesCounted: ({ at, day, minutes }, { companyId }) => {
      if (minutes === 0) return []
      const subject = `${companyId} kept minutes`
      return [{ name: nameOf(companyId, day), subject, payload: { day, minutes }, dueAt: at }]
    },
  },
  giveUp: "owed",
  perform: async (ports, { companyId, payload }) => {
    const chargeId = nameOf(companyId, payload.day)
    const cause = causedBy(`charge-kept-minutes ${dayText(payload.day)}`)
    for (;;) {
      const { row, searchedTo } = await lookUpCharge(ports, companyId, chargeId)
      if (row !== null) return { result: "done" }
      const charge = await chargeOf(ports, chargeId, payload, searchedTo)
      const made = await ports.runner.execute(ledgerOf(companyId), charge, cause)
      if (made.accepted) return { result: "done" }
      // Much else happened meanwhile: it is looked for again.
      if (mustSearch(made.refusal)) continue
      if (made.refusal.type !== "ChargeRefused") {
        throw new Error(`${chargeId} was refused: ${made.refusal.code}`)
      }
      ports.keepRefusal(companyId, made.refusal as ChargeRefused)
      return { result: "done" }
    }
  },
})

/** What the charge of a day is called. */
const nameOf = (companyId: CompanyId, day: number): string =>
  `${companyId}:recordings:${dayText(day)}`

async function chargeOf(
  { runner, clock }: Ports,
  chargeId: string,
  { day, minutes: quantity }: { readonly day: number; readonly minutes: number },
  searchedTo: number,
): Promise<Charge> {
  const price = await runner.read(PRICES, (book) => priceOf(book, ITEM))
  return {
    ...{ type: "Charge", chargeId, via: "company", keyId: null, personId: null },
    ...{ class: "general", item: ITEM, quantity, ...price },
    amountMicros: quantity * price.unitPriceMicros,
    ...{ resource: null, open: false, exempt: "funds_while_above_zero", searchedTo },
    ...{ requestedAt: clock.now(), dueAt: day + DAY_MS, servedFrom: day },
  }
}
