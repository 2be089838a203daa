/**
 * Assigns each company a home worker: the worker that handles its calls and jobs, so that one
 * process writes its streams and caches them. It is an optimization only; the expected revision of
 * a stream protects against concurrent writers.
 */
import { createHash } from "node:crypto"

/** Which worker of a machine a process is. */
export interface WorkerSlot {
  /** From 1. */
  readonly number: number
  readonly total: number
}

const hashOf = (name: string): number => createHash("sha256").update(name).digest().readUInt32BE()

/**
 * Returns the home worker of a name, from 1, or an available worker if that one is unavailable.
 *
 * @param name a company's tag
 * @param isAvailable whether a worker accepts connections now; default all do
 * @returns null if none does
 */
export function homeWorkerOf(
  name: string,
  processes: number,
  isAvailable: (number: number) => boolean = () => true,
): number | null {
  const hash = hashOf(name)
  const home = (hash % processes) + 1
  if (isAvailable(home)) return home
  const others = Array.from({ length: processes }, (_, index) => index + 1).filter(isAvailable)
  return others[hash % others.length] ?? null
}

/**
 * The SQL for `homeWorkerOf` of a company's tag.
 *
 * @param companyId the expression of the id
 * @param processes the expression of the number of workers
 */
export const homeWorkerSql = (companyId: string, processes: string): string =>
  `('x' || left(encode(sha256(convert_to(substring(${companyId} from 4), 'UTF8')), 'hex'), 8))` +
  `::bit(32)::bigint % ${processes} + 1`
