/**
 * Handing the copies of a mail over that are due: composed once, signed for each, some at a time. What
 * became of them is recorded as it comes, gathered while the former is being stored.
 */
import type { Composer, HandAnswer, Signer } from "../../adapters/providers/mailer/port.ts"
import { UnsignedMail } from "../../adapters/providers/mailer/port.ts"
import { suppressionsOf } from "../../domain/email/aggregates.ts"
import { isDeadAddress, isSuppressed } from "../../domain/email/suppressions.ts"
import type { CopyView, MailView } from "../../domain/email/mail.ts"
import type { MailOutcome } from "../../domain/email/mail-events.ts"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { unreachable } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { mailTagOf, returnPathOf, unsubscribeTokenOf } from "./copy-names.ts"
import { readLetter } from "./letters.ts"
import { keptMailbox } from "./mailboxes.ts"
import { recordMail } from "./mails.ts"
import { unsubscribePath } from "./unsubscribe.ts"

/** As many as a relay has connections. */
const AT_ONCE = 4

/** What is to be handed over. */
export interface Handing {
  readonly companyId: CompanyId
  readonly view: MailView
  readonly due: readonly CopyView[]
  readonly cause: Cause
  /** Where it aborts nothing more is begun, and what is under way is of unknown end. */
  readonly signal: AbortSignal
}

/** What all copies are made of. */
interface Made {
  readonly copyFor: Awaited<ReturnType<Composer["compose"]>>
  readonly signer: Signer
}

type Came = HandAnswer | { readonly answer: "bounced"; readonly code: string }

/** Hands over what is due, until all is done or it is stopped. */
export async function handOver(ports: Ports, handing: Handing): Promise<void> {
  const { companyId, view, due, cause, signal } = handing
  const { mailId } = view.accepted
  const made = await make(ports, companyId, view)
  const recorder = new Recorder((outcomes) =>
    recordMail(ports, companyId, { type: "ProgressMail", mailId, outcomes }, cause),
  )
  const refused: { readonly n: number; readonly code: string }[] = []
  const waiting = [...due]
  let isHad = view.isEarned
  // What one server refuses as a whole may be refused by all: that is found out before more are asked.
  const goesOn = () => !signal.aborted && waiting.length > 0 && (refused.length === 0 || isHad)
  const work = async () => {
    while (goesOn()) {
      const copy = waiting.shift() as CopyView
      const came = "answer" in made ? made : await handOne(ports, handing, made, copy)
      if (came.answer === "refused" && !namesDeadAddress(came.code)) {
        refused.push({ n: copy.recipientIndex, code: came.code })
        continue
      }
      isHad ||= came.answer === "accepted" || came.answer === "unknown"
      recorder.add(outcomeOf(copy.recipientIndex, came))
    }
  }
  // Who was just being asked may have taken it meanwhile: then the others are asked after all.
  do await Promise.all(Array.from({ length: AT_ONCE }, work))
  while (goesOn())
  await recorder.stored()
  const [first] = refused
  if (first === undefined) return
  const ns = refused.map(({ n }) => n)
  await recordMail(ports, companyId, { type: "RefuseMail", mailId, ns, code: first.code }, cause)
}

/** Composes it; else what becomes of all copies. */
async function make(
  ports: Pick<Ports, "blobs" | "composer" | "dkimKeys" | "log">,
  companyId: CompanyId,
  { accepted: { mailId, sendingDomainId, at } }: MailView,
): Promise<Made | Came> {
  const letter = await readLetter(ports, companyId, mailId)
  // Its company was erased.
  if (letter === null) return { answer: "bounced", code: "erased" }
  const key = await ports.dkimKeys.find({ companyId, sendingDomainId })
  if (key === null) return notSigned(ports, `${sendingDomainId} has no key to sign with`)
  const { from, replyTo, ...says } = letter
  const named = { from: partyOf(from), replyTo: replyTo === null ? null : partyOf(replyTo) }
  const copyFor = await ports.composer.compose({ mailId, at, ...says, ...named })
  return { copyFor, signer: { domain: from.domain, ...key } }
}

