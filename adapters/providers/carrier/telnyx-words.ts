/** What Telnyx says, in our words. */
import type { Refused } from "../telnyx/answers.ts"
import { isOfAccount } from "../telnyx/answers.ts"
import type { CarrierKnowledge } from "./port.ts"

const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    landline: "40001",
    spam: "40002 40003 40015 40017",
    unreachable: "40004 40006 40008",
    expired: "40005 40014",
    too_fast: "40011 40016 40018",
    not_registered: "40010 40019 40329 40330",
    fraud: "40020",
    bad_number: "40012",
    opted_out: "40300",
  }).flatMap(([word, codes]) => codes.split(" ").map((code) => [code, word] as const)),
)

/** A word of ours for an error code; where there is none, the code with whose it is. */
export function wordOf(code: string | null): string {
  if (code === null) return "unknown"
  return WORDS.get(code) ?? `carrier_${code}`
}

/** Of several codes of one text: that its recipient opted out comes first, then a code that we know. */
function wordOfAll(codes: readonly string[]): string {
  const known = codes.filter((code) => WORDS.has(code))
  const stopped = known.find((code) => WORDS.get(code) === "opted_out")
  return wordOf(stopped ?? known[0] ?? codes[0] ?? null)
}

/** Whether a refusal says nothing of a text or an order: a code that is known is always about the thing. */
export function isNoAnswer(refused: Refused): boolean {
  return isOfAccount(refused) && (refused.code === null || !WORDS.has(refused.code))
}

/** A status of a text, whatever told it, with the codes of its errors. */
export function knowledgeOf(
  carrierId: string,
  status: string | null,
  codes: readonly string[],
): Exclude<CarrierKnowledge, { readonly answer: "unknown" | "rejected" }> {
  switch (status) {
    case "delivered":
      return { answer: "delivered", carrierId }
    case "expired":
      return { answer: "undelivered", carrierId, errorCode: "expired" }
    // The first three are of messages, the others of detail records.
    case "delivery_failed":
    case "sending_failed":
    case "failed":
    case "gw_reject":
      return { answer: "undelivered", carrierId, errorCode: wordOfAll(codes) }
    default:
      // Queued, sending, sent, and what nobody confirmed: it has it.
      return { answer: "accepted", carrierId }
  }
}
