/**
 * Tells people by one email that spending reached an amount at which they want to hear of it: the
 * owners and, for a person's limit, that person.
 */
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import type { KeyRow } from "../../../projections/access/keys.ts"
import { listKeys } from "../../../projections/access/keys.ts"
import type { PersonRow } from "../../../projections/access/people.ts"
import { listPeople } from "../../../projections/access/people.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { companyName, mailTo, whilePeopleAreBehind } from "../../frame/effects/mail-people.ts"
import { Reminder, reminderText } from "./reminder-text.ts"

/** Sends the email of a reminder that was reached. */
export const sendReminder = reaction({
  kind: "send-reminder",
  payload: Reminder,
  from: {
    ReminderReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  isPersonal: true,
  giveUp: "nothing is lost",
  perform: send,
})

async function send(ports: Ports, work: Work<Reminder>): Promise<WorkResult> {
  const { payload: reminder, companyId } = work
  const behind = await whilePeopleAreBehind(ports, work)
  if (behind !== null) return behind
  const read = await ports.readAs(companyId, async (db) => ({
    people: await listPeople(db, companyId),
    keys: reminder.holder === "key" ? await listKeys(db, companyId) : [],
  }))
  const { holder, holderId } = reminder
  // Owners and the person whose limit it is, each once.
  const told = read.people.filter(({ role, person_id: id }) => {
    return role === "owner" || (holder === "person" && id === holderId)
  })
  const { subject, text } = reminderText(reminder, {
    company: await companyName(ports, companyId),
    holder: holderName(read, reminder),
  })
  return mailTo(ports, work, told, { subject, text, about: holderId })
}

function holderName(
  { people, keys }: { readonly people: readonly PersonRow[]; readonly keys: readonly KeyRow[] },
  { holder, holderId }: Reminder,
): string | null {
  if (holder === "company") return null
  if (holder === "person") {
    return people.find((one) => one.person_id === holderId)?.name ?? `the person ${holderId}`
  }
  const label = keys.find((one) => one.key_id === holderId)?.label ?? null
  return label === null ? `the key ${holderId}` : `the key "${label}" (${holderId})`
}
