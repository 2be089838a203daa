/** Recording that somebody agreed to texts on a form. Nothing is sent for it. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recipientOf } from "../../domain/phone/aggregates.ts"
import type { OptInByForm } from "../../domain/phone/recipient.ts"
import { agreedOn } from "../../domain/phone/recipient.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { Agreement } from "./agreement.ts"

const DAY_MS = 24 * 3_600_000
/** How many may agree by a company's form on one UTC day. */
const MOST_A_DAY = 100

const nothing = () => undefined

/** Records it, once a day for a number; the refusal where the company's form took enough of them today. */
export async function recordOptIn(
  ports: Pick<Ports, "clock" | "kept" | "runner" | "sealing">,
  companyId: CompanyId,
  { phone, firstName, service, offers }: Agreement,
  from: { readonly requestId: string; readonly sourceUrl: string },
): Promise<Refusal | null> {
  const { runner, sealing } = ports
  const tag = await sealing.tag(companyId, phone)
  const stream = recipientOf(companyId, tag)
  // Looked at before a key is made for it, and before it is counted.
  if (await runner.read(stream, agreedOn)) return null
  if (!(await isWithinDay(ports, companyId))) {
    return refusal("rate_limited", "This form takes no more for today. Please come back tomorrow.")
  }
  const [sealedPhone, sealedName] = await Promise.all([
    sealing.seal(companyId, tag, phone),
    sealing.seal(companyId, tag, firstName),
  ])
  const command: OptInByForm = {
    type: "OptInByForm",
    optInId: newId("opt"),
    phone: sealedPhone,
    firstName: sealedName,
    service,
    offers,
    method: "web",
    sourceUrl: from.sourceUrl,
  }
  await runner.execute(stream, command, causedBy(from.requestId), nothing)
  return null
}

/** Counts one more of a company's day; false where it has had all. It may count one that is then not recorded. */
async function isWithinDay(
  { kept, clock }: Pick<Ports, "clock" | "kept">,
  companyId: CompanyId,
): Promise<boolean> {
  const day = Math.floor(clock.now() / DAY_MS)
  const days = kept.of<{ readonly count: number }>({ slice: "phone", kind: "opt-ins of a day" })
  let isWithin = true
  await days.change(companyId, String(day), (known) => {
    isWithin = known === null || known.content.count < MOST_A_DAY
    if (known !== null && !isWithin) return known
    const count = (known?.content.count ?? 0) + 1
    return { content: { count }, until: (day + 1) * DAY_MS }
  })
  return isWithin
}
