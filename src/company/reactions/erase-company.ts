/**
 * Erases a company 14 days after it was deleted. Every step can be repeated, so after a crash all
 * steps run again:
 *
 * 1. The ledger records that the erasure has begun, unless the deletion was undone. If the ledger
 * is corrupt, the job's own time decides, and charges stay as they are.
 * 2. Unfinished work of the company is discarded and its charges are refunded.
 * 3. The company's key is destroyed: nothing that was sealed for it can be read from here on.
 * 4. `CompanyErased` frees the name, and the read models delete personal data.
 * 5. Rows outside read models are deleted, then external data, then the remains in database files.
 */
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { COMPANIES_STREAM } from "../../../domain/company/aggregates.ts"
import { z } from "zod"
import { CorruptStream } from "../../../adapters/eventstore/port.ts"
import type { JobResult } from "../../../adapters/postgres/jobs/port.ts"
import { deletionOf, erasureStartsAt } from "../../../domain/charging/deletion.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import type { Job } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { ErasurePayload } from "./company-deletion.ts"
import { ERASE_COMPANY_JOB, erasureJob } from "./company-deletion.ts"

const READ_MODELS_WAIT_MS = 5_000

/** Erases the personal data of a company that was deleted for good. */
export const eraseCompany = reaction({
  kind: ERASE_COMPANY_JOB,
  payload: z.object({ withoutLedgerFrom: z.number().optional() }),
  on: {
    LedgerClosed: ({ at }, { companyId }) => {
      const { name, subject } = erasureJob(companyId)
      return [{ name, subject, payload: {}, dueAt: erasureStartsAt(at) }]
    },
  },
  endOn: { LedgerReopened: (_fact, { companyId }) => [companyId] },
  discard: "never",
  perform: erase,
})

type ErasureJob = Job<ErasurePayload>

async function erase(ports: Ports, work: ErasureJob): Promise<JobResult> {
  const { companyId } = work
  const cause = causedBy(`erase-company ${companyId}`)
  const begun = await beginErasure(ports, work, cause)
  if (begun !== null) return begun
  for (const open of await ports.erasure.listOpenJobs(companyId)) {
    await ports.discardJob(open, cause).catch((error: unknown) => {
      if (!(error instanceof CorruptStream)) throw error
      ports.log.warn(`job ${open.jobId} (${open.kind}) is erased without a recorded outcome`, error)
    })
  }
  await ports.erasure.destroyKeys(companyId)
  if (!(await isGoneFromReadModels(ports, companyId, cause))) {
    return retryWithBackoff(work, "The read models are behind or stopped.")
  }
  await ports.erasure.deleteRows(companyId)
  await ports.eraseExternalData(companyId)
  if (await ports.erasure.wipeFiles()) return { result: "done" }
  return retryWithBackoff(
    work,
    "A transaction older than the deletion is open: PostgreSQL still keeps the deleted rows for it.",
  )
}

/** Starts the erasure and returns null, or returns the job's result if it cannot start. */
async function beginErasure(
  ports: Pick<Ports, "clock" | "log" | "runner" | "jobs">,
  work: ErasureJob,
  cause: Cause,
): Promise<JobResult | null> {
  try {
    return await beginErasureByLedger(ports, work, cause)
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
    const found = await ports.jobs.find(work.jobId)
    const from = work.payload.withoutLedgerFrom ?? Date.parse(found?.dueAt ?? "")
    if (!(ports.clock.now() >= from)) return { result: "rescheduled", dueAt: from }
    ports.log.warn(`${work.companyId} is erased without its ledger, which is corrupt`, error)
    return null
  }
}

async function beginErasureByLedger(
  ports: Pick<Ports, "clock" | "runner">,
  { companyId, payload }: ErasureJob,
  cause: Cause,
): Promise<JobResult | null> {
  const stream = ledgerStreamOf(companyId)
  // The company was deleted while its ledger was corrupt and the ledger is repaired: it decides
  // from here on.
  if (payload.withoutLedgerFrom !== undefined) {
    await ports.runner.execute(stream, { type: "CloseLedger" }, cause)
  }
  const deletion = await ports.runner.readLatest(stream, deletionOf)
  // The deletion was undone, or an operator ran the job early: it must not end before it is due.
  if (deletion === null) return { result: "done" }
  if (!deletion.isErasing && ports.clock.now() < deletion.erasureStartsAt) {
    return { result: "rescheduled", dueAt: deletion.erasureStartsAt }
  }
  const begun = await ports.runner.execute(stream, { type: "StartErasure" }, cause)
  // A concurrent command undid the deletion.
  return begun.accepted ? null : { result: "done" }
}

/** Records that the company is erased, and waits until no read model shows its data. */
async function isGoneFromReadModels(
  ports: Pick<Ports, "projector" | "runner" | "store">,
  companyId: CompanyId,
  cause: Cause,
): Promise<boolean> {
  const command = { type: "EraseCompany" as const, companyId }
  const erased = await ports.runner.execute(COMPANIES_STREAM, command, cause)
  if (!erased.accepted) throw new Error(`${companyId} cannot be erased: ${erased.refusal.message}`)
  return ports.projector.waitUntilWritten(await ports.store.head(), READ_MODELS_WAIT_MS)
}
