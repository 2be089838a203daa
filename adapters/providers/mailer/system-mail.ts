/**
 * Mails of the program over a mailer that knows bytes alone: what the built-in one remembers by itself is
 * remembered here, so that nobody gets one a second time. Whom it is handed over to is written down before,
 * so where nobody knows what became of it, also for a crash, there is at most one more copy.
 */
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { SimulatedRecords, SimulatorStore } from "../simulators/port.ts"
import type { AddressTag } from "../../../domain/email/ids.ts"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import type {
  MessageComposer,
  DeliveryAnswer,
  SystemMail,
  SystemMailAnswer,
  Mailer,
  MailboxAddress,
} from "./port.ts"

/** What it works with. */
export interface SystemMailPorts {
  readonly deliver: Mailer["deliver"]
  readonly composer: MessageComposer
  readonly memory: SimulatorStore
  readonly clock: { readonly now: () => number }
  /** Whom the program's mails are from. */
  readonly from: () => MailboxAddress
}

/** How often it went to whom, where nobody knows whether they have it; who has it, or may twice. */
interface DeliveryRecord {
  readonly to: Readonly<Record<string, "once" | "has it">>
}

type RecipientAnswer = DeliveryAnswer | { readonly answer: "had" }

/** Sends mails of the program. */
export function createSystemMailSender(ports: SystemMailPorts): Mailer["sendSystemMail"] {
  const handed: SimulatedRecords<DeliveryRecord> = ports.memory.recordsOf({
    provider: "mail",
    kind: "handed",
  })
  const underWay = new Map<string, Promise<RecipientAnswer>>()
  return async (mail): Promise<SystemMailAnswer> => {
    const came = await Promise.all(
      mail.recipients.map(async ({ personId, address }) => {
        const place = `${mail.mailId} ${personId}`
        // Whoever gave up waiting for it asks again while it goes on.
        const doing = underWay.get(place) ?? deliverTo(ports, handed, mail, personId, address)
        underWay.set(place, doing)
        return { personId, came: await doing.finally(() => underWay.delete(place)) }
      }),
    )
    return combineAnswers(came)
  }
}

async function deliverTo(
  { deliver, composer, from: sender, clock }: SystemMailPorts,
  handed: SimulatedRecords<DeliveryRecord>,
  { mailId, companyId, subject, text }: SystemMail,
  personId: PersonId,
  address: string,
): Promise<RecipientAnswer> {
  const mark = async (how: DeliveryRecord["to"][string] | null) => {
    await handed.update(mailId, companyId, (known) => {
      const { [personId]: _former, ...others } = known?.to ?? {}
      return { to: how === null ? others : { ...others, [personId]: how } }
    })
  }
  const known = (await handed.find(mailId))?.to[personId]
  if (known === "has it") return { answer: "had" }
  await mark(known === "once" ? "has it" : "once")
  const from = sender()
  const copyFor = await composer.compose({
    mailId,
    from,
    replyTo: null,
    subject,
    text,
    html: null,
    date: clock.now(),
  })
  const messageId = `<${mailId}.${personId}@${from.address.slice(from.address.indexOf("@") + 1)}>`
  const bytes = copyFor({ to: { name: "", address }, messageId, unsubscribeUrl: null })
  const envelope = { companyId, mailId, from: from.address, to: address }
  const came = await deliver({ ...envelope, addressTag: personId as string as AddressTag }, bytes)
  if (came.answer === "accepted") await mark("has it")
  else if (came.answer !== "unknown") await mark(known ?? null)
  // It went out twice, and nobody says what became of it: there is no third time.
  return came.answer === "unknown" && known === "once" ? { answer: "had" } : came
}

/** @throws ProviderUnavailable, ProviderOutcomeUnknown where it is to be sent again */
function combineAnswers(
  all: readonly { readonly personId: PersonId; readonly came: RecipientAnswer }[],
): SystemMailAnswer {
  const refused = all.flatMap(({ came }) => (came.answer === "refused" ? [came] : []))
  const [first] = refused
  if (first !== undefined) return { answer: "refused", code: first.code }
  if (all.some(({ came }) => came.answer === "unknown")) {
    throw new ProviderOutcomeUnknown("the server of mail did not answer")
  }
  if (all.some(({ came }) => came.answer === "deferred")) {
    throw new ProviderUnavailable("the server of mail took nothing")
  }
  const from = all.flatMap(({ came, personId }) => (came.answer === "rejected" ? [personId] : []))
  return from.length === 0 ? { answer: "taken" } : { answer: "bounced", from }
}
