/** The companies in the memory of a simulation's processes. */
import { seededRandom } from "../decide/traffic.ts"
import type { Population } from "./population.ts"
import { companyForCharge } from "./population.ts"
import type { CompanyOwners } from "./routing.ts"

/**
 * A process holds the 20,000 most recently used streams. A company that texts has four: its ledger, its keys, its phone
 * and its last recipient.
 */
const COMPANIES_EACH = 20_000 / 4
/** Number of charges that fill the caches before measuring; the second half is counted. */
const FILLED_BY = 600_000

export interface ProcessCaches {
  /** Routes a company's charge to a process. True if the process must load the company. */
  readonly use: (process: number, company: number) => boolean
  /** The share of all charges for which a company was loaded, before the death. */
  readonly loadedPart: number
}

/** Fills the caches by usual charges. */
export function openProcessCaches(
  population: Population,
  owners: CompanyOwners,
  { processes, seed }: { readonly processes: number; readonly seed: number },
): ProcessCaches {
  const kept = Array.from({ length: processes }, () => new Set<number>())
  const use = (process: number, company: number): boolean => {
    const own = kept[process] as Set<number>
    // The used company moves to the end.
    const isThere = own.delete(company)
    own.add(company)
    const [oldest] = own.size > COMPANIES_EACH ? own : []
    if (oldest !== undefined) own.delete(oldest)
    return !isThere
  }
  const random = seededRandom(seed)
  let loaded = 0
  for (let i = 0; i < FILLED_BY; i += 1) {
    const company = companyForCharge(population, random())
    const isLoaded = use(owners[company] as number, company)
    if (isLoaded && i >= FILLED_BY / 2) loaded += 1
  }
  return { use, loadedPart: loaded / (FILLED_BY / 2) }
}
