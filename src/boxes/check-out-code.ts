/** Checks out the company's code in a box: an existing branch, or a new one from the default branch. */
import type { BoxHandle, GitIdentity } from "../../adapters/sandbox/boxhost/port.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { findPersonRow } from "../../projections/access/people.ts"
import type { Ports } from "../frame/ports.ts"

/** The company has no code, or git in the box rejected it. */
export class CheckoutFailed extends Error {
  override readonly name = "CheckoutFailed"
}

/** Whose code to check out, and on which branch. */
export interface CheckoutRequest {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly branch: string
}

type FoundCode = NonNullable<Awaited<ReturnType<Ports["companyCode"]["find"]>>>

/** The commit that a box on a branch starts from; null if the repository has none. */
export function startCommitOf({ tips, defaultBranch }: FoundCode, branch: string): string | null {
  return tips.get(branch) ?? tips.get(defaultBranch) ?? null
}

/**
 * Checks out the code and returns the commit of the files.
 *
 * @throws CheckoutFailed, and the errors of the box host and of the repositories
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

/** A person's name and address for git; null if erased, or not in the read model yet. */
export async function gitPersonOf(
  { readAs }: Pick<Ports, "readAs">,
  companyId: CompanyId,
  personId: PersonId,
): Promise<GitIdentity | null> {
  const row = await readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  if (row === null || row.email === null) return null
  return { name: row.name ?? row.email, email: row.email }
}
