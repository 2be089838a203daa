/** The owners of companies, and their owners after a process died or was added. */
import type { Population } from "./population.ts"
import { chargeShareOf } from "./population.ts"
import { ownerOf, ringOf } from "./ring.ts"

/** The owner of each company, by its number. */
export type CompanyOwners = Uint16Array

/** The addresses of a simulation's processes, as in an `upstream`. */
export function processAddresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}:3000`)
}

/** Routes all companies over so many processes. @param down the dead process, if any */
export function routeCompanies(
  { ringPositions }: Population,
  processes: number,
  down?: number,
): CompanyOwners {
  const ring = ringOf(processAddresses(processes))
  return Uint16Array.from(ringPositions, (place) => ownerOf(ring, place, down))
}

export interface ProcessShare {
  readonly companies: number
  /** The share of all charges that its companies make. */
  readonly part: number
}

/** The shares of all processes. */
export function processShares(
  population: Population,
  owners: CompanyOwners,
  processes: number,
): readonly ProcessShare[] {
  const shares = Array.from({ length: processes }, () => ({ companies: 0, part: 0 }))
  for (const [company, owner] of owners.entries()) {
    const share = shares[owner] as (typeof shares)[number]
    share.companies += 1
    share.part += chargeShareOf(population, company)
  }
  return shares
}

/** The companies whose owner has changed. */
export function movedCompanies(before: CompanyOwners, after: CompanyOwners): readonly number[] {
  const moved: number[] = []
  for (const [company, owner] of before.entries()) if (after[company] !== owner) moved.push(company)
  return moved
}
