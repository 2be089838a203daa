import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import type { ListedWork, TakenWork } from "./port.ts"

/** What of the table `ledger.jobs` is read. */
export interface Row {
  readonly job_id: number
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly company_id: string | null
  readonly payload: string
  readonly attempts: number
  readonly due_at: Date
  readonly retry_at: Date | null
  readonly stuck: string | null
  readonly process_id: string | null
  readonly dispatched_at: Date | null
  readonly trace: string | null
}

function companyIn({ company_id: companyId }: Row): CompanyId | null {
  return companyId === null ? null : parseCompanyId(companyId)
}

/** A row as whoever works at it has it. */
export function taken(row: Row): TakenWork {
  return {
    workId: row.job_id,
    kind: row.kind,
    name: row.name,
    subject: row.subject,
    companyId: companyIn(row),
    payload: JSON.parse(row.payload) as unknown,
    tries: row.attempts,
    isHandedOver: row.dispatched_at !== null,
    trace: row.trace,
  }
}

/** Whether nobody has it in hand, neither a process nor an operator. */
const isWaiting = (row: Row): boolean => row.process_id === null && row.stuck === null

/** A row as an operator reads it. */
export function listed(row: Row): ListedWork {
  return {
    workId: row.job_id,
    kind: row.kind,
    name: row.name,
    companyId: companyIn(row),
    dueAt: row.due_at.toISOString(),
    tries: row.attempts,
    nextTryAt: isWaiting(row) ? (row.retry_at?.toISOString() ?? null) : null,
    running: row.process_id !== null,
    parked: row.stuck,
  }
}
