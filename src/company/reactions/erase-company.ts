/**
 * Erases a company 14 days after it was deleted. Each step may be done again, so a crash at any place
 * is made up for by doing all of it once more:
 *
 * 1. The ledger says that there is no way back any more, or that the deletion was undone meanwhile. Where
 *    it is corrupt, the row's own time says so, and charges stay as they are.
 * 2. What was begun for it and has no end yet is given up: what it cost is given back.
 * 3. The company's key is destroyed. From here on nothing that was sealed for it can be read.
 * 4. `CompanyErased` frees the name, and the read models take out what they show of people.
 * 5. Rows that are no fold are deleted, what stands outside of PostgreSQL goes, and the database's files
 *    are rid of what was in them.
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

/** Erases what is personal of a company that is deleted for good. */
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
  discard: "owed",
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
      ports.log.warn(`work ${open.jobId} (${open.kind}) is erased without an end`, error)
    })
  }
  await ports.erasure.destroyKeys(companyId)
  if (!(await isGoneFromReadModels(ports, companyId, cause))) {
    return retryWithBackoff(work, "the read models are behind or stopped")
  }
  await ports.erasure.deleteRows(companyId)
  await ports.eraseExternalData(companyId)
  if (await ports.erasure.wipeFiles()) return { result: "done" }
  return retryWithBackoff(
    work,
    "a transaction is older than the deletion: PostgreSQL keeps for it what was deleted",
  )
}

/** Lets the erasure begin; else what becomes of its row. */
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
    if (!(ports.clock.now() >= from)) return { result: "later", dueAt: from }
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
  // It was deleted while its ledger was corrupt, and is whole again: from now on the ledger says when.
  if (payload.withoutLedgerFrom !== undefined) {
    await ports.runner.execute(stream, { type: "CloseLedger" }, cause)
  }
  const deletion = await ports.runner.readLatest(stream, deletionOf)
  // It was undone, or an operator called it early: it must not be done and gone before its time.
  if (deletion === null) return { result: "done" }
  if (!deletion.isErasing && ports.clock.now() < deletion.erasureStartsAt) {
    return { result: "later", dueAt: deletion.erasureStartsAt }
  }
  const begun = await ports.runner.execute(stream, { type: "StartErasure" }, cause)
  // It was undone just now.
  return begun.accepted ? null : { result: "done" }
}

/** Says that the company is erased, and waits until no read model shows anything of it. */
async function isGoneFromReadModels(
  ports: Pick<Ports, "projector" | "runner" | "store">,
  companyId: CompanyId,
  cause: Cause,
): Promise<boolean> {
  const command = { type: "EraseCompany" as const, companyId }
  const said = await ports.runner.execute(COMPANIES_STREAM, command, cause)
  if (!said.accepted) throw new Error(`${companyId} cannot be erased: ${said.refusal.message}`)
  return ports.projector.waitUntilWritten(await ports.store.head(), READ_MODELS_WAIT_MS)
}
