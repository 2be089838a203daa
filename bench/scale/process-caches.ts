/** Which companies the processes of a simulation have in memory. */
import { seededRandom } from "../decide/traffic.ts"
import type { Population } from "./population.ts"
import { companyForCharge } from "./population.ts"
import type { CompanyOwners } from "./routing.ts"

/**
 * A process keeps 20,000 streams, those that are used. Of a company that texts these are its ledger, its
 * keys, its phone, and whom it texted last.
 */
const COMPANIES_EACH = 20_000 / 4
/** Charges that fill the memories before anything is looked at; of the second half it is counted who was there. */
const FILLED_BY = 600_000

/** The memories of all processes. */
export interface ProcessCaches {
  /** A charge of a company comes to a process. True where the process has to load it. */
  readonly use: (process: number, company: number) => boolean
  /** The part of all charges for which a company was loaded, before anybody died. */
  readonly loadedPart: number
}

/** Fills the memories by usual charges. */
export function openProcessCaches(
  population: Population,
  owners: CompanyOwners,
  { processes, seed }: { readonly processes: number; readonly seed: number },
): ProcessCaches {
  const kept = Array.from({ length: processes }, () => new Set<number>())
  const use = (process: number, company: number): boolean => {
    const own = kept[process] as Set<number>
    // Who is used goes behind all others.
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
