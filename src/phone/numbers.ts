/** The numbers a company has. */
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { heldNumbers, maySend, numberOf } from "../../domain/phone/phone-views.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { isTextable } from "../../domain/registration/registration-views.ts"
import { fullNumber } from "../frame/kernel/phone-number.ts"
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
export async function sendingNumber(
  ports: Ports,
  companyId: CompanyId,
  asked: string | null,
): Promise<SendingNumber | "none" | "unpaid" | "unregistered"> {
  const held = await ports.runner.read(phoneOf(companyId), heldNumbers)
  const e164 = asked === null ? null : fullNumber(asked)
  const tag = e164 === null ? null : await ports.sealing.tag(companyId, e164)
  const meant = held.filter(
    (number) =>
      number.sms && (asked === null || number.numberId === asked || number.numberTag === tag),
  )
  if (meant.length === 0) return "none"
  const registered = await ports.runner.read(registrationOf(companyId), (state) =>
    meant.filter((number) => isTextable(state, number)),
  )
  if (registered.length === 0) return "unregistered"
  const chosen = registered.find(maySend)
  if (chosen === undefined) return "unpaid"
  const number = await ports.sealing.open(companyId, chosen.number)
  return number === null ? "none" : { numberId: chosen.numberId, number }
}

/** A number that the company has or had, opened. */
export interface KnownNumber {
  /** E.164. */
  readonly number: string
  readonly isTest: boolean
  readonly isHeld: boolean
}

/** A number that the company has or had; null where it never had one of this id, or it was erased. */
export async function knownNumber(
  ports: Ports,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<KnownNumber | null> {
  const known = await ports.runner.read(phoneOf(companyId), (state) => numberOf(state, numberId))
  const number = known === null ? null : await ports.sealing.open(companyId, known.number)
  if (known === null || number === null) return null
  return { number, isTest: known.test, isHeld: known.isHeld }
}