const partyOf = ({ name, address }: Mailbox) => ({ name: name ?? "", address })

async function handOne(
  ports: Pick<Ports, "baseUrl" | "composer" | "log" | "mailer" | "runner" | "sealing">,
  { companyId, view, signal }: Handing,
  { copyFor, signer }: Made,
  { recipientIndex, to, tag }: CopyView,
): Promise<Came> {
  const { mailer, sealing, runner, composer, baseUrl } = ports
  const { mailId, sendingDomainId, hasUnsubscribe } = view.accepted
  const opened = await sealing.open(companyId, to)
  if (opened === null) return { answer: "bounced", code: "erased" }
  // As late as can be: whoever asked for it just now is not written to.
  const isOut = isSuppressed(tag, sendingDomainId)
  if (await runner.readLatest(suppressionsOf(companyId), isOut)) {
    return { answer: "bounced", code: "suppressed" }
  }
  const mailbox = keptMailbox(opened)
  const name = { mailId, n: recipientIndex }
  const token = unsubscribeTokenOf(sealing, name)
  const copy = copyFor({
    to: partyOf(mailbox),
    messageId: `<${mailTagOf(mailId)}.${recipientIndex}@${signer.domain}>`,
    unsubscribeUrl: hasUnsubscribe ? `${baseUrl()}${unsubscribePath(token)}` : null,
  })
  try {
    const bytes = await composer.sign(copy, signer)
    const from = returnPathOf(sealing, name, signer.domain)
    const envelope = { companyId, mailId, tag, from, to: mailbox.address }
    return await unlessStopped(mailer.hand(envelope, bytes), signal)
  } catch (error) {
    if (!(error instanceof UnsignedMail)) throw error
    return notSigned(ports, error.message)
  }
}

/** Nothing leaves unsigned: it waits until somebody has mended that. */
function notSigned({ log }: Pick<Ports, "log">, why: string): Came {
  log.warn(`a mail waits: ${why}`, null)
  return { answer: "deferred", code: "not_signed" }
}

/** What is under way at a stop is of unknown end. */
async function unlessStopped(
  handed: Promise<HandAnswer>,
  signal: AbortSignal,
): Promise<HandAnswer> {
  const stopped = Promise.withResolvers<HandAnswer>()
  const stop = () => stopped.resolve({ answer: "unknown" })
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop)
  try {
    return await Promise.race([handed, stopped.promise])
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

/**
 * Whether a rejection of the whole mail names its one recipient's mailbox: some servers look it up behind the
 * data. A reply code alone is there mostly a filter's word about the content.
 */
const namesDeadAddress = (code: string): boolean => code.includes(".") && isDeadAddress(code)

function outcomeOf(n: number, came: Came): MailOutcome {
  switch (came.answer) {
    case "accepted":
      return { recipientIndex: n, result: came.isDelivered ? "delivered" : "relayed", code: null }
    case "refused":
    case "rejected":
    case "bounced":
      return { recipientIndex: n, result: "bounced", code: came.code }
    case "deferred":
      return { recipientIndex: n, result: "deferred", code: came.code }
    case "unknown":
      return { recipientIndex: n, result: "unknown", code: null }
    default:
      return unreachable(came)
  }
}

/** Records outcomes in the order in which they came, those gathered meanwhile together. */
class Recorder {
  readonly #record: (outcomes: readonly MailOutcome[]) => Promise<unknown>
  #gathered: MailOutcome[] = []
  #storing: Promise<void> | null = null

  constructor(record: (outcomes: readonly MailOutcome[]) => Promise<unknown>) {
    this.#record = record
  }

  add(outcome: MailOutcome): void {
    this.#gathered.push(outcome)
    this.#storing ??= this.#store()
    // Whoever waits until all is stored hears of what went wrong.
    this.#storing.catch(() => undefined)
  }

  /** Resolves once all are stored. @throws what an append throws */
  async stored(): Promise<void> {
    await this.#storing
  }

  async #store(): Promise<void> {
    // What comes in the same moment is stored together.
    await Promise.resolve()
    while (this.#gathered.length > 0) await this.#record(this.#gathered.splice(0))
    this.#storing = null
  }
}
