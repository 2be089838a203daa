import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import type { OptInByForm } from "../../domain/phone/recipient.ts"
import { hasOptedInOn } from "../../domain/phone/recipient.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { OptInForm } from "./opt-in-form.ts"

const DAY_MS = 24 * 3_600_000
/** Limit of opt-ins by form for each company and UTC day. */
const MAX_A_DAY = 100

const noView = () => undefined

/** Records an opt-in once a day for each number; returns a refusal at the company's daily limit. */
export async function recordOptIn(
  ports: Pick<Ports, "clock" | "ttlStore" | "runner" | "sealing">,
  companyId: CompanyId,
  { phone, firstName, service, offers }: OptInForm,
  from: { readonly requestId: string; readonly sourceUrl: string },
): Promise<Refusal | null> {
  const { runner, sealing } = ports
  const tag = await sealing.tag(companyId, phone)
  const stream = recipientStreamOf(companyId, tag)
  // Checked first, so that a repeated opt-in makes no key and does not count.
  if (await runner.read(stream, hasOptedInOn)) return null
  if (!(await countWithinDailyLimit(ports, companyId))) {
    return refusal(
      "rate_limited",
      "This form has reached its limit for today. Please come back tomorrow.",
    )
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
  await runner.execute(stream, command, causedBy(from.requestId), noView)
  return null
}

/** Counts an opt-in, which may still not be recorded; false at the company's daily limit. */
async function countWithinDailyLimit(
  { ttlStore, clock }: Pick<Ports, "clock" | "ttlStore">,
  companyId: CompanyId,
): Promise<boolean> {
  const day = Math.floor(clock.now() / DAY_MS)
  const dailyCounts = ttlStore.of<{ readonly count: number }>({
    slice: "phone",
    kind: "opt-ins of a day",
  })
  let isWithin = true
  await dailyCounts.update(companyId, String(day), (known) => {
    isWithin = known === null || known.content.count < MAX_A_DAY
    if (known !== null && !isWithin) return known
    const count = (known?.content.count ?? 0) + 1
    return { content: { count }, expiresAt: (day + 1) * DAY_MS }
  })
  return isWithin
}
