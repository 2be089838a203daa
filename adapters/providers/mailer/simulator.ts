/**
 * The built-in mailer: it takes every mail, remembers it and sends nothing out of this machine. What it
 * does next can be set (`simulator set mail …`).
 *
 * What it remembers is sealed: subject and text for the company or for whom they are about, each
 * address for its own person, so that whoever is erased is erased here too.
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

/** What it can be told to do. */
export const MAIL_SIMULATOR = {
  name: "mail",
  outcomes: ["bounce", "refuse", "defer"],
} as const satisfies Simulator

const SLOW_DELAY_MS = 2_000
/** What mail servers say to a mail that they do not want, of somebody who is not there, and to come again. */
const REFUSED_CODE = "550"
const NO_MAILBOX_CODE = "5.1.1"
const TRY_LATER_CODE = "451"

/** Whom a mail was for. */
interface Recipient {
  /** Whose key the address is sealed with: a person's, or that of whom a company writes to. */
  readonly personId: PersonId | AddressTag
  readonly address: SealedText
  readonly bounced: boolean
}

/** What is remembered of a mail, by its id. */
interface StoredSimulatedMail {
  readonly subject: SealedText
  readonly body: SealedText
  /** In the order in which they were first written to. */
  readonly recipients: readonly Recipient[]
}

/** What the built-in mailer works with. */
export interface SimulatedMailerPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
  readonly sealing: Sealing
}

/**
 * The built-in mailer, whose mailboxes are the recipients' own. Its `send` throws ProviderUnavailable and
 * ProviderOutcomeUnknown, as they are set to.
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
      if (outcome === "refuse") return { answer: "refused", code: REFUSED_CODE }
      const recipients = await storeMail(ports, mails, mail, outcome === "bounce")
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the mailer did not answer")
      const from = recipients.filter(({ bounced }) => bounced).map(({ personId }) => personId)
      return from.length === 0
        ? { answer: "taken" }
        : { answer: "bounced", from: from as readonly PersonId[] }
    },
    deliver: async (envelope, bytes) => {
      const outcome = await simulators.nextOutcome(MAIL_SIMULATOR)
      if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
      const nothing = rejectedDelivery(outcome)
      if (nothing !== null) return nothing
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

/** What it answers where it takes nothing; null where it does. */
function rejectedDelivery(outcome: string): DeliveryAnswer | null {
  if (outcome === "unavailable") return { answer: "deferred", code: "no_connection" }
  if (outcome === "defer") return { answer: "deferred", code: TRY_LATER_CODE }
  return outcome === "refuse" ? { answer: "refused", code: REFUSED_CODE } : null
}

/** A mail as it is remembered, before it is sealed. */
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

/** What people would read of it. */
async function parseDelivery(envelope: MailEnvelope, bytes: Buffer): Promise<UnsealedMail> {
  const { mailId, companyId, addressTag, to } = envelope
  const { subject = "", text, html = "" } = await PostalMime.parse(bytes)
  const recipients = [{ personId: addressTag, address: to }]
  return { mailId, companyId, recipients, subject, text: text ?? html, about: null }
}

/** Remembers a mail; answers all whom it was for so far. */
async function storeMail(
  { sealing }: SimulatedMailerPorts,
  mails: SimulatedRecords<StoredSimulatedMail>,
  mail: UnsealedMail,
  bounced: boolean,
): Promise<readonly Recipient[]> {
  const given = await sealMail(sealing, mail, bounced)
  const known = await mails.update(mail.mailId, mail.companyId, (former) =>
    former === null ? given : addRecipients(former, given.recipients),
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

/** The mail as it came first, and whoever has not got it yet. */
function addRecipients(
  known: StoredSimulatedMail,
  given: readonly Recipient[],
): StoredSimulatedMail {
  const isKnown = ({ personId }: Recipient) =>
    known.recipients.some((one) => one.personId === personId)
  const again = known.recipients.map((old) => {
    if (!old.bounced) return old
    return given.find(({ personId }) => personId === old.personId) ?? old
  })
  return { ...known, recipients: [...again, ...given.filter((one) => !isKnown(one))] }
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
