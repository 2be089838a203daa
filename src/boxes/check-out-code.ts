/** The company's code, into a box: on the branch that was asked for, a new one from the default branch. */
import type { BoxHandle, GitIdentity } from "../../adapters/sandbox/boxhost/port.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { findPersonRow } from "../../projections/access/people.ts"
import type { Ports } from "../frame/ports.ts"

/** There is no code, or git in the box did not take it. */
export class CheckoutFailed extends Error {
  override readonly name = "CheckoutFailed"
}

/** What is to be in a box, and for whom. */
export interface CheckoutRequest {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly branch: string
}

/** A company's code, as it was found. */
type FoundCode = NonNullable<Awaited<ReturnType<Ports["companyCode"]["find"]>>>

/** The commit that a box on a branch begins at; null where the repository has none. */
export function startCommitOf({ tips, defaultBranch }: FoundCode, branch: string): string | null {
  return tips.get(branch) ?? tips.get(defaultBranch) ?? null
}

/**
 * Brings it, and answers the commit that the files are of.
 *
 * @throws CheckoutFailed; what the host of boxes and the repositories throw
 */
export async function checkOutCompanyCode(
  ports: Pick<Ports, "boxCode" | "companyCode" | "readAs">,
  box: BoxHandle,
  { companyId, personId, branch }: CheckoutRequest,
): Promise<string> {
  const code = await ports.companyCode.find(companyId)
  if (code === null) throw new CheckoutFailed("the company has no repository")
  const tip = startCommitOf(code, branch)
  if (tip === null) throw new CheckoutFailed("the company's repository has no commit")
  const reading = new AbortController()
  const pack = ports.companyCode.pack(companyId, tip, reading.signal)
  try {
    const identity = await gitPersonOf(ports, companyId, personId)
    const fault = await ports.boxCode.checkOut(box, { pack, branch, tip, identity })
    if (fault !== null) throw new CheckoutFailed(fault)
    return tip
  } finally {
    reading.abort()
  }
}

/** A person as git names them; null where they were erased, or are not shown yet. */
export async function gitPersonOf(
  { readAs }: Pick<Ports, "readAs">,
  companyId: CompanyId,
  personId: PersonId,
): Promise<GitIdentity | null> {
  const row = await readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  if (row === null || row.email === null) return null
  return { name: row.name ?? row.email, email: row.email }
}
