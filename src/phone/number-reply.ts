import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { HeldNumber } from "../../domain/phone/phone-views.ts"
import { RENT_GRACE_MS } from "../../domain/phone/rent.ts"
import { unitPrice } from "../frame/effects/price.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** Fields that held and offered numbers share. */
export const numberFields = {
  number: z.string().describe("E.164: `+1` and ten digits"),
  kind: z.enum(["local", "toll_free"]).describe("Local, or toll-free"),
  locality: z.string().nullable().describe("Its town, or null"),
  region: z.string().nullable().describe("Its state, two letters, or null"),
  sms: z.boolean().describe("Whether it sends and receives texts"),
  mms: z.boolean().describe("Whether it receives texts with pictures"),
  voice: z.boolean().describe("Whether it takes calls"),
}

/** A number that a company holds. */
export const PhoneNumber = z
  .object({
    id: describedId("the number"),
    ...numberFields,
    monthlyMicros: z.int().describe("Price of the next month, micro-dollars"),
    paidThrough: isoTimeSchema
      .nullable()
      .describe("Rent is paid until then; null for a free number"),
    boughtAt: isoTimeSchema.describe("When it was bought, or the company was created"),
    releasedUnlessPaidBy: isoTimeSchema
      .nullable()
      .describe("Set if its rent was refused: it sends nothing, and is released at this time"),
  })
  .meta({ id: "PhoneNumber", description: "A number that the company holds" })

export type PhoneNumberReply = z.infer<typeof PhoneNumber>

const iso = (at: number) => new Date(at).toISOString()

/** Builds the reply for a number, with the price of its next month; null if its company was erased. */
export async function phoneNumberReply(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  held: HeldNumber,
): Promise<PhoneNumberReply | null> {
  const number = await ports.sealing.unseal(companyId, held.number)
  if (number === null) return null
  const { numberId: id, kind, givenLocality, region, sms, mms, voice } = held
  const given = givenLocality === null ? null : await ports.sealing.unseal(companyId, givenLocality)
  const locality = held.locality ?? given
  const { paidThrough, boughtAt, refusedSince } = held
  const isFree = paidThrough === null
  const price = isFree ? null : await unitPrice(ports, `number_month_${kind}`)
  const monthlyMicros = price?.unitPriceMicros ?? held.monthlyMicros
  return {
    id,
    number,
    kind,
    locality,
    region,
    sms,
    mms,
    voice,
    monthlyMicros,
    paidThrough: paidThrough === null ? null : iso(paidThrough),
    boughtAt: iso(boughtAt),
    releasedUnlessPaidBy: refusedSince === null ? null : iso(refusedSince + RENT_GRACE_MS),
  }
}
