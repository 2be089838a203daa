/** Numbers as callers see them. */
import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { HeldNumber } from "../../domain/phone/phone-views.ts"
import { RENT_GRACE_MS } from "../../domain/phone/rent.ts"
import { unitPrice } from "../frame/effects/price.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** What a number can do and where it is from: the part that offers show too. */
export const numberFields = {
  number: z.string().describe("In full: `+1` and ten digits"),
  kind: z.enum(["local", "toll_free"]).describe("Local, or toll-free"),
  locality: z.string().nullable().describe("Its town; null where there is none"),
  region: z.string().nullable().describe("Its state, two letters; null where there is none"),
  sms: z.boolean().describe("Whether it sends and gets texts"),
  mms: z.boolean().describe("Whether it gets texts with pictures"),
  voice: z.boolean().describe("Whether it takes calls"),
}

/** A number that a company holds. */
export const PhoneNumber = z
  .object({
    id: describedId("the number"),
    ...numberFields,
    monthlyMicros: z.int().describe("What the next month costs, micro-dollars"),
    paidThrough: isoTimeSchema
      .nullable()
      .describe("Rent is paid until then; null for a number that costs none"),
    boughtAt: isoTimeSchema.describe("When it was bought, or came with the company"),
    releasedUnlessPaidBy: isoTimeSchema
      .nullable()
      .describe("Its rent was refused: nothing goes out from it, and it is let go then; else null"),
  })
  .meta({ id: "PhoneNumber", description: "A number that the company holds" })

/** What is said of a number that a company holds. */
export type PhoneNumberReply = z.infer<typeof PhoneNumber>

const iso = (at: number) => new Date(at).toISOString()

/** A number as callers see it; null where its company was erased. Its rent is what the next month costs. */
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
