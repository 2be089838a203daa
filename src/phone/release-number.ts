import { z } from "zod"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { parseNumberId } from "../../domain/phone/ids.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { boundedText } from "../frame/kernel/schema.ts"
import { withProviderTimeout } from "../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { listHeldNumbers } from "../../domain/phone/phone-views.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

const NO_NUMBER = "The company has no number with this id."

export const releaseNumber = route({
  name: "releaseNumber",
  method: "POST",
  url: "/api/v1/phone/release",
  group: "phone",
  summary: "Release a number for good",
  example: { body: { id: "num_4Zb0x7" } },
  operation: "phone.numbers.release",
  isCounted: true,
  body: z.object({ id: boundedText(64).describe("Id of the number") }),
  reply: z.object({
    ok: z.literal(true).describe("The number is released; its rent is not refunded"),
  }),
  refusalCodes: ["not_found"],
  refusalMessages: { not_found: NO_NUMBER },
  specGap: "The specification does not show the method: POST, because it ends something for good.",
  handle: async ({ runner }, caller, { body }) => {
    const numberId = parseNumberId(body.id)
    if (numberId === null) return { ok: false, refusal: refusal("not_found", NO_NUMBER) }
    const { keyId, personId } = caller.spender
    const command = { type: "ReleaseNumber" as const, numberId, reason: "requested" as const }
    const stream = phoneStreamOf(caller.companyId)
    const done = await runner.execute(stream, { ...command, keyId, personId }, causeOf(caller))
    if (!done.accepted) return { ok: false, refusal: refusal("not_found", NO_NUMBER) }
    return { ok: true, body: { ok: true }, position: done.position }
  },
})

/**
 * Releases a company's numbers and erases it at the carrier. @throws ProviderUnavailable,
 * ProviderOutcomeUnknown
 */
export async function eraseNumbers(
  ports: Pick<Ports, "carrier" | "pacer" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { carrier, pacer, runner } = ports
  const held = await runner.readLatest(phoneStreamOf(companyId), listHeldNumbers)
  for (const { numberId, carrierRef } of held) {
    if (carrierRef !== null)
      await withProviderTimeout(pacer, "the carrier", carrier.releaseNumber(carrierRef))
    const release = { type: "ReleaseNumber" as const, numberId, reason: "erased" as const }
    const noActor = { keyId: null, personId: null }
    await runner.execute(
      phoneStreamOf(companyId),
      { ...release, ...noActor },
      causedBy("erase-company"),
    )
  }
  await withProviderTimeout(pacer, "the carrier", carrier.eraseCompany(companyId))
}
