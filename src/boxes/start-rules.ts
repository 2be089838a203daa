/** What a box may be asked to be (specification, "Box limits"), and what of it is known before it is paid. */
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { MAX_BOXES_BY_PLAN, BOX_SIZES } from "../../domain/boxes/box-size.ts"
import { minutesCoveredBy } from "../../domain/boxes/box.ts"
import { branchFault } from "../../domain/code/ref-rules.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { formatMoney } from "../../domain/kernel/money.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Route } from "../frame/routes/declare/route.ts"
import type { Price } from "../frame/effects/price.ts"
import { unitPrice } from "../frame/effects/price.ts"
import { nonBlankText, boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { BUDGET_TOO_SMALL } from "./box-errors.ts"

const MICROS_PER_DOLLAR = 1_000_000
const DEFAULTS = { size: "medium", branch: "main", maxMinutes: 60, idleMinutes: 15 } as const

/** What a start asks for. */
export const StartBoxRequest = z.object({
  size: z.enum(BOX_SIZES).default(DEFAULTS.size).describe("How large it is"),
  branch: boundedText(190)
    .refine((name) => branchFault(name) === null, "Must be a branch's name, such as main.")
    .refine(
      (name) => !name.startsWith("refs/"),
      "Must be a branch's name alone, without refs/heads/.",
    )
    .default(DEFAULTS.branch)
    .describe("The branch it works on; one that is new begins where the default branch is"),
  maxMinutes: z
    .int()
    .min(1)
    .max(720)
    .default(DEFAULTS.maxMinutes)
    .describe("It stops after so many"),
  budget: z
    .number()
    .min(0.01)
    .max(500)
    .nullable()
    .default(null)
    .describe("US dollars that its minutes may cost; left out, there is no budget"),
  idleMinutes: z
    .int()
    .min(5)
    .max(60)
    .default(DEFAULTS.idleMinutes)
    .describe("It stops after so many minutes in which nothing is done in it"),
  label: nonBlankText(80).nullable().default(null).describe("What to call it"),
})

/** What a start asks for. */
export type StartBoxRequest = z.infer<typeof StartBoxRequest>

/** Who may start boxes, looked at with the start and at each minute behind it. */
export const START_RULES = {
  operation: "sandbox.start",
  isPersonKeyOnly: true,
  permissions: [
    ...(["Create test environments", "Spend on environments"] as const),
    "Download and pull the code",
  ],
} as const satisfies Pick<Route, "operation" | "isPersonKeyOnly" | "permissions">

/** What a minute costs, and the budget in micros; or why the budget is none. */
export async function priceOfStart(
  ports: Pick<Ports, "runner">,
  { size, budget }: Pick<StartBoxRequest, "size" | "budget">,
): Promise<
  { readonly price: Price; readonly budgetMicros: number | null } | { readonly refusal: Refusal }
> {
  const price = await unitPrice(ports, `box_minute_${size}`)
  const budgetMicros = budget === null ? null : Math.floor(budget * MICROS_PER_DOLLAR + 1e-6)
  if (minutesCoveredBy(budgetMicros, price.unitPriceMicros) >= 1) return { price, budgetMicros }
  const cost = formatMoney(price.unitPriceMicros)
  const message = `This budget does not cover one minute, which costs ${cost}.`
  return { refusal: refusal(BUDGET_TOO_SMALL, message) }
}

/** Why a branch could never be pushed: git keeps `a` and `a/b` in one place. Null where it can. */
export function branchConflict(branch: string, tips: ReadonlyMap<string, string>): Refusal | null {
  const isBeside = (other: string) =>
    other.startsWith(`${branch}/`) || branch.startsWith(`${other}/`)
  const other = [...tips.keys()].find(isBeside)
  if (other === undefined) return null
  const message = `There is a branch ${other}, beside which git has none of this name.`
  return refusal("validation", message, { fields: { branch: message } })
}

/** How many boxes a company has at once. */
export async function maxConcurrentBoxes(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<number> {
  const standing = await runner.read(accessStreamOf(companyId), companyProfileOf)
  return MAX_BOXES_BY_PLAN[standing?.plan ?? "payg"]
}
