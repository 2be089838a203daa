/**
 * The simulated mailer: it accepts every mail, stores it and sends nothing. Operators set the next
 * outcomes with `simulator set mail …`.
 *
 * Subject and text are sealed for the company or the person they are about, and each address for
 * its person, so that erasure covers the stored mails.
 */
import PostalMime from "postal-mime"
import type { AddressTag } from "../../../domain/email/ids.ts"
import type { CompanyId, KeyId, PersonId, SealedText } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT } from "../../sealing/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type {
  SimulatedRecord,
  SimulatedRecords,
  Simulator,
  SimulatorStore,
  Simulators,
} from "../simulators/port.ts"
import type {
  MailEnvelope,
  DeliveryAnswer,
  SystemMailAnswer,
  Mailer,
  SimulatedMail,
  SimulatedMails,
} from "./port.ts"

/** The simulator's outcomes. */
export const MAIL_SIMULATOR = {
  name: "mail",
  outcomes: ["bounce", "refuse", "defer"],
} as const satisfies Simulator

const SLOW_DELAY_MS = 2_000
/** SMTP replies: mail refused, unknown mailbox, try again later. */
const REFUSED_CODE = "550"
const NO_MAILBOX_CODE = "5.1.1"
const TRY_LATER_CODE = "451"

/** A recipient of a stored mail. */
interface Recipient {
  /** The subject whose key seals the address: a person, or a recipient that a company writes to. */
  readonly personId: PersonId | AddressTag
  readonly address: SealedText
  readonly bounced: boolean
}

/** A stored mail; its id is the record's name. */
interface StoredSimulatedMail {
  readonly subject: SealedText
  readonly body: SealedText
  /** In the order in which they were added. */
  readonly recipients: readonly Recipient[]
}

export interface SimulatedMailerPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
  readonly sealing: Sealing
}

/**
 * Opens the simulated mailer. `sendSystemMail` throws ProviderUnavailable and
 * ProviderOutcomeUnknown as the simulator is set.
 */
export function openSimulatedMailer(ports: SimulatedMailerPorts): Mailer & SimulatedMails {
  const { simulatorMemory: memory, simulators, pacer, sealing } = ports
  const mails = memory.recordsOf<StoredSimulatedMail>({
    provider: MAIL_SIMULATOR.name,
    kind: "mail",
  })
  return {
    sendSystemMail: async (mail): Promise<SystemMailAnswer> => {
      const outcome = await simulators.nextOutcome(MAIL_SIMULATOR)
      if (outcome === "unavailable") throw new ProviderUnavailable("the mailer answered 503")
      if (outcome === "defer")
        throw new ProviderUnavailable(`the mailer answered ${TRY_LATER_CODE}`)
      if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
      if (outcome === "refuse") return { answer: "rejected", code: REFUSED_CODE }
      const recipients = await storeMail(ports, mails, mail, outcome === "bounce")
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the mailer did not answer")
      const from = recipients.filter(({ bounced }) => bounced).map(({ personId }) => personId)
      return from.length === 0
        ? { answer: "accepted" }
        : { answer: "bounced", from: from as readonly PersonId[] }
    },
    deliver: async (envelope, bytes) => {
      const outcome = await simulators.nextOutcome(MAIL_SIMULATOR)
      if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
      const rejection = rejectedDelivery(outcome)
      if (rejection !== null) return rejection
      await storeMail(ports, mails, await parseDelivery(envelope, bytes), outcome === "bounce")
      if (outcome === "bounce") return { answer: "rejected", code: NO_MAILBOX_CODE }
      if (outcome === "silent") return { answer: "unknown" }
      return { answer: "accepted", isDelivered: true }
    },
    list: async (companyId, limit) => {
      const found = await mails.listNewest(companyId, limit)
      return Promise.all(found.map((mail) => openMail(sealing, mail)))
    },
  }
}

/** The answer of an outcome that accepts nothing; null for the others. */
function rejectedDelivery(outcome: string): DeliveryAnswer | null {
  if (outcome === "unavailable") return { answer: "deferred", code: "no_connection" }
  if (outcome === "defer") return { answer: "deferred", code: TRY_LATER_CODE }
  return outcome === "refuse" ? { answer: "refused", code: REFUSED_CODE } : null
}

/** A mail before it is sealed. */
interface UnsealedMail {
  readonly mailId: string
  readonly companyId: CompanyId
  readonly recipients: readonly {
    readonly personId: Recipient["personId"]
    readonly address: string
  }[]
  readonly subject: string
  readonly text: string
  readonly about: PersonId | KeyId | null
}

/** Parses the text that the recipient would read. */
async function parseDelivery(envelope: MailEnvelope, bytes: Buffer): Promise<UnsealedMail> {
  const { mailId, companyId, addressTag, to } = envelope
  const { subject = "", text, html = "" } = await PostalMime.parse(bytes)
  const recipients = [{ personId: addressTag, address: to }]
  return { mailId, companyId, recipients, subject, text: text ?? html, about: null }
}

/** Stores a mail; returns all its recipients so far. */
async function storeMail(
  { sealing }: SimulatedMailerPorts,
  mails: SimulatedRecords<StoredSimulatedMail>,
  mail: UnsealedMail,
  bounced: boolean,
): Promise<readonly Recipient[]> {
  const added = await sealMail(sealing, mail, bounced)
  const known = await mails.update(mail.mailId, mail.companyId, (stored) =>
    stored === null ? added : addRecipients(stored, added.recipients),
  )
  return known.recipients
}

async function sealMail(
  sealing: Sealing,
  mail: UnsealedMail,
  bounced: boolean,
): Promise<StoredSimulatedMail> {
  const { companyId, about } = mail
  const [subject, body, recipients] = await Promise.all([
    sealing.seal(companyId, about ?? COMPANY_SUBJECT, mail.subject),
    sealing.seal(companyId, about ?? COMPANY_SUBJECT, mail.text),
    Promise.all(
      mail.recipients.map(async ({ personId, address }) => {
        return { personId, address: await sealing.seal(companyId, personId, address), bounced }
      }),
    ),
  ])
  return { subject, body, recipients }
}

/** Keeps the stored mail and adds the recipients that do not have it yet. */
function addRecipients(
  known: StoredSimulatedMail,
  added: readonly Recipient[],
): StoredSimulatedMail {
  const isKnown = ({ personId }: Recipient) =>
    known.recipients.some((one) => one.personId === personId)
  const updated = known.recipients.map((recipient) => {
    if (!recipient.bounced) return recipient
    return added.find(({ personId }) => personId === recipient.personId) ?? recipient
  })
  return { ...known, recipients: [...updated, ...added.filter((one) => !isKnown(one))] }
}

async function openMail(
  sealing: Sealing,
  { name: mailId, companyId, content, createdAt }: SimulatedRecord<StoredSimulatedMail>,
): Promise<SimulatedMail> {
  const { subject, body, recipients } = content
  const open = (sealed: SealedText) => sealing.unseal(companyId, sealed)
  const addresses = await Promise.all(recipients.map(({ address }) => open(address)))
  return {
    mailId,
    companyId,
    to: addresses.filter((address) => address !== null),
    subject: await open(subject),
    text: await open(body),
    sentAt: createdAt,
    isBounced: recipients.some(({ bounced }) => bounced),
  }
}
