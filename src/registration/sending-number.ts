import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { listHeldNumbers, canSendTexts } from "../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { canTextFrom } from "../../domain/registration/registration-views.ts"
import { parseFullNumber } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** A number that can send texts. */
export interface SendingNumber {
  readonly numberId: NumberId
  /** E.164. */
  readonly number: string
}

/**
 * Selects the requested or first number that can text; `unpaid` means refused rent, `unregistered` no approval.
 */
export async function selectSendingNumber(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  requested: string | null,
): Promise<SendingNumber | "none" | "unpaid" | "unregistered"> {
  const held = await runner.read(phoneStreamOf(companyId), listHeldNumbers)
  const e164 = requested === null ? null : parseFullNumber(requested)
  const tag = e164 === null ? null : await sealing.tag(companyId, e164)
  const candidates = held.filter(
    (number) =>
      number.sms &&
      (requested === null || number.numberId === requested || number.numberTag === tag),
  )
  if (candidates.length === 0) return "none"
  const registered = await runner.read(registrationStreamOf(companyId), (state) =>
    candidates.filter((number) => canTextFrom(state, number)),
  )
  if (registered.length === 0) return "unregistered"
  const chosen = registered.find(canSendTexts)
  if (chosen === undefined) return "unpaid"
  const number = await sealing.unseal(companyId, chosen.number)
  return number === null ? "none" : { numberId: chosen.numberId, number }
}
