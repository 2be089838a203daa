/** Numbers that are to be able to text: a local one is put into its campaign, a toll-free one is verified. */
import { notDone, readAs } from "../telnyx/answers.ts"
import type { Telnyx } from "../telnyx/client.ts"
import type { NumberRegistration, Registry, Review } from "./port.ts"
import type { RegistryPorts } from "./telnyx-brands.ts"
import { assignmentReview, notTaken } from "./telnyx-reviews.ts"
import { Assignment } from "./telnyx-shapes.ts"
import { verifyTollFree } from "./telnyx-toll-free.ts"

const PATH = "/10dlc/phone_number_campaigns"

/** The part of the registry that is about numbers. */
export function telnyxNumbers(ports: RegistryPorts): Pick<Registry, "register"> {
  return {
    register: (registration) =>
      registration.kind === "toll_free"
        ? verifyTollFree(ports, registration)
        : assign(ports.telnyx, registration),
  }
}

async function assign(
  telnyx: Telnyx,
  { number, campaignRef }: NumberRegistration,
): Promise<Review> {
  const known = await find(telnyx, number)
  if (known !== null && isIn(known, campaignRef)) return assignmentReview(known)
  const body = { phoneNumber: number, campaignId: campaignRef }
  const set = await telnyx.ask(
    known === null
      ? { method: "POST", path: PATH, body }
      : { method: "PUT", path: `${PATH}/${encodeURIComponent(number)}`, body },
  )
  if (set.is === "done") return assignmentReview(readAs(Assignment, set.value))
  const { reasons } = notTaken("the number", set)
  // Somebody else may have put it there in between.
  const after = await find(telnyx, number)
  if (after !== null && isIn(after, campaignRef)) return assignmentReview(after)
  return { answer: "rejected", reasons }
}

const isIn = ({ telnyxCampaignId, campaignId }: Assignment, campaignRef: string) =>
  telnyxCampaignId === campaignRef || campaignId === campaignRef

async function find(telnyx: Telnyx, number: string): Promise<Assignment | null> {
  const path = `${PATH}/${encodeURIComponent(number)}`
  const found = await telnyx.ask({ method: "GET", path })
  if (found.is === "done") return readAs(Assignment, found.value)
  if (found.status === 404) return null
  throw notDone("a look at a number", found)
}
