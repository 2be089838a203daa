/**
 * Handing the copies of a mail over that are due: composed once, signed for each, some at a time. What
 * became of them is recorded as it comes, gathered while the former is being stored.
 */
import type {
  MessageComposer,
  DeliveryAnswer,
  DkimSigner,
} from "../../adapters/providers/mailer/port.ts"
import { UnsignedMail } from "../../adapters/providers/mailer/port.ts"
import { suppressionsStreamOf } from "../../domain/email/aggregates.ts"
import { isDeadAddressCode, isSuppressed } from "../../domain/email/suppressions.ts"
import type { MailCopyView, MailView } from "../../domain/email/mail.ts"
import type { MailOutcome } from "../../domain/email/mail-events.ts"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { unreachable } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { mailIdSuffixOf, returnPathOf, unsubscribeTokenOf } from "./mail-copy-tokens.ts"
import { readMailContent } from "./mail-content.ts"
import { parseStoredMailbox } from "./mailboxes.ts"
import { executeMailCommand } from "./paid-mail.ts"
import { unsubscribePath } from "./unsubscribe.ts"

/** As many as a relay has connections. */
const MAX_CONCURRENT_COPIES = 4

/** What is to be handed over. */
export interface CopyDispatch {
  readonly companyId: CompanyId
  readonly view: MailView
  readonly due: readonly MailCopyView[]
  readonly cause: Cause
  /** Where it aborts nothing more is begun, and what is under way is of unknown end. */
  readonly signal: AbortSignal
}

/** What all copies are made of. */
interface ComposedMail {
  readonly copyFor: Awaited<ReturnType<MessageComposer["compose"]>>
  readonly signer: DkimSigner
}

type CopyResult = DeliveryAnswer | { readonly answer: "bounced"; readonly code: string }

/** Hands over what is due, until all is done or it is stopped. */
export async function dispatchCopies(ports: Ports, handing: CopyDispatch): Promise<void> {
  const { companyId, view, due, cause, signal } = handing
  const { mailId } = view.accepted
  const made = await composeMail(ports, companyId, view)
  const recorder = new OutcomeRecorder((outcomes) =>
    executeMailCommand(ports, companyId, { type: "RecordMailOutcomes", mailId, outcomes }, cause),
  )
  const refused: { readonly n: number; readonly code: string }[] = []
  const waiting = [...due]
  let isHad = view.isChargeSettled
  // What one server refuses as a whole may be refused by all: that is found out before more are asked.
  const goesOn = () => !signal.aborted && waiting.length > 0 && (refused.length === 0 || isHad)
  const work = async () => {
    while (goesOn()) {
      const copy = waiting.shift() as MailCopyView
      const came = "answer" in made ? made : await dispatchCopy(ports, handing, made, copy)
      if (came.answer === "refused" && !namesDeadAddress(came.code)) {
        refused.push({ n: copy.recipientIndex, code: came.code })
        continue
      }
      isHad ||= came.answer === "accepted" || came.answer === "unknown"
      recorder.add(outcomeOf(copy.recipientIndex, came))
    }
  }
  // Who was just being asked may have taken it meanwhile: then the others are asked after all.
  do await Promise.all(Array.from({ length: MAX_CONCURRENT_COPIES }, work))
  while (goesOn())
  await recorder.flush()
  const [first] = refused
  if (first === undefined) return
  const recipientIndexes = refused.map(({ n }) => n)
  await executeMailCommand(
    ports,
    companyId,
    { type: "RefuseMail", mailId, recipientIndexes, code: first.code },
    cause,
  )
}

