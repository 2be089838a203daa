/**
 * Tells people by one email that spending reached an amount at which they want to hear of it: the
 * owners and, for a person's limit, that person.
 *
 * Who they are comes from the read model of people, caught up to everything stored: the state that
 * decides about access has no names and addresses, and a read model opens each of them once. The
 * mail's id derives from the fact, so doing it again, after a crash or a silence, is the same mail.
 */
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { MailAnswer } from "../../../adapters/providers/mailer/port.ts"
import { ProviderSilent, ProviderUnavailable, inTime } from "../../../adapters/providers/outside.ts"
import type { WorkResult } from "../../../adapters/work/port.ts"
import { companyStanding } from "../../../domain/access/access.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { KeyRow } from "../../../projections/access/keys.ts"
import { listKeys } from "../../../projections/access/keys.ts"
import type { PersonRow } from "../../../projections/access/people.ts"
import { listPeople } from "../../../projections/access/people.ts"
import { derivedId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { Reminder, reminderText } from "./reminder-text.ts"

const PARK_AFTER_MS = 72 * 3_600_000
const READ_MODELS_WAIT_MS = 5_000

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
  const head = await ports.store.head()
  if (!(await ports.projector.waitFor(head, READ_MODELS_WAIT_MS, ["people", "keys"]))) {
    return later(ports, work, "the read models of people and keys are behind")
  }
  const read = await ports.readAs(companyId, async (db) => ({
    people: await listPeople(db, companyId),
    keys: reminder.holder === "key" ? await listKeys(db, companyId) : [],
  }))
  const recipients = recipientsOf(read.people, reminder)
  // Everybody was erased: there is nobody to tell.
  if (recipients.length === 0) return { result: "done" }
  const mailId = derivedId("mail", companyId, work.name)
  const { subject, text } = reminderText(reminder, {
    company: await companyName(ports, companyId),
    holder: holderName(read, reminder),
  })
  const mail = { mailId, companyId, recipients, subject, text, about: reminder.holderId }
  try {
    const answer = await inTime(ports.pacer, "the mailer", ports.mailer.send(mail))
    return resultOf(answer, recipients.length)
  } catch (error) {
    if (error instanceof ProviderUnavailable)
      return later(ports, work, "the mailer is not available")
    // The same mail again is safe, so a silent mailer is not asked but given it once more.
    if (error instanceof ProviderSilent) return later(ports, work, "the mailer did not answer")
    throw error
  }
}

/** Owners and the person whose limit it is, each once, without those who were erased. */
function recipientsOf(people: readonly PersonRow[], reminder: Reminder) {
  const { holder, holderId } = reminder
  const isTold = ({ role, person_id: id }: PersonRow) =>
    role === "owner" || (holder === "person" && id === holderId)
  return people.filter(isTold).flatMap(({ person_id: personId, email: address }) => {
    return address === null ? [] : [{ personId, address }]
  })
}

async function companyName(ports: Ports, companyId: CompanyId): Promise<string> {
  const standing = await ports.runner.read(accessOf(companyId), companyStanding)
  const name = standing === null ? null : await ports.sealing.open(companyId, standing.name)
  return name ?? companyId
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

/** What nobody got is the operator's: tried again, it goes to those who have not got it. */
function resultOf(answer: MailAnswer, recipients: number): WorkResult {
  switch (answer.answer) {
    case "taken":
      return { result: "done" }
    case "bounced": {
      const reason = `the mail came back from ${answer.from.length} of ${recipients} recipients`
      return { result: "park", reason }
    }
    case "refused":
      return { result: "park", reason: `the mailer refused the mail: ${answer.code}` }
  }
}

/** Tried for three days, by the ledger's clock; then an operator is asked. */
function later(ports: Ports, work: Work<Reminder>, reason: string): WorkResult {
  const { at } = work.payload
  if (ports.clock.now() - at < PARK_AFTER_MS) return retryLater(work, reason)
  return { result: "park", reason: `${reason}, for 72 hours` }
}
