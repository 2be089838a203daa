import { z } from "zod"
import { formatMoney } from "../../../domain/kernel/money.ts"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import { numberOrderOf } from "../../../domain/phone/phone-views.ts"
import { RENT_GRACE_MS } from "../../../domain/phone/rent.ts"
import { listPeople } from "../../../projections/access/people.ts"
import {
  companyName,
  mailPeople,
  waitForPeopleReadModels,
  toSingleLine,
  formatUtc,
} from "../../frame/effects/mail-people.ts"
import { unitPrice } from "../../frame/effects/price.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

const DAY_MS = 24 * 3_600_000
/** Days 1, 7 and 13 of the grace period, as milliseconds after the refusal. */
const NOTICE_DELAYS_MS = [0, 6 * DAY_MS, 12 * DAY_MS]

const REFUSAL_REASONS: Readonly<Record<string, string>> = {
  payment_required: "the funds are used up. Add funds",
  spend_limit_reached: "a spending limit is used up. Raise it, or wait until it resets",
  account_locked: "your account is locked because a payment failed. Pay it",
}

/** Emails the owners of a number whose rent was refused. */
export const sendRentNotice = reaction({
  kind: "send-rent-notice",
  payload: z.object({
    numberId: idSchema(parseNumberId),
    since: z.number(),
    at: z.number(),
    /** The ledger's reason. */
    code: z.string(),
  }),
  on: {
    RentRefused: ({ numberId, at: since, code }) =>
      NOTICE_DELAYS_MS.map((afterMs, i) => {
        const at = since + afterMs
        return {
          name: `${numberId}:${since}:${i}`,
          payload: { numberId, since, at, code },
          dueAt: at,
        }
      }),
  },
  hasPersonalData: true,
  discard: "allowed",
  perform: async (ports, work) => {
    const { companyId } = work
    const { numberId, since, at: dueAt, code } = work.payload
    if (ports.clock.now() < dueAt) return { result: "rescheduled", dueAt }
    const notReady = await waitForPeopleReadModels(ports, work)
    if (notReady !== null) return notReady
    const view = (state: Parameters<typeof numberOrderOf>[0]) => numberOrderOf(state, numberId)
    const known = await ports.runner.readLatest(phoneStreamOf(companyId), view)
    // The rent was paid, or the number was released.
    if (known?.status !== "held" || known.number.refusedSince !== since) return { result: "done" }
    const number = await ports.sealing.unseal(companyId, known.number.number)
    if (number === null) return { result: "done" }
    const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
    const owners = people.filter(({ role }) => role === "owner")
    const { unitPriceMicros } = await unitPrice(ports, `number_month_${known.number.kind}`)
    const company = await companyName(ports, companyId)
    const until = formatUtc(since + RENT_GRACE_MS)
    const lines = [
      `We could not charge the rent of ${number}.`,
      "",
      `Company: ${company}`,
      `Monthly rent: ${formatMoney(unitPriceMicros)}`,
      `Refused since: ${formatUtc(since)}, because ${REFUSAL_REASONS[code] ?? code}`,
      "",
      "Until the rent is paid, this number cannot send texts. It still receives texts, and calls that can be paid.",
      `We try to charge it again each day. If it is not paid by ${until}, the number is released for good.`,
    ]
    const subject = toSingleLine(
      `${company}: ${number} will be released on ${until} unless its rent is paid`,
    )
    const text = lines.map(toSingleLine).join("\n")
    return mailPeople(ports, work, owners, { subject, text, about: null })
  },
})