/** Composes it; else what becomes of all copies. */
async function composeMail(
  ports: Pick<Ports, "blobs" | "composer" | "dkimKeys" | "log">,
  companyId: CompanyId,
  { accepted: { mailId, sendingDomainId, at: date } }: MailView,
): Promise<ComposedMail | CopyResult> {
  const letter = await readMailContent(ports, companyId, mailId)
  // Its company was erased.
  if (letter === null) return { answer: "bounced", code: "erased" }
  const key = await ports.dkimKeys.find({ companyId, sendingDomainId })
  if (key === null) return deferUnsigned(ports, `${sendingDomainId} has no key to sign with`)
  const { from, replyTo, ...says } = letter
  const named = { from: partyOf(from), replyTo: replyTo === null ? null : partyOf(replyTo) }
  const copyFor = await ports.composer.compose({ mailId, date, ...says, ...named })
  return { copyFor, signer: { domain: from.domain, ...key } }
}

const partyOf = ({ name, address }: Mailbox) => ({ name: name ?? "", address })

async function dispatchCopy(
  ports: Pick<Ports, "baseUrl" | "composer" | "log" | "mailer" | "runner" | "sealing">,
  { companyId, view, signal }: CopyDispatch,
  { copyFor, signer }: ComposedMail,
  { recipientIndex, to, tag }: MailCopyView,
): Promise<CopyResult> {
  const { mailer, sealing, runner, composer, baseUrl } = ports
  const { mailId, sendingDomainId, hasUnsubscribe } = view.accepted
  const opened = await sealing.unseal(companyId, to)
  if (opened === null) return { answer: "bounced", code: "erased" }
  // As late as can be: whoever asked for it just now is not written to.
  const isOut = isSuppressed(tag, sendingDomainId)
  if (await runner.readLatest(suppressionsStreamOf(companyId), isOut)) {
    return { answer: "bounced", code: "suppressed" }
  }
  const mailbox = parseStoredMailbox(opened)
  const name = { mailId, recipientIndex: recipientIndex }
  const token = unsubscribeTokenOf(sealing, name)
  const copy = copyFor({
    to: partyOf(mailbox),
    messageId: `<${mailIdSuffixOf(mailId)}.${recipientIndex}@${signer.domain}>`,
    unsubscribeUrl: hasUnsubscribe ? `${baseUrl()}${unsubscribePath(token)}` : null,
  })
  try {
    const bytes = await composer.sign(copy, signer)
    const from = returnPathOf(sealing, name, signer.domain)
    const envelope = { companyId, mailId, addressTag: tag, from, to: mailbox.address }
    return await unknownWhenStopped(mailer.deliver(envelope, bytes), signal)
  } catch (error) {
    if (!(error instanceof UnsignedMail)) throw error
    return deferUnsigned(ports, error.message)
  }
}

/** Nothing leaves unsigned: it waits until somebody has mended that. */
function deferUnsigned({ log }: Pick<Ports, "log">, why: string): CopyResult {
  log.warn(`a mail waits: ${why}`, null)
  return { answer: "deferred", code: "not_signed" }
}

/** What is under way at a stop is of unknown end. */
async function unknownWhenStopped(
  handed: Promise<DeliveryAnswer>,
  signal: AbortSignal,
): Promise<DeliveryAnswer> {
  const stopped = Promise.withResolvers<DeliveryAnswer>()
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
const namesDeadAddress = (code: string): boolean => code.includes(".") && isDeadAddressCode(code)

function outcomeOf(recipientIndex: number, came: CopyResult): MailOutcome {
  switch (came.answer) {
    case "accepted":
      return { recipientIndex, result: came.isDelivered ? "delivered" : "relayed", code: null }
    case "refused":
    case "rejected":
    case "bounced":
      return { recipientIndex, result: "bounced", code: came.code }
    case "deferred":
      return { recipientIndex, result: "deferred", code: came.code }
    case "unknown":
      return { recipientIndex, result: "unknown", code: null }
    default:
      return unreachable(came)
  }
}

/** Records outcomes in the order in which they came, those gathered meanwhile together. */
class OutcomeRecorder {
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
  async flush(): Promise<void> {
    await this.#storing
  }

  async #store(): Promise<void> {
    // What comes in the same moment is stored together.
    await Promise.resolve()
    while (this.#gathered.length > 0) await this.#record(this.#gathered.splice(0))
    this.#storing = null
  }
}
