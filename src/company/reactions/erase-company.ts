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
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { COMPANIES } from "../../../domain/company/aggregates.ts"
import { z } from "zod"
import { DamagedStream } from "../../../adapters/eventstore/port.ts"
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import { deletionOf, erasedFrom } from "../../../domain/charging/deletion.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { ErasurePayload } from "./company-deletion.ts"
import { ERASURE, erasureRow } from "./company-deletion.ts"

const READ_MODELS_WAIT_MS = 5_000

/** Erases what is personal of a company that is deleted for good. */
export const eraseCompany = reaction({
  kind: ERASURE,
  payload: z.object({ withoutLedgerFrom: z.number().optional() }),
  from: {
    LedgerClosed: ({ at }, { companyId }) => {
      const { name, subject } = erasureRow(companyId)
      return [{ name, subject, payload: {}, dueAt: erasedFrom(at) }]
    },
  },
  until: { LedgerReopened: (_fact, { companyId }) => [companyId] },
  giveUp: "owed",
  perform: erase,
})

type Erasing = Work<ErasurePayload>

async function erase(ports: Ports, work: Erasing): Promise<WorkResult> {
  const { companyId } = work
  const cause = causedBy(`erase-company ${companyId}`)
  const begun = await begin(ports, work, cause)
  if (begun !== null) return begun
  for (const open of await ports.erasure.openWork(companyId)) {
    await ports.giveUp(open, cause).catch((error: unknown) => {
      if (!(error instanceof DamagedStream)) throw error
      ports.log.warn(`work ${open.workId} (${open.kind}) is erased without an end`, error)
    })
  }
  await ports.erasure.destroyKeys(companyId)
  if (!(await isTakenOut(ports, companyId, cause))) {
    return retryLater(work, "the read models are behind or stopped")
  }
  await ports.erasure.deleteRows(companyId)
  await ports.eraseElsewhere(companyId)
  if (await ports.erasure.wipeFiles()) return { result: "done" }
  return retryLater(
    work,
    "a transaction is older than the deletion: PostgreSQL keeps for it what was deleted",
  )
}

/** Lets the erasure begin; else what becomes of its row. */
async function begin(
  ports: Pick<Ports, "clock" | "log" | "runner" | "work">,
  work: Erasing,
  cause: Cause,
): Promise<WorkResult | null> {
  try {
    return await beginByLedger(ports, work, cause)
  } catch (error) {
    if (!(error instanceof DamagedStream)) throw error
    const found = await ports.work.find(work.workId)
    const from = work.payload.withoutLedgerFrom ?? Date.parse(found?.dueAt ?? "")
    if (!(ports.clock.now() >= from)) return { result: "later", dueAt: from }
    ports.log.warn(`${work.companyId} is erased without its ledger, which is corrupt`, error)
    return null
  }
}

async function beginByLedger(
  ports: Pick<Ports, "clock" | "runner">,
  { companyId, payload }: Erasing,
  cause: Cause,
): Promise<WorkResult | null> {
  const stream = ledgerOf(companyId)
  // It was deleted while its ledger was corrupt, and is whole again: from now on the ledger says when.
  if (payload.withoutLedgerFrom !== undefined) {
    await ports.runner.execute(stream, { type: "CloseLedger" }, cause)
  }
  const deletion = await ports.runner.readLatest(stream, deletionOf)
  // It was undone, or an operator called it early: it must not be done and gone before its time.
  if (deletion === null) return { result: "done" }
  if (!deletion.erasing && ports.clock.now() < deletion.erasedFrom) {
    return { result: "later", dueAt: deletion.erasedFrom }
  }
  const begun = await ports.runner.execute(stream, { type: "BeginErasure" }, cause)
  // It was undone just now.
  return begun.accepted ? null : { result: "done" }
}

/** Says that the company is erased, and waits until no read model shows anything of it. */
async function isTakenOut(
  ports: Pick<Ports, "projector" | "runner" | "store">,
  companyId: CompanyId,
  cause: Cause,
): Promise<boolean> {
  const command = { type: "EraseCompany" as const, companyId }
  const said = await ports.runner.execute(COMPANIES, command, cause)
  if (!said.accepted) throw new Error(`${companyId} cannot be erased: ${said.refusal.message}`)
  return ports.projector.waitFor(await ports.store.head(), READ_MODELS_WAIT_MS)
}
