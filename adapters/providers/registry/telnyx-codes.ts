/** The code by which a sole proprietor shows that a mobile number is theirs. */
import type { Telnyx } from "../telnyx/client.ts"
import { isOfAccount, notDone, readAs } from "../telnyx/client.ts"
import type { z } from "zod"
import type { Review } from "./port.ts"
import { notTaken } from "./telnyx-reviews.ts"
import { Code } from "./telnyx-shapes.ts"

type Code = z.infer<typeof Code>

const CODE_NEEDED: Review = {
  answer: "action_needed",
  reasons: [
    "A code was texted to the mobile number of the sole proprietor. The registration goes on once it is given back, within 24 hours.",
  ],
}
const TEXTS = {
  pinSms: "Your code to register your business for texting is @OTP_PIN@. It is good for 24 hours.",
  successSms: "The code was right. The registration of your business for texting goes on.",
}
/** A code that nobody can give back any more. */
const OVER: ReadonlySet<string> = new Set(["EXPIRED", "FAILED"])

const pathOf = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}/smsOtp`

/** What is known of the code of a brand; null where none was texted. */
export async function lookAtCode(telnyx: Telnyx, brandId: string): Promise<Code | null> {
  const found = await telnyx.ask({ method: "GET", path: pathOf(brandId) })
  if (found.is === "done") return readAs(Code, found.value)
  if (isOfAccount(found)) throw notDone("a look at a code", found)
  return null
}

/** Whether the code of a brand was given back. */
export async function isVerified(telnyx: Telnyx, brandId: string): Promise<boolean> {
  return Boolean((await lookAtCode(telnyx, brandId))?.verifyDate)
}

/** Has a code texted, and says what is to be done with it. */
export async function textCode(telnyx: Telnyx, brandId: string): Promise<Review> {
  const texted = await telnyx.ask({ method: "POST", path: pathOf(brandId), body: TEXTS })
  if (texted.is === "done") return CODE_NEEDED
  const { reasons } = notTaken("a code for the sole proprietor", texted)
  return { answer: "action_needed", reasons }
}

/** What is to be done where no code was given back: one that was never texted is texted now. */
export async function codeReview(
  telnyx: Telnyx,
  brandId: string,
  code: Code | null,
): Promise<Review> {
  return code === null ? textCode(telnyx, brandId) : CODE_NEEDED
}

/** Has another code texted where the last one can be given back no more. */
export async function newCode(telnyx: Telnyx, brandId: string): Promise<void> {
  const code = await lookAtCode(telnyx, brandId)
  if (code === null || OVER.has(code.deliveryStatus ?? "")) await textCode(telnyx, brandId)
}
