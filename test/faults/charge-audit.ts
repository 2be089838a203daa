/** Checks after every fault that no acknowledged charge is lost and no text is charged twice. */
import { expect } from "vitest"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Company, CompanyOptions, OperationRunner } from "../support/company.ts"
import { makeCallsFree, makeCompany } from "../support/world.ts"
import { PRICE_MICROS } from "./text-load.ts"

const FUNDS = "1000"
/** Funds of a new sender. */
export const SENDER_FUNDS_MICROS = Number(FUNDS) * 1e6

/** Makes a company that sends texts, and makes API calls free. */
export async function makeSender(
  operator: OperationRunner,
  options: CompanyOptions = {},
): Promise<Company> {
  await makeCallsFree(operator)
  return makeCompany(operator, { funds: FUNDS, ...options })
}

interface ChargeTotals {
  /** Charges that were not refunded, by message id. */
  readonly chargesByMessage: ReadonlyMap<string, readonly string[]>
  readonly chargeCount: number
}

async function chargesOf(
  { operate }: OperationRunner,
  companyId: CompanyId,
): Promise<ChargeTotals> {
  const { events } = await operate("audit show", { stream: `ledger-${companyId}` })
  const eventsOfType = (type: string) =>
    events.filter((event: { type: string }) => event.type === type)
  const refunded = new Set(
    eventsOfType("ChargeReduced").map(({ data }: { data: { chargeId: string } }) => data.chargeId),
  )
  const chargesByMessage = new Map<string, string[]>()
  for (const { data } of eventsOfType("Charged")) {
    if (refunded.has(data.chargeId)) continue
    // Charges for API calls, which are free here.
    const isText = data.item === "text_segment"
    expect(data.amountMicros).toBe(isText ? String(PRICE_MICROS) : "0")
    if (!isText) continue
    const messageId = parseTextResource(data.resource)?.messageId ?? "no text"
    chargesByMessage.set(messageId, [...(chargesByMessage.get(messageId) ?? []), data.chargeId])
  }
  return { chargesByMessage, chargeCount: [...chargesByMessage.values()].flat().length }
}

/** A company and its acknowledged texts: message ids by idempotency key. */
interface SentTexts {
  readonly companyId: CompanyId
  readonly acknowledged: ReadonlyMap<string, string>
}

/**
 * Expects no lost charge, no double charge and a clean audit. With `isSettled` no charge may be pending,
 * and exactly the acknowledged texts are charged.
 */
export async function expectSoundLedger(
  operator: OperationRunner,
  sent: SentTexts,
  isSettled = false,
): Promise<void> {
  await expectExactCharges(operator, sent, isSettled)
  await expectCleanAudit(operator)
}

/** The same without the audit, which callers run once for many companies. */
export async function expectExactCharges(
  operator: OperationRunner,
  sent: SentTexts,
  isSettled = false,
): Promise<void> {
  const { operate } = operator
  const { companyId, acknowledged } = sent
  const { chargesByMessage, chargeCount } = await chargesOf(operator, companyId)
  const ids = [...acknowledged.values()]
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter((id) => !chargesByMessage.has(id))).toEqual([])
  expect([...chargesByMessage].filter(([, charges]) => charges.length !== 1)).toEqual([])

  const { charges: open } = await operate("charge pending", { company: companyId })
  const openIds = new Set(open.map(({ chargeId }: { chargeId: string }) => chargeId))
  const known = new Set(ids)
  const unknown = [...chargesByMessage].filter(
    ([id, [chargeId]]) => !known.has(id) && !openIds.has(chargeId),
  )
  expect(unknown).toEqual([])
  if (isSettled) {
    expect(openIds.size).toBe(0)
    expect(chargeCount).toBe(acknowledged.size)
  }
  const { balanceMicros } = await operate("company show", { company: companyId })
  expect(balanceMicros).toBe(SENDER_FUNDS_MICROS - chargeCount * PRICE_MICROS)
}

/** Expects a clean audit that includes the read models. */
export async function expectCleanAudit({ operate }: OperationRunner): Promise<void> {
  const { checks } = await operate("audit verify")
  expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  const names: string[] = checks.map(({ name }: { name: string }) => name)
  expect(names).toContain("read model charges = rebuild")
  expect(names).toContain("every pending charge has a job that settles it")
  const { projections } = await operate("projections status")
  expect(projections.filter(({ fault }: { fault: string | null }) => fault !== null)).toEqual([])
}
