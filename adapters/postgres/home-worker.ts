/**
 * Which of several processes of a machine a company is at home in: its calls go there, and its work is done
 * there, so that one process writes its streams and has them in memory. It is an optimization: the exact
 * revision of a stream decides whoever writes.
 */
import { createHash } from "node:crypto"

/** Which of the processes of a machine one is. */
export interface WorkerSlot {
  /** From 1. */
  readonly number: number
  /** How many there are. */
  readonly total: number
}

const hashOf = (name: string): number => createHash("sha256").update(name).digest().readUInt32BE()

/**
 * The home of a name, from 1; where that one is away, one of those that are there.
 *
 * @param name a company's tag
 * @param isThere whether a process takes connections now; default all do
 * @returns null where none does
 */
export function homeWorkerOf(
  name: string,
  processes: number,
  isThere: (number: number) => boolean = () => true,
): number | null {
  const hash = hashOf(name)
  const home = (hash % processes) + 1
  if (isThere(home)) return home
  const others = Array.from({ length: processes }, (_, place) => place + 1).filter(isThere)
  return others[hash % others.length] ?? null
}

/**
 * The home of the company of an id, as PostgreSQL reckons it: `homeWorkerOf` of its tag.
 *
 * @param companyId the expression of the id
 * @param processes the expression of how many there are
 */
export const homeWorkerSql = (companyId: string, processes: string): string =>
  `('x' || left(encode(sha256(convert_to(substring(${companyId} from 4), 'UTF8')), 'hex'), 8))` +
  `::bit(32)::bigint % ${processes} + 1`
