/** What the notice of low funds says: with every figure exact and every time UTC. */
import { z } from "zod"
import { moneyText } from "../../../domain/kernel/money.ts"
import { oneLine, utc } from "../../frame/effects/mail-words.ts"

/** Funds that ran low, as their fact says it. */
export const LowFunds = z.object({
  at: z.number(),
  belowMicros: z.number(),
  fundsMicros: z.number(),
})

/** Funds that ran low. */
export type LowFunds = z.infer<typeof LowFunds>

/** Subject and text of the notice. */
export function fundsNoticeText(
  { at, belowMicros, fundsMicros }: LowFunds,
  company: string,
): { readonly subject: string; readonly text: string } {
  const [funds, sum] = [moneyText(fundsMicros), moneyText(belowMicros)]
  const lines = [
    "The funds are below the sum at which you wanted to hear of it.",
    "",
    `Company: ${company}`,
    `Funds: ${funds}`,
    `Notice below: ${sum}`,
    `Since: ${utc(at)}`,
    "",
    "This is only a notice and stops nothing.",
    `The next one comes when the funds were at ${sum} or above and fall below it again.`,
  ]
  const subject = `${company}: funds are ${funds}, below ${sum}`
  return { subject: oneLine(subject), text: lines.map(oneLine).join("\n") }
}
