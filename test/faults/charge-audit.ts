/** What must hold after every fault, and the company whose texts say so: nothing acknowledged is lost, nothing is there twice. */
import { expect } from "vitest"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Company, CompanyOptions, OperationRunner } from "../support/company.ts"
import { makeCallsFree, makeCompany } from "../support/world.ts"
import { PRICE_MICROS } from "./text-load.ts"

const FUNDS = "1000"
/** What a sender has to begin with. */
export const SENDER_FUNDS_MICROS = Number(FUNDS) * 1e6

/** Makes a company that sends texts; API calls cost nothing from then on. */
export async function makeSender(
  operator: OperationRunner,
  options: CompanyOptions = {},
): Promise<Company> {
  await makeCallsFree(operator)
  return makeCompany(operator, { funds: FUNDS, ...options })
}

interface ChargeTotals {
  /** Message id → the charges for it that were not given back. */
  readonly keptByResource: ReadonlyMap<string, readonly string[]>
  readonly keptCount: number
}

async function chargesOf(
  { operate }: OperationRunner,
  companyId: CompanyId,
): Promise<ChargeTotals> {
  const { events } = await operate("audit show", { stream: `ledger-${companyId}` })
  const of = (type: string) => events.filter((event: { type: string }) => event.type === type)
  const back = new Set(
    of("ChargeReduced").map(({ data }: { data: { chargeId: string } }) => data.chargeId),
  )
  const keptByResource = new Map<string, string[]>()
  for (const { data } of of("Charged")) {
    if (back.has(data.chargeId)) continue
    // The calls of a night, which cost nothing here.
    const isText = data.item === "text_segment"
    expect(data.amountMicros).toBe(isText ? String(PRICE_MICROS) : "0")
    if (!isText) continue
    const messageId = parseTextResource(data.resource)?.messageId ?? "no text"
    keptByResource.set(messageId, [...(keptByResource.get(messageId) ?? []), data.chargeId])
  }
  return { keptByResource, keptCount: [...keptByResource.values()].flat().length }
}

/** What a company's texts came to. */
interface SentTexts {
  readonly companyId: CompanyId
  readonly acknowledged: ReadonlyMap<string, string>
}

/**
 * Lost 0, double 0, and the whole audit. Where `isSettled`, all that was left open has been ended as
 * well: then what is charged is what was acknowledged, to the micro.
 */
export async function expectSoundLedger(
  operator: OperationRunner,
  sent: SentTexts,
  isSettled = false,
): Promise<void> {
  await expectExactCharges(operator, sent, isSettled)
  await expectCleanAudit(operator)
}

/** The same, without the audit: for many companies, which one audit looks at. */
export async function expectExactCharges(
  operator: OperationRunner,
  sent: SentTexts,
  isSettled = false,
): Promise<void> {
  const { operate } = operator
  const { companyId, acknowledged } = sent
  const { keptByResource, keptCount } = await chargesOf(operator, companyId)
  const ids = [...acknowledged.values()]
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter((id) => !keptByResource.has(id))).toEqual([])
  expect([...keptByResource].filter(([, charges]) => charges.length !== 1)).toEqual([])

  const { charges: open } = await operate("charge pending", { company: companyId })
  const openIds = new Set(open.map(({ chargeId }: { chargeId: string }) => chargeId))
  const known = new Set(ids)
  const unknown = [...keptByResource].filter(
    ([id, [chargeId]]) => !known.has(id) && !openIds.has(chargeId),
  )
  expect(unknown).toEqual([])
  if (isSettled) {
    expect(openIds.size).toBe(0)
    expect(keptCount).toBe(acknowledged.size)
  }
  const { balanceMicros } = await operate("company show", { company: companyId })
  expect(balanceMicros).toBe(SENDER_FUNDS_MICROS - keptCount * PRICE_MICROS)
}

/** The audit finds everything in order, and has looked at the read models too. */
export async function expectCleanAudit({ operate }: OperationRunner): Promise<void> {
  const { checks } = await operate("audit verify")
  expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  const names: string[] = checks.map(({ name }: { name: string }) => name)
  expect(names).toContain("read model charges = rebuild")
  expect(names).toContain("every pending charge has a job that settles it")
  const { projections } = await operate("projections status")
  expect(projections.filter(({ fault }: { fault: string | null }) => fault !== null)).toEqual([])
}
