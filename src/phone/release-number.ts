/** `POST /api/v1/phone/release`: lets a number go for good. */
import { z } from "zod"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { parseNumberId } from "../../domain/phone/ids.ts"
import { causeOf } from "../frame/routes/call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { shortText } from "../frame/kernel/schema.ts"

const NO_NUMBER = "The company holds no number of this id."

/** The route. */
export const releaseNumber = route({
  name: "releaseNumber",
  method: "POST",
  url: "/api/v1/phone/release",
  group: "phone",
  summary: "Let a number go for good",
  example: { body: { id: "num_4Zb0x7" } },
  operation: "phone.numbers.release",
  counted: true,
  body: z.object({ id: shortText(64).describe("The number, by its id") }),
  reply: z.object({ ok: z.literal(true).describe("It is gone; nothing of its rent comes back") }),
  refuses: ["not_found"],
  says: { not_found: NO_NUMBER },
  specGap: "The specification does not show the verb: POST, because it ends something for good.",
  handle: async ({ runner }, caller, { body }) => {
    const numberId = parseNumberId(body.id)
    if (numberId === null) return { ok: false, refusal: refusal("not_found", NO_NUMBER) }
    const { keyId, personId } = caller.spender
    const command = { type: "ReleaseNumber" as const, numberId, reason: "requested" as const }
    const stream = phoneOf(caller.companyId)
    const done = await runner.execute(stream, { ...command, keyId, personId }, causeOf(caller))
    if (!done.accepted) return { ok: false, refusal: refusal("not_found", NO_NUMBER) }
    return { ok: true, body: { ok: true }, position: done.position }
  },
})
