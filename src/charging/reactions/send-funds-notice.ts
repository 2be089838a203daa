/** Tells the owners by one email that the funds fell below the sum at which they want to hear of it. */
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import { listPeople } from "../../../projections/access/people.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { companyName, mailTo, whilePeopleAreBehind } from "../../frame/effects/mail-people.ts"
import { z } from "zod"
import { moneyText } from "../../../domain/kernel/money.ts"
import { oneLine, utc } from "../../frame/effects/mail-words.ts"

/** Funds that ran low, as their fact says it. */
const LowFunds = z.object({
  at: z.number(),
  belowMicros: z.number(),
  fundsMicros: z.number(),
})

/** Funds that ran low. */
type LowFunds = z.infer<typeof LowFunds>

/** Sends the email of funds that ran low. */
export const sendFundsNotice = reaction({
  kind: "send-low-funds-alert",
  payload: LowFunds,
  from: {
    LowFundsReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  isPersonal: true,
  giveUp: "nothing is lost",
  perform: send,
})

async function send(ports: Ports, work: Work<LowFunds>): Promise<WorkResult> {
  const { payload: lowFunds, companyId } = work
  const behind = await whilePeopleAreBehind(ports, work)
  if (behind !== null) return behind
  const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
  const owners = people.filter(({ role }) => role === "owner")
  const mail = fundsNoticeText(lowFunds, await companyName(ports, companyId))
  return mailTo(ports, work, owners, { ...mail, about: null })
}

/** Subject and text of the notice. */
export function fundsNoticeText(
  { at, belowMicros, fundsMicros }: LowFunds,
  company: string,
): { readonly subject: string; readonly text: string } {
  const [funds, sum] = [moneyText(fundsMicros), moneyText(belowMicros)]
  const lines = [
    "The funds are below the sum at which you wanted to hear of it.",
    "",
    `Company: ${company}`,
    `Funds: ${funds}`,
    `Notice below: ${sum}`,
    `Since: ${utc(at)}`,
    "",
    "This is only a notice and stops nothing.",
    `The next one comes when the funds were at ${sum} or above and fall below it again.`,
  ]
  const subject = `${company}: funds are ${funds}, below ${sum}`
  return { subject: oneLine(subject), text: lines.map(oneLine).join("\n") }
}
