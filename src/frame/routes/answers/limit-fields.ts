/** What answers say of a spending limit. */
import { z } from "zod"
import { isoTime, micros } from "../../kernel/schema.ts"

/** What is said of a spending limit, wherever one is told. */
export const limitFields = {
  holder: z.enum(["company", "person", "key"]).describe("Whose limit it is"),
  class: z
    .enum(["ai", "general", "all"])
    .describe("What it counts: AI models, everything else, or, of a key's, all"),
  period: z.enum(["day", "week", "month"]).describe("How long what is used counts"),
  amountMicros: micros.describe("The most that may be spent, millionths of a dollar"),
  usedMicros: micros.describe("What is spent of it, millionths of a dollar"),
  remainingMicros: micros.describe("What is left of it, millionths of a dollar; never below 0"),
  resetsAt: isoTime.describe("When it begins anew"),
}
