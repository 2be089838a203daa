/**
 * The built-in mailer: it takes every mail, remembers it and sends nothing out of this machine. What it
 * does next can be set (`simulator set mail …`).
 *
 * What it remembers is sealed: subject and text for the company or for whom they are about, each
 * address for its own person, so that whoever is erased is erased here too.
 */
import PostalMime from "postal-mime"
import type { AddressTag } from "../../../domain/email/ids.ts"
import type { CompanyId, KeyId, PersonId, Sealed } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT } from "../../sealing/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type {
  Simulated,
  SimulatedThings,
  Simulator,
  SimulatorMemory,
  Simulators,
} from "../simulators/port.ts"
import type { Envelope, HandAnswer, MailAnswer, Mailer, SentMail, SentMails } from "./port.ts"

/** What it can be told to do. */
export const MAIL = {
  name: "mail",
  outcomes: ["bounce", "refuse", "defer"],
} as const satisfies Simulator

const SLOW_MS = 2_000
/** What mail servers say to a mail that they do not want, of somebody who is not there, and to come again. */
const REFUSED_CODE = "550"
const NOBODY_CODE = "5.1.1"
const LATER_CODE = "451"

/** Whom a mail was for. */
interface Recipient {
  /** Whose key the address is sealed with: a person's, or that of whom a company writes to. */
  readonly personId: PersonId | AddressTag
  readonly address: Sealed
  readonly bounced: boolean
}

/** What is remembered of a mail, by its id. */
interface TakenMail {
  readonly subject: Sealed
  readonly body: Sealed
  /** In the order in which they were first written to. */
  readonly recipients: readonly Recipient[]
}

/** What the built-in mailer works with. */
export interface MailerPorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
  readonly sealing: Sealing
}

/**
 * The built-in mailer, whose mailboxes are the recipients' own. Its `send` throws ProviderUnavailable and
 * ProviderSilent, as they are set to.
 */
export function openBuiltInMailer(ports: MailerPorts): Mailer & SentMails {
  const { memory, simulators, pacer, sealing } = ports
  const mails = memory.of<TakenMail>({ provider: MAIL.name, kind: "mail" })
  return {
    send: async (mail): Promise<MailAnswer> => {
      const outcome = await simulators.next(MAIL)
      if (outcome === "unavailable") throw new ProviderUnavailable("the mailer answered 503")
      if (outcome === "defer") throw new ProviderUnavailable(`the mailer answered ${LATER_CODE}`)
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      if (outcome === "refuse") return { answer: "refused", code: REFUSED_CODE }
      const recipients = await remember(ports, mails, mail, outcome === "bounce")
      if (outcome === "silent") throw new ProviderSilent("the mailer did not answer")
      const from = recipients.filter(({ bounced }) => bounced).map(({ personId }) => personId)
      return from.length === 0
        ? { answer: "taken" }
        : { answer: "bounced", from: from as readonly PersonId[] }
    },
    hand: async (envelope, bytes) => {
      const outcome = await simulators.next(MAIL)
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      const nothing = nothingTaken(outcome)
      if (nothing !== null) return nothing
      await remember(ports, mails, await taken(envelope, bytes), outcome === "bounce")
      if (outcome === "bounce") return { answer: "rejected", code: NOBODY_CODE }
      if (outcome === "silent") return { answer: "unknown" }
      return { answer: "accepted", isDelivered: true }
    },
    list: async (companyId, limit) => {
      const found = await mails.newest(companyId, limit)
      return Promise.all(found.map((mail) => opened(sealing, mail)))
    },
  }
}

/** What it answers where it takes nothing; null where it does. */
function nothingTaken(outcome: string): HandAnswer | null {
  if (outcome === "unavailable") return { answer: "deferred", code: "no_connection" }
  if (outcome === "defer") return { answer: "deferred", code: LATER_CODE }
  return outcome === "refuse" ? { answer: "refused", code: REFUSED_CODE } : null
}

/** A mail as it is remembered, before it is sealed. */
interface Readable {
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
async function taken(envelope: Envelope, bytes: Buffer): Promise<Readable> {
  const { mailId, companyId, tag, to } = envelope
  const { subject = "", text, html = "" } = await PostalMime.parse(bytes)
  const recipients = [{ personId: tag, address: to }]
  return { mailId, companyId, recipients, subject, text: text ?? html, about: null }
}

/** Remembers a mail; answers all whom it was for so far. */
async function remember(
  { sealing }: MailerPorts,
  mails: SimulatedThings<TakenMail>,
  mail: Readable,
  bounced: boolean,
): Promise<readonly Recipient[]> {
  const given = await sealedOf(sealing, mail, bounced)
  const known = await mails.change(mail.mailId, mail.companyId, (former) =>
    former === null ? given : reaching(former, given.recipients),
  )
  return known.recipients
}

async function sealedOf(sealing: Sealing, mail: Readable, bounced: boolean): Promise<TakenMail> {
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
function reaching(known: TakenMail, given: readonly Recipient[]): TakenMail {
  const isKnown = ({ personId }: Recipient) =>
    known.recipients.some((one) => one.personId === personId)
  const again = known.recipients.map((old) => {
    if (!old.bounced) return old
    return given.find(({ personId }) => personId === old.personId) ?? old
  })
  return { ...known, recipients: [...again, ...given.filter((one) => !isKnown(one))] }
}

async function opened(
  sealing: Sealing,
  { name: mailId, companyId, content, at }: Simulated<TakenMail>,
): Promise<SentMail> {
  const { subject, body, recipients } = content
  const open = (sealed: Sealed) => sealing.open(companyId, sealed)
  const addresses = await Promise.all(recipients.map(({ address }) => open(address)))
  return {
    mailId,
    companyId,
    to: addresses.filter((address) => address !== null),
    subject: await open(subject),
    text: await open(body),
    at,
    bounced: recipients.some(({ bounced }) => bounced),
  }
}
