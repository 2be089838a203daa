/** Whom a call may be forwarded to: looked at when settings change, and again when it is dialled. */
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { isDestinationOn } from "../../domain/phone/phone-views.ts"
import type { Sealed } from "../../domain/kernel/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { holderOfCalled } from "../../projections/voice/called-numbers.ts"
import { callable } from "../frame/kernel/phone-number.ts"
import type { Ports } from "../frame/ports.ts"

/**
 * The number to ring, E.164; null where nobody may be called there: it is none, costs whoever calls it, its
 * country is off, or it is a number of this installation, which could forward the call back for ever.
 */
export async function numberToRing(
  { readAll, runner, sealing }: Ports,
  companyId: CompanyId,
  phone: Sealed,
): Promise<string | null> {
  const found = callable((await sealing.open(companyId, phone)) ?? "")
  if (found === null) return null
  const { number, country } = found
  const isOn = await runner.read(phoneOf(companyId), (state) => isDestinationOn(state, country))
  if (!isOn || (await holderOfCalled(readAll, number)) !== null) return null
  return number
}
