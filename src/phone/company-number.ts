import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { findNumber } from "../../domain/phone/phone-views.ts"
import type { Ports } from "../frame/ports.ts"

/** A company's number, unsealed. */
export interface CompanyNumber {
  /** E.164. */
  readonly number: string
  readonly isTest: boolean
  readonly isHeld: boolean
}

/** Finds a number that the company holds or held; null if the id is unknown or the number was erased. */
export async function findCompanyNumber(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<CompanyNumber | null> {
  const known = await ports.runner.read(phoneStreamOf(companyId), (state) =>
    findNumber(state, numberId),
  )
  const number = known === null ? null : await ports.sealing.unseal(companyId, known.number)
  if (known === null || number === null) return null
  return { number, isTest: known.test, isHeld: known.isHeld }
}
