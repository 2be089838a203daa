/**
 * Sends the program's mails over a mailer that only delivers bytes. Each delivery is recorded
 * before it starts, so after a crash or an unknown outcome a recipient gets at most one more copy.
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

export interface SystemMailPorts {
  readonly deliver: Mailer["deliver"]
  readonly composer: MessageComposer
  readonly memory: SimulatorStore
  readonly clock: { readonly now: () => number }
  /** The sender of the program's mails. */
  readonly from: () => MailboxAddress
}

/**
 * Delivery state by person: sent `once` with an unknown outcome, or `has it`, also after a second
 * such send.
 */
interface DeliveryRecord {
  readonly to: Readonly<Record<string, "once" | "has it">>
}

type RecipientAnswer = DeliveryAnswer | { readonly answer: "had" }

/** Creates the sender of system mails. */
export function createSystemMailSender(ports: SystemMailPorts): Mailer["sendSystemMail"] {
  const deliveries: SimulatedRecords<DeliveryRecord> = ports.memory.recordsOf({
    provider: "mail",
    kind: "deliveries",
  })
  const inFlight = new Map<string, Promise<RecipientAnswer>>()
  return async (mail): Promise<SystemMailAnswer> => {
    const answer = await Promise.all(
      mail.recipients.map(async ({ personId, address }) => {
        const deliveryKey = `${mail.mailId} ${personId}`
        // A caller that gave up waiting asks again while the first delivery continues.
        const delivery =
          inFlight.get(deliveryKey) ?? deliverTo(ports, deliveries, mail, personId, address)
        inFlight.set(deliveryKey, delivery)
        return { personId, answer: await delivery.finally(() => inFlight.delete(deliveryKey)) }
      }),
    )
    return combineAnswers(answer)
  }
}

async function deliverTo(
  { deliver, composer, from: sender, clock }: SystemMailPorts,
  deliveries: SimulatedRecords<DeliveryRecord>,
  { mailId, companyId, subject, text }: SystemMail,
  personId: PersonId,
  address: string,
): Promise<RecipientAnswer> {
  const setState = async (state: DeliveryRecord["to"][string] | null) => {
    await deliveries.update(mailId, companyId, (known) => {
      const { [personId]: _previous, ...others } = known?.to ?? {}
      return { to: state === null ? others : { ...others, [personId]: state } }
    })
  }
  const known = (await deliveries.find(mailId))?.to[personId]
  if (known === "has it") return { answer: "had" }
  await setState(known === "once" ? "has it" : "once")
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
  const answer = await deliver({ ...envelope, addressTag: personId as string as AddressTag }, bytes)
  if (answer.answer === "accepted") await setState("has it")
  else if (answer.answer !== "unknown") await setState(known ?? null)
  // Two sends had an unknown outcome: don't send a third copy.
  return answer.answer === "unknown" && known === "once" ? { answer: "had" } : answer
}

/** @throws ProviderUnavailable, ProviderOutcomeUnknown if the mail has to be sent again */
function combineAnswers(
  all: readonly { readonly personId: PersonId; readonly answer: RecipientAnswer }[],
): SystemMailAnswer {
  const refused = all.flatMap(({ answer }) => (answer.answer === "refused" ? [answer] : []))
  const [first] = refused
  if (first !== undefined) return { answer: "rejected", code: first.code }
  if (all.some(({ answer }) => answer.answer === "unknown")) {
    throw new ProviderOutcomeUnknown("the mail server did not answer")
  }
  if (all.some(({ answer }) => answer.answer === "deferred")) {
    throw new ProviderUnavailable("the mail server accepted nothing")
  }
  const from = all.flatMap(({ answer, personId }) =>
    answer.answer === "rejected" ? [personId] : [],
  )
  return from.length === 0 ? { answer: "accepted" } : { answer: "bounced", from }
}
