/** Tells the owners by one email that the funds fell below the sum at which they want to hear of it. */
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import { listPeople } from "../../../projections/access/people.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { LowFunds, fundsNoticeText } from "./funds-notice-text.ts"
import { companyName, mailTo, whilePeopleAreBehind } from "../../frame/effects/mail-people.ts"

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
