/** Dispatches due copies, several concurrently, and records their outcomes in batches. */
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

/** The number of connections that a relay gets. */
const MAX_CONCURRENT_COPIES = 4

export interface CopyDispatch {
  readonly companyId: CompanyId
  readonly view: MailView
  readonly due: readonly MailCopyView[]
  readonly cause: Cause
  /** When it aborts, no copy is started, and copies in progress have an unknown outcome. */
  readonly signal: AbortSignal
}

interface ComposedMail {
  readonly copyFor: Awaited<ReturnType<MessageComposer["compose"]>>
  readonly signer: DkimSigner
}

type CopyResult = DeliveryAnswer | { readonly answer: "bounced"; readonly code: string }

/** Dispatches the due copies until all are done or the signal aborts. */
export async function dispatchCopies(ports: Ports, dispatch: CopyDispatch): Promise<void> {
  const { companyId, view, due, cause, signal } = dispatch
  const { mailId } = view.accepted
  const composed = await composeMail(ports, companyId, view)
  const recorder = new OutcomeRecorder((outcomes) =>
    executeMailCommand(ports, companyId, { type: "RecordMailOutcomes", mailId, outcomes }, cause),
  )
  const refused: { readonly recipientIndex: number; readonly code: string }[] = []
  const queue = [...due]
  let isAccepted = view.isChargeSettled
  // A server that rejects the complete mail may reject it for every recipient, so wait for it first.
  const canContinue = () =>
    !signal.aborted && queue.length > 0 && (refused.length === 0 || isAccepted)
  const work = async () => {
    while (canContinue()) {
      const copy = queue.shift() as MailCopyView
      const result =
        "answer" in composed ? composed : await dispatchCopy(ports, dispatch, composed, copy)
      if (result.answer === "refused" && !namesDeadAddress(result.code)) {
        refused.push({ recipientIndex: copy.recipientIndex, code: result.code })
        continue
      }
      isAccepted ||= result.answer === "accepted" || result.answer === "unknown"
      recorder.add(outcomeOf(copy.recipientIndex, result))
    }
  }
  // A copy in progress may have been accepted, and then the remaining copies are sent after all.
  do await Promise.all(Array.from({ length: MAX_CONCURRENT_COPIES }, work))
  while (canContinue())
  await recorder.flush()
  const [first] = refused
  if (first === undefined) return
  const recipientIndexes = refused.map(({ recipientIndex }) => recipientIndex)
  await executeMailCommand(
    ports,
    companyId,
    { type: "RefuseMail", mailId, recipientIndexes, code: first.code },
    cause,
  )
}

/** Composes the mail; otherwise returns the result of all its copies. */
async function composeMail(
  ports: Pick<Ports, "blobs" | "composer" | "dkimKeys" | "log">,
  companyId: CompanyId,
  { accepted: { mailId, sendingDomainId, at: date } }: MailView,
): Promise<ComposedMail | CopyResult> {
  const mailContent = await readMailContent(ports, companyId, mailId)
  // The company was erased.
  if (mailContent === null) return { answer: "bounced", code: "erased" }
  const key = await ports.dkimKeys.find({ companyId, sendingDomainId })
  if (key === null) return deferUnsigned(ports, `${sendingDomainId} has no DKIM key`)
  const { from, replyTo, ...content } = mailContent
  const mailboxes = { from: partyOf(from), replyTo: replyTo === null ? null : partyOf(replyTo) }
  const copyFor = await ports.composer.compose({ mailId, date, ...content, ...mailboxes })
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
  // Checked as late as possible, so that a recipient who just unsubscribed gets no mail.
  const isOut = isSuppressed(tag, sendingDomainId)
  if (await runner.readLatest(suppressionsStreamOf(companyId), isOut)) {
    return { answer: "bounced", code: "suppressed" }
  }
  const mailbox = parseStoredMailbox(opened)
  const name = { mailId, recipientIndex }
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

/** Nothing is sent unsigned: the mail waits until an operator has fixed the key. */
function deferUnsigned({ log }: Pick<Ports, "log">, reason: string): CopyResult {
  log.warn(`a mail is delayed because it cannot be signed: ${reason}`, null)
  return { answer: "deferred", code: "not_signed" }
}

async function unknownWhenStopped(
  delivery: Promise<DeliveryAnswer>,
  signal: AbortSignal,
): Promise<DeliveryAnswer> {
  const stopped = Promise.withResolvers<DeliveryAnswer>()
  const stop = () => stopped.resolve({ answer: "unknown" })
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop)
  try {
    return await Promise.race([delivery, stopped.promise])
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

/**
 * Whether a mail's rejection names a dead mailbox; a bare reply code is usually a filter's verdict on the
 * content.
 */
const namesDeadAddress = (code: string): boolean => code.includes(".") && isDeadAddressCode(code)

function outcomeOf(recipientIndex: number, result: CopyResult): MailOutcome {
  switch (result.answer) {
    case "accepted":
      return { recipientIndex, result: result.isDelivered ? "delivered" : "relayed", code: null }
    case "refused":
    case "rejected":
    case "bounced":
      return { recipientIndex, result: "bounced", code: result.code }
    case "deferred":
      return { recipientIndex, result: "deferred", code: result.code }
    case "unknown":
      return { recipientIndex, result: "unknown", code: null }
    default:
      return unreachable(result)
  }
}

/** Records outcomes in their order of arrival, in batches. */
class OutcomeRecorder {
  readonly #record: (outcomes: readonly MailOutcome[]) => Promise<unknown>
  #outcomes: MailOutcome[] = []
  #storing: Promise<void> | null = null

  constructor(record: (outcomes: readonly MailOutcome[]) => Promise<unknown>) {
    this.#record = record
  }

  add(outcome: MailOutcome): void {
    this.#outcomes.push(outcome)
    this.#storing ??= this.#store()
    // `flush` reports the failure.
    this.#storing.catch(() => undefined)
  }

  /** Waits until all outcomes are stored. @throws the error of an append */
  async flush(): Promise<void> {
    await this.#storing
  }

  async #store(): Promise<void> {
    // Outcomes of the same moment are stored together.
    await Promise.resolve()
    while (this.#outcomes.length > 0) await this.#record(this.#outcomes.splice(0))
    this.#storing = null
  }
}
