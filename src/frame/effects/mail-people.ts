/**
 * Mails of the ledger to a company's people. The recipients come from the read model of people, caught up
 * to everything stored, because the access state has no names and addresses. The mail's id derives from
 * the fact, so a repeated attempt sends the same mail.
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

/** A job that a fact of this time enqueued, UTC milliseconds. */
type FactJob = Job<{ readonly at: number }>

/** Waits for the read models of people and keys; returns a retry if they stay behind. */
export async function waitForPeopleReadModels(
  ports: Pick<Ports, "clock" | "projector" | "store">,
  job: FactJob,
): Promise<JobResult | null> {
  const head = await ports.store.head()
  const isCurrent = await ports.projector.waitUntilWritten(head, READ_MODELS_WAIT_MS, [
    "people",
    "keys",
  ])
  return isCurrent
    ? null
    : retryOrStuck(ports, job, "the read models of people and keys are behind")
}

/** Sends a mail to those of these people who were not erased. */
export async function mailPeople(
  ports: Pick<Ports, "clock" | "mailer" | "pacer">,
  job: FactJob,
  people: readonly Pick<PersonRow, "person_id" | "email">[],
  mail: {
    readonly subject: string
    readonly text: string
    /** The person or key that the mail is about; null for the company. */
    readonly about: PersonId | KeyId | null
  },
): Promise<JobResult> {
  const { companyId } = job
  const recipients = people.flatMap(({ person_id: personId, email: address }) => {
    return address === null ? [] : [{ personId, address }]
  })
  // All were erased, so no recipient is left.
  if (recipients.length === 0) return { result: "done" }
  const mailId = derivedId("mail", companyId, job.name)
  try {
    const sent = ports.mailer.sendSystemMail({ mailId, companyId, recipients, ...mail })
    return jobResultOf(
      await withProviderTimeout(ports.pacer, "the mailer", sent),
      recipients.length,
    )
  } catch (error) {
    if (error instanceof ProviderUnavailable)
      return retryOrStuck(ports, job, "the mailer is not available")
    // The same mail id is safe to send again, so a retry needs no status check.
    if (error instanceof ProviderOutcomeUnknown)
      return retryOrStuck(ports, job, "the mailer did not answer")
    throw error
  }
}

/** Returns the company's name; its id if the company was erased. */
export async function companyName(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
): Promise<string> {
  const profile = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  const name = profile === null ? null : await ports.sealing.unseal(companyId, profile.name)
  return name ?? companyId
}

/** Maps the mailer's answer to a job result; a retry of a bounced mail reaches only those who lack it. */
function jobResultOf(answer: SystemMailAnswer, recipients: number): JobResult {
  switch (answer.answer) {
    case "accepted":
      return { result: "done" }
    case "bounced": {
      const reason = `the mail bounced from ${answer.from.length} of ${recipients} recipients`
      return { result: "stuck", reason }
    }
    case "rejected":
      return { result: "stuck", reason: `the mailer rejected the mail: ${answer.code}` }
  }
}

/** Retries for three days by the ledger's clock; then the job is stuck. */
function retryOrStuck(ports: Pick<Ports, "clock">, job: FactJob, reason: string): JobResult {
  const { at } = job.payload
  if (ports.clock.now() - at < MAIL_STUCK_AFTER_MS) return retryWithBackoff(job, reason)
  return { result: "stuck", reason: `${reason}; retried for 72 hours` }
}

/** Formats a time: `2026-11-23 00:00 UTC`. */
export function formatUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`
}

/** Replaces control characters in a person's text, so that it cannot begin a line or a mail header. */
export function toSingleLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
}
