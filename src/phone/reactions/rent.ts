/**
 * Rent: each month a number is held is charged on the day of buying (decisions.md §9). What is refused
 * is asked for again each day; after the days of grace the number is let go.
 */
import { z } from "zod"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefusalCode } from "../../../domain/charging/ledger-formats.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { monthName } from "../../../domain/kernel/window.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import type { HeldNumber } from "../../../domain/phone/phone-views.ts"
import { orderOf } from "../../../domain/phone/phone-views.ts"
import { GRACE_MS } from "../../../domain/phone/rent.ts"
import { chargeByName } from "../../frame/effects/charges.ts"
import { priceOfOne } from "../../frame/effects/price.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"

const DAY_MS = 24 * 3_600_000

const Payload = z.object({ numberId: idSchema(parseNumberId), dueAt: z.number() })
type Payload = z.infer<typeof Payload>

/** The month of a number from an instant on, by the name of its row and of its charge. */
const nameOf = ({ numberId, dueAt }: Payload) => `${numberId}:${monthName(dueAt)}`

const rowOf = (payload: Payload) => ({ name: nameOf(payload), payload, dueAt: payload.dueAt })

/** Charges the rent of numbers. */
export const rent = reaction({
  kind: "rent",
  payload: Payload,
  from: {
    NumberAdded: ({ numberId, paidThrough: dueAt }) =>
      dueAt === null ? [] : [rowOf({ numberId, dueAt })],
    RentPaid: ({ numberId, through: dueAt }) => [rowOf({ numberId, dueAt })],
  },
  giveUp: "owed",
  // What was refused when it was due may be asked for again at any time of its days of grace.
  mayRunFrom: ({ dueAt }) => dueAt,
  perform: async (ports, { companyId, payload }) => {
    const { dueAt } = payload
    if (ports.clock.now() < dueAt) return { result: "later", dueAt }
    const cause = causedBy(`rent ${nameOf(payload)}`)
    const held = await heldNumber(ports, companyId, payload.numberId)
    // It was let go, or this month is paid.
    if (held?.paidThrough !== payload.dueAt) return { result: "done" }
    const refused = await chargeRent(ports, companyId, held, payload, cause)
    const stream = phoneOf(companyId)
    if (refused === null) {
      await ports.runner.execute(stream, { type: "PayRent", ...payload }, cause)
      return { result: "done" }
    }
    // Nothing is sold to a deleted company: its numbers end with it, or its rent is asked for again.
    if (refused === "ledger_closed") {
      const deletion = await ports.runner.readLatest(ledgerOf(companyId), deletionOf)
      if (deletion?.erasing === true) return { result: "done" }
      return { result: "later", dueAt: ports.clock.now() + DAY_MS }
    }
    await ports.runner.execute(stream, { type: "RefuseRent", ...payload, code: refused }, cause)
    return afterRefusal(ports, companyId, payload.numberId, cause)
  },
})

async function heldNumber(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  numberId: NumberId,
) {
  const known = await runner.readLatest(phoneOf(companyId), (state) => orderOf(state, numberId))
  return known?.is === "held" ? known.number : null
}

/** Lets a number go whose days of grace are over; else the rent is asked for again a day later. */
async function afterRefusal(
  ports: Pick<Ports, "clock" | "runner">,
  companyId: CompanyId,
  numberId: NumberId,
  cause: Cause,
): Promise<{ readonly result: "done" } | { readonly result: "later"; readonly dueAt: number }> {
  const since = (await heldNumber(ports, companyId, numberId))?.refusedSince ?? null
  if (since === null) return { result: "done" }
  const [now, until] = [ports.clock.now(), since + GRACE_MS]
  if (now < until) return { result: "later", dueAt: Math.min(now + DAY_MS, until) }
  const release = { type: "ReleaseNumber" as const, numberId, reason: "rent" as const }
  await ports.runner.execute(phoneOf(companyId), { ...release, keyId: null, personId: null }, cause)
  return { result: "done" }
}

/** Charges a month, once; null where it is charged, else why not. */
async function chargeRent(
  ports: Pick<Ports, "clock" | "keepRefusal" | "projector" | "readAll" | "runner" | "store">,
  companyId: CompanyId,
  { kind }: HeldNumber,
  payload: Payload,
  cause: Cause,
): Promise<ChargeRefusalCode | null> {
  const { dueAt } = payload
  const price = await priceOfOne(ports, `number_month_${kind}`)
  const named = { chargeId: nameOf(payload), knownTo: null }
  const charge = (now: number) => ({
    ...price,
    resource: payload.numberId,
    exemption: "funds_while_above_zero" as const,
    dueAt,
    servedFrom: now > dueAt ? dueAt : null,
  })
  const refused = await chargeByName(ports, companyId, named, charge, cause)
  // That a deleted company pays nothing is said by its deletion.
  if (refused !== null && refused.code !== "ledger_closed") ports.keepRefusal(companyId, refused)
  return refused?.code ?? null
}
