/**
 * Mails of the program over a mailer that knows bytes alone: what the built-in one remembers by itself is
 * remembered here, so that nobody gets one a second time. Whom it is handed over to is written down before,
 * so where nobody knows what became of it, also for a crash, there is at most one more copy.
 */
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { SimulatedThings, SimulatorMemory } from "../simulators/port.ts"
import type { AddressTag } from "../../../domain/email/ids.ts"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import type { Composer, HandAnswer, Mail, MailAnswer, Mailer, Named } from "./port.ts"

/** What it works with. */
export interface ByHandPorts {
  readonly hand: Mailer["hand"]
  readonly composer: Composer
  readonly memory: SimulatorMemory
  readonly clock: { readonly now: () => number }
  /** Whom the program's mails are from. */
  readonly from: () => Named
}

/** How often it went to whom, where nobody knows whether they have it; who has it, or may twice. */
interface Handed {
  readonly to: Readonly<Record<string, "once" | "has it">>
}

type Came = HandAnswer | { readonly answer: "had" }

/** Sends mails of the program. */
export function sendingByHand(ports: ByHandPorts): Mailer["send"] {
  const handed: SimulatedThings<Handed> = ports.memory.of({ provider: "mail", kind: "handed" })
  const underWay = new Map<string, Promise<Came>>()
  return async (mail): Promise<MailAnswer> => {
    const came = await Promise.all(
      mail.recipients.map(async ({ personId, address }) => {
        const place = `${mail.mailId} ${personId}`
        // Whoever gave up waiting for it asks again while it goes on.
        const doing = underWay.get(place) ?? handTo(ports, handed, mail, personId, address)
        underWay.set(place, doing)
        return { personId, came: await doing.finally(() => underWay.delete(place)) }
      }),
    )
    return answerFor(came)
  }
}

async function handTo(
  { hand, composer, from: sender, clock }: ByHandPorts,
  handed: SimulatedThings<Handed>,
  { mailId, companyId, subject, text }: Mail,
  personId: PersonId,
  address: string,
): Promise<Came> {
  const mark = async (how: Handed["to"][string] | null) => {
    await handed.change(mailId, companyId, (known) => {
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
    at: clock.now(),
  })
  const messageId = `<${mailId}.${personId}@${from.address.slice(from.address.indexOf("@") + 1)}>`
  const bytes = copyFor({ to: { name: "", address }, messageId, unsubscribeUrl: null })
  const envelope = { companyId, mailId, from: from.address, to: address }
  const came = await hand({ ...envelope, tag: personId as string as AddressTag }, bytes)
  if (came.answer === "accepted") await mark("has it")
  else if (came.answer !== "unknown") await mark(known ?? null)
  // It went out twice, and nobody says what became of it: there is no third time.
  return came.answer === "unknown" && known === "once" ? { answer: "had" } : came
}

/** @throws ProviderUnavailable, ProviderSilent where it is to be sent again */
function answerFor(
  all: readonly { readonly personId: PersonId; readonly came: Came }[],
): MailAnswer {
  const refused = all.flatMap(({ came }) => (came.answer === "refused" ? [came] : []))
  const [first] = refused
  if (first !== undefined) return { answer: "refused", code: first.code }
  if (all.some(({ came }) => came.answer === "unknown")) {
    throw new ProviderSilent("the server of mail did not answer")
  }
  if (all.some(({ came }) => came.answer === "deferred")) {
    throw new ProviderUnavailable("the server of mail took nothing")
  }
  const from = all.flatMap(({ came, personId }) => (came.answer === "rejected" ? [personId] : []))
  return from.length === 0 ? { answer: "taken" } : { answer: "bounced", from }
}
