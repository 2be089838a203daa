/** Tells the owners that the rent of a number was refused: on the first, seventh and thirteenth day of grace. */
import { z } from "zod"
import { moneyText } from "../../../domain/kernel/money.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import { orderOf } from "../../../domain/phone/phone-views.ts"
import { GRACE_MS } from "../../../domain/phone/rent.ts"
import { listPeople } from "../../../projections/access/people.ts"
import {
  companyName,
  mailTo,
  whilePeopleAreBehind,
  oneLine,
  utc,
} from "../../frame/effects/mail-people.ts"
import { priceOfOne } from "../../frame/effects/price.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

const DAY_MS = 24 * 3_600_000
/** So long after the refusal. */
const AFTER_MS = [0, 6 * DAY_MS, 12 * DAY_MS]

/** Why rent is refused, and what helps. */
const WHY: Readonly<Record<string, string>> = {
  payment_required: "the funds are used up: add funds",
  spend_limit_reached: "a spending limit is used up: raise it, or wait until it starts anew",
  account_locked: "the account is locked for a missed payment: pay it",
}

/** Sends the email of a number whose rent was refused. */
export const rentNotice = reaction({
  kind: "send-rent-notice",
  payload: z.object({
    numberId: idSchema(parseNumberId),
    since: z.number(),
    at: z.number(),
    /** The ledger's reason. */
    code: z.string(),
  }),
  from: {
    RentRefused: ({ numberId, at: since, code }) =>
      AFTER_MS.map((afterMs, i) => {
        const at = since + afterMs
        return {
          name: `${numberId}:${since}:${i}`,
          payload: { numberId, since, at, code },
          dueAt: at,
        }
      }),
  },
  isPersonal: true,
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { companyId } = work
    const { numberId, since, at: dueAt, code } = work.payload
    if (ports.clock.now() < dueAt) return { result: "later", dueAt }
    const behind = await whilePeopleAreBehind(ports, work)
    if (behind !== null) return behind
    const view = (state: Parameters<typeof orderOf>[0]) => orderOf(state, numberId)
    const known = await ports.runner.readLatest(phoneOf(companyId), view)
    // It is paid by now, or gone.
    if (known?.is !== "held" || known.number.refusedSince !== since) return { result: "done" }
    const number = await ports.sealing.open(companyId, known.number.number)
    if (number === null) return { result: "done" }
    const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
    const owners = people.filter(({ role }) => role === "owner")
    const { unitPriceMicros } = await priceOfOne(ports, `number_month_${known.number.kind}`)
    const company = await companyName(ports, companyId)
    const until = utc(since + GRACE_MS)
    const lines = [
      `The rent of ${number} could not be charged.`,
      "",
      `Company: ${company}`,
      `Rent a month: ${moneyText(unitPriceMicros)}`,
      `Refused since: ${utc(since)}, because ${WHY[code] ?? code}`,
      "",
      "Until it is paid no text goes out from this number. Texts still come in; calls do as far as they can be paid.",
      `It is asked for again each day. If it is not paid by ${until} the number is gone for good.`,
    ]
    const subject = oneLine(`${company}: ${number} is let go on ${until} unless its rent is paid`)
    const text = lines.map(oneLine).join("\n")
    return mailTo(ports, work, owners, { subject, text, about: null })
  },
})
