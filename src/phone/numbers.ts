/** The numbers a company can send from. */
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { heldNumbers } from "../../domain/phone/phone.ts"
import type { Ports } from "../frame/ports.ts"
import { fullNumber } from "./phone-number.ts"

/** A number to send from. */
export interface SendingNumber {
  readonly numberId: NumberId
  /** E.164. */
  readonly number: string
}

/**
 * The number that a text goes out from: the one asked for by id or by number, or the company's
 * first. Null where the company keeps no such number that can send texts.
 */
export async function sendingNumber(
  ports: Ports,
  companyId: CompanyId,
  asked: string | null,
): Promise<SendingNumber | null> {
  const held = await ports.runner.read(phoneOf(companyId), heldNumbers)
  const e164 = asked === null ? null : fullNumber(asked)
  const tag = e164 === null ? null : await ports.sealing.tag(companyId, e164)
  const chosen = held.find(
    (number) =>
      number.sms && (asked === null || number.numberId === asked || number.numberTag === tag),
  )
  if (chosen === undefined) return null
  const number = await ports.sealing.open(companyId, chosen.number)
  return number === null ? null : { numberId: chosen.numberId, number }
}

/** A number the company keeps, E.164; null where it keeps none of this id or it was erased. */
export async function numberText(
  ports: Ports,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<string | null> {
  const held = await ports.runner.read(phoneOf(companyId), heldNumbers)
  const sealed = held.find((number) => number.numberId === numberId)?.number ?? null
  return sealed === null ? null : ports.sealing.open(companyId, sealed)
}
