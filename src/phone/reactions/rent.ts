/** Rent: each month is charged on the day of buying (docs/decisions/phone.md); refused rent is charged again daily. */
import { z } from "zod"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefusalCode } from "../../../domain/charging/ledger-events.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { formatMonth } from "../../../domain/kernel/window.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import type { HeldNumber } from "../../../domain/phone/phone-views.ts"
import { numberOrderOf } from "../../../domain/phone/phone-views.ts"
import { RENT_GRACE_MS } from "../../../domain/phone/rent.ts"
import { chargeOnce } from "../../frame/effects/charges.ts"
import { unitPrice } from "../../frame/effects/price.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"

const DAY_MS = 24 * 3_600_000

const Payload = z.object({ numberId: idSchema(parseNumberId), dueAt: z.number() })
type Payload = z.infer<typeof Payload>

/** Names the job and the charge of a number's month. */
const nameOf = ({ numberId, dueAt }: Payload) => `${numberId}:${formatMonth(dueAt)}`

const rentJob = (payload: Payload) => ({ name: nameOf(payload), payload, dueAt: payload.dueAt })

/** Charges the rent of numbers. */
export const collectRent = reaction({
  kind: "rent",
  payload: Payload,
  on: {
    NumberAdded: ({ numberId, paidThrough: dueAt }) =>
      dueAt === null ? [] : [rentJob({ numberId, dueAt })],
    RentPaid: ({ numberId, through: dueAt }) => [rentJob({ numberId, dueAt })],
  },
  discard: "never",
  // An operator may retry refused rent at any time during the grace period.
  earliestRetryAt: ({ dueAt }) => dueAt,
  perform: async (ports, { companyId, payload }) => {
    const { dueAt } = payload
    if (ports.clock.now() < dueAt) return { result: "rescheduled", dueAt }
    const cause = causedBy(`rent ${nameOf(payload)}`)
    const held = await heldNumber(ports, companyId, payload.numberId)
    // The number was released, or this month is paid.
    if (held?.paidThrough !== payload.dueAt) return { result: "done" }
    const refused = await chargeRent(ports, companyId, held, payload, cause)
    const stream = phoneStreamOf(companyId)
    if (refused === null) {
      await ports.runner.execute(stream, { type: "PayRent", ...payload }, cause)
      return { result: "done" }
    }
    // A deleted company pays nothing: erasure releases its numbers; a restored one is charged again.
    if (refused === "ledger_closed") {
      const deletion = await ports.runner.readLatest(ledgerStreamOf(companyId), deletionOf)
      if (deletion?.isErasing === true) return { result: "done" }
      return { result: "rescheduled", dueAt: ports.clock.now() + DAY_MS }
    }
    await ports.runner.execute(stream, { type: "RefuseRent", ...payload, code: refused }, cause)
    return scheduleAfterRefusal(ports, companyId, payload.numberId, cause)
  },
})

async function heldNumber(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  numberId: NumberId,
) {
  const known = await runner.readLatest(phoneStreamOf(companyId), (state) =>
    numberOrderOf(state, numberId),
  )
  return known?.status === "held" ? known.number : null
}

/** Releases a number after its grace period; until then the rent is charged again a day later. */
async function scheduleAfterRefusal(
  ports: Pick<Ports, "clock" | "runner">,
  companyId: CompanyId,
  numberId: NumberId,
  cause: Cause,
): Promise<
  { readonly result: "done" } | { readonly result: "rescheduled"; readonly dueAt: number }
> {
  const since = (await heldNumber(ports, companyId, numberId))?.refusedSince ?? null
  if (since === null) return { result: "done" }
  const [now, until] = [ports.clock.now(), since + RENT_GRACE_MS]
  if (now < until) return { result: "rescheduled", dueAt: Math.min(now + DAY_MS, until) }
  const release = { type: "ReleaseNumber" as const, numberId, reason: "rent" as const }
  await ports.runner.execute(
    phoneStreamOf(companyId),
    { ...release, keyId: null, personId: null },
    cause,
  )
  return { result: "done" }
}

/** Charges a month once; null if it is charged, else the refusal code. */
async function chargeRent(
  ports: Pick<Ports, "clock" | "storeRefusal" | "projector" | "readAll" | "runner" | "store">,
  companyId: CompanyId,
  { kind }: HeldNumber,
  payload: Payload,
  cause: Cause,
): Promise<ChargeRefusalCode | null> {
  const { dueAt } = payload
  const price = await unitPrice(ports, `number_month_${kind}`)
  const named = { chargeId: nameOf(payload), searchedTo: null }
  const charge = (now: number) => ({
    ...price,
    resource: payload.numberId,
    exemption: "funds_while_above_zero" as const,
    dueAt,
    servedFrom: now > dueAt ? dueAt : null,
  })
  const refused = await chargeOnce(ports, companyId, named, charge, cause)
  // The deletion itself already records why a deleted company pays nothing.
  if (refused !== null && refused.code !== "ledger_closed") ports.storeRefusal(companyId, refused)
  return refused?.code ?? null
}
