/** Which number of a company a text goes out from. */
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { listHeldNumbers, canSendTexts } from "../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { canTextFrom } from "../../domain/registration/registration-views.ts"
import { parseFullNumber } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** A number to send from. */
export interface SendingNumber {
  readonly numberId: NumberId
  /** E.164. */
  readonly number: string
}

/**
 * The number that a text goes out from: the one asked for by id or by number, or the company's
 * first. `none` where the company keeps no such number that can send texts, `unpaid` where it owes rent,
 * `unregistered` where texting is meant and carriers have not approved the number.
 */
export async function selectSendingNumber(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  asked: string | null,
): Promise<SendingNumber | "none" | "unpaid" | "unregistered"> {
  const held = await runner.read(phoneStreamOf(companyId), listHeldNumbers)
  const e164 = asked === null ? null : parseFullNumber(asked)
  const tag = e164 === null ? null : await sealing.tag(companyId, e164)
  const meant = held.filter(
    (number) =>
      number.sms && (asked === null || number.numberId === asked || number.numberTag === tag),
  )
  if (meant.length === 0) return "none"
  const registered = await runner.read(registrationStreamOf(companyId), (state) =>
    meant.filter((number) => canTextFrom(state, number)),
  )
  if (registered.length === 0) return "unregistered"
  const chosen = registered.find(canSendTexts)
  if (chosen === undefined) return "unpaid"
  const number = await sealing.unseal(companyId, chosen.number)
  return number === null ? "none" : { numberId: chosen.numberId, number }
}
