/**
 * Mails of the ledger to a company's people: they are looked up, told once, and an operator is asked
 * where that cannot be.
 *
 * Who they are comes from the read model of people, caught up to everything stored: the state that
 * decides about access has no names and addresses, and a read model opens each of them once. The
 * mail's id derives from the fact, so doing it again, after a crash or a silence, is the same mail.
 */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { SystemMailAnswer } from "../../../adapters/providers/mailer/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
  withProviderTimeout,
} from "../../../adapters/providers/provider-errors.ts"
import type { JobResult } from "../../../adapters/postgres/jobs/port.ts"
import { companyProfileOf } from "../../../domain/access/access.ts"
import type { CompanyId, KeyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { PersonRow } from "../../../projections/access/people.ts"
import { derivedId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import { retryWithBackoff } from "./effect-times.ts"
import type { Job } from "./reaction.ts"

const MAIL_STUCK_AFTER_MS = 72 * 3_600_000
const READ_MODELS_WAIT_MS = 5_000

/** Work that comes of a fact of this instant, UTC milliseconds. */
type FactJob = Job<{ readonly at: number }>

/** Waits until the read models of people and keys show all that is stored; else why it is put off. */
export async function waitForPeopleReadModels(
  ports: Pick<Ports, "clock" | "projector" | "store">,
  work: FactJob,
): Promise<JobResult | null> {
  const head = await ports.store.head()
  const isShown = await ports.projector.waitUntilWritten(head, READ_MODELS_WAIT_MS, [
    "people",
    "keys",
  ])
  return isShown ? null : retryOrStuck(ports, work, "the read models of people and keys are behind")
}

/** Gives a mail to the mailer, to those of these people who were not erased. */
export async function mailPeople(
  ports: Pick<Ports, "clock" | "mailer" | "pacer">,
  work: FactJob,
  people: readonly Pick<PersonRow, "person_id" | "email">[],
  mail: {
    readonly subject: string
    readonly text: string
    /** The person or key it is about; null for the company. */
    readonly about: PersonId | KeyId | null
  },
): Promise<JobResult> {
  const { companyId } = work
  const recipients = people.flatMap(({ person_id: personId, email: address }) => {
    return address === null ? [] : [{ personId, address }]
  })
  // Everybody was erased: there is nobody to tell.
  if (recipients.length === 0) return { result: "done" }
  const mailId = derivedId("mail", companyId, work.name)
  try {
    const sent = ports.mailer.sendSystemMail({ mailId, companyId, recipients, ...mail })
    return jobResultOf(
      await withProviderTimeout(ports.pacer, "the mailer", sent),
      recipients.length,
    )
  } catch (error) {
    if (error instanceof ProviderUnavailable)
      return retryOrStuck(ports, work, "the mailer is not available")
    // The same mail again is safe, so a silent mailer is not asked but given it once more.
    if (error instanceof ProviderOutcomeUnknown)
      return retryOrStuck(ports, work, "the mailer did not answer")
    throw error
  }
}

/** The company's name; its id where its key was erased. */
export async function companyName(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
): Promise<string> {
  const standing = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  const name = standing === null ? null : await ports.sealing.unseal(companyId, standing.name)
  return name ?? companyId
}

/** What nobody got is the operator's: tried again, it goes to those who have not got it. */
function jobResultOf(answer: SystemMailAnswer, recipients: number): JobResult {
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
function retryOrStuck(ports: Pick<Ports, "clock">, work: FactJob, reason: string): JobResult {
  const { at } = work.payload
  if (ports.clock.now() - at < MAIL_STUCK_AFTER_MS) return retryWithBackoff(work, reason)
  return { result: "park", reason: `${reason}, for 72 hours` }
}

/** `2026-11-23 00:00 UTC`. */
export function formatUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`
}

/** Names are people's own words: whatever would begin a line or a header of its own is a space. */
export function toSingleLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
}
