/** The body of a start (specification, "Box limits"), and the checks that precede the charge. */
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

/** Body of a start request. */
export const StartBoxRequest = z.object({
  size: z.enum(BOX_SIZES).default(DEFAULTS.size).describe("Size of the machine"),
  branch: boundedText(190)
    .refine((name) => branchFault(name) === null, "Must be a branch name, such as main.")
    .refine((name) => !name.startsWith("refs/"), "Must be a branch name without refs/heads/.")
    .default(DEFAULTS.branch)
    .describe("Branch that the box works on; a new branch starts from the default branch"),
  maxMinutes: z
    .int()
    .min(1)
    .max(720)
    .default(DEFAULTS.maxMinutes)
    .describe("The box stops after this many minutes"),
  budget: z
    .number()
    .min(0.01)
    .max(500)
    .nullable()
    .default(null)
    .describe("Maximum cost in US dollars; without it there is no budget"),
  idleMinutes: z
    .int()
    .min(5)
    .max(60)
    .default(DEFAULTS.idleMinutes)
    .describe("The box stops after this many minutes without activity"),
  label: nonBlankText(80).nullable().default(null).describe("Label for people"),
})

export type StartBoxRequest = z.infer<typeof StartBoxRequest>

/** Who may start boxes; checked at the start and at each later minute. */
export const START_RULES = {
  operation: "sandbox.start",
  isPersonKeyOnly: true,
  permissions: [
    ...(["Create test environments", "Spend on environments"] as const),
    "Download and pull the code",
  ],
} as const satisfies Pick<Route, "operation" | "isPersonKeyOnly" | "permissions">

/** The price of a minute, and the budget in micro-dollars; a refusal if it does not cover a minute. */
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
  const message = `The budget does not cover one minute, which costs ${cost}.`
  return { refusal: refusal(BUDGET_TOO_SMALL, message) }
}

/** Rejects a branch that could never be pushed: git cannot hold both `a` and `a/b`. Null if it can. */
export function branchConflict(branch: string, tips: ReadonlyMap<string, string>): Refusal | null {
  const isConflicting = (other: string) =>
    other.startsWith(`${branch}/`) || branch.startsWith(`${other}/`)
  const other = [...tips.keys()].find(isConflicting)
  if (other === undefined) return null
  const message = `The branch ${other} exists, and git cannot have both. Use another name.`
  return refusal("validation", message, { fields: { branch: message } })
}

/** Maximum number of concurrent boxes of a company. */
export async function maxConcurrentBoxes(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<number> {
  const profile = await runner.read(accessStreamOf(companyId), companyProfileOf)
  return MAX_BOXES_BY_PLAN[profile?.plan ?? "payg"]
}
