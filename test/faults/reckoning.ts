/** What must hold after every fault, and the company whose texts say so: nothing acknowledged is lost, nothing is there twice. */
import { expect } from "vitest"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import { PRICE_MICROS } from "./callers.ts"

/** A company with a key that may do everything. */
export interface Sender {
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  readonly keyId: KeyId
  readonly key: string
  readonly fundsMicros: number
}

/** Makes a company with $1,000; API calls cost nothing from then on. */
export async function makeSender(operate: Operate, name: string): Promise<Sender> {
  await operate("price set", { item: "api_call", dollars: "0" })
  const made = await operate("company create", { name, funds: "1000" })
  const { companyId, ownerId } = made as { companyId: CompanyId; ownerId: PersonId }
  await operate("card set", { company: companyId, verified: true })
  const given = { company: companyId, person: ownerId, allOperations: true }
  const { keyId, key } = await operate("key create", given)
  return { companyId, ownerId, keyId, key, fundsMicros: 1_000_000_000 }
}

/** Runs an operator's operation. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Operate = (name: string, input?: object) => Promise<any>

interface Charges {
  /** Message id → the charges for it that were not given back. */
  readonly kept: ReadonlyMap<string, readonly string[]>
  readonly keptCount: number
}

async function chargesOf(operate: Operate, companyId: CompanyId): Promise<Charges> {
  const { events } = await operate("audit show", { stream: `ledger-${companyId}` })
  const of = (type: string) => events.filter((event: { type: string }) => event.type === type)
  const back = new Set(
    of("ChargeGivenBack").map(({ data }: { data: { chargeId: string } }) => data.chargeId),
  )
  const kept = new Map<string, string[]>()
  for (const { data } of of("Charged")) {
    if (back.has(data.chargeId)) continue
    // The calls of a night, which cost nothing here.
    const isText = data.item === "text_segment"
    expect(data.amountMicros).toBe(isText ? String(PRICE_MICROS) : "0")
    if (!isText) continue
    const messageId = parseTextResource(data.resource)?.messageId ?? "no text"
    kept.set(messageId, [...(kept.get(messageId) ?? []), data.chargeId])
  }
  return { kept, keptCount: [...kept.values()].flat().length }
}

/** What a company's texts came to. */
interface Sent {
  readonly companyId: CompanyId
  readonly fundsMicros: number
  readonly acknowledged: ReadonlyMap<string, string>
}

/**
 * Lost 0, double 0, and the whole audit. Where `isSettled`, all that was left open has been ended as
 * well: then what is charged is what was acknowledged, to the micro.
 */
export async function reckon(operate: Operate, sent: Sent, isSettled = false): Promise<void> {
  await reckonCharges(operate, sent, isSettled)
  await expectAudit(operate)
}

/** The same, without the audit: for many companies, which one audit looks at. */
export async function reckonCharges(
  operate: Operate,
  sent: Sent,
  isSettled = false,
): Promise<void> {
  const { companyId, fundsMicros, acknowledged } = sent
  const { kept, keptCount } = await chargesOf(operate, companyId)
  const ids = [...acknowledged.values()]
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter((id) => !kept.has(id))).toEqual([])
  expect([...kept].filter(([, charges]) => charges.length !== 1)).toEqual([])

  const { charges: open } = await operate("charges open", { company: companyId })
  const openIds = new Set(open.map(({ chargeId }: { chargeId: string }) => chargeId))
  const known = new Set(ids)
  const unknown = [...kept].filter(([id, [chargeId]]) => !known.has(id) && !openIds.has(chargeId))
  expect(unknown).toEqual([])
  if (isSettled) {
    expect(openIds.size).toBe(0)
    expect(keptCount).toBe(acknowledged.size)
  }
  const { balanceMicros } = await operate("company show", { company: companyId })
  expect(balanceMicros).toBe(fundsMicros - keptCount * PRICE_MICROS)
}

/** The audit finds everything in order, and has looked at the read models too. */
export async function expectAudit(operate: Operate): Promise<void> {
  const { checks } = await operate("audit verify")
  expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  const names: string[] = checks.map(({ name }: { name: string }) => name)
  expect(names).toContain("read model charges = rebuild")
  expect(names).toContain("every open charge has somebody who ends it")
  const { projections } = await operate("projections status")
  expect(projections.filter(({ fault }: { fault: string | null }) => fault !== null)).toEqual([])
}
