import { describe, expect, it } from "vitest"
import type { Reminder } from "../../src/charging/reactions/reminder-text.ts"
import { reminderText } from "../../src/charging/reactions/reminder-text.ts"

const REMINDER: Reminder = {
  at: Date.UTC(2026, 10, 21, 12, 30, 59, 999),
  holder: "company",
  holderId: null,
  class: "ai",
  period: "month",
  limitMicros: 50_000_000,
  reminderMicros: 40_000_000,
  usedMicros: 40_009_000,
  windowStart: Date.UTC(2026, 10, 1),
  resetsAt: Date.UTC(2026, 11, 1),
}
const COMPANY = { company: "acme", holder: null }

describe("a reminder", () => {
  it("says whose limit, what was reached, what is used and left, and when it starts anew", () => {
    expect(reminderText(REMINDER, COMPANY)).toEqual({
      subject: "acme used $40.009 of the $50.00 monthly limit for AI spending",
      text: [
        "Spending has reached an amount at which you wanted to hear of it.",
        "",
        "Company: acme",
        "Limit: monthly limit for AI spending of the company",
        "Reminder at: $40.00",
        "Reached: 2026-11-21 12:30 UTC",
        "Used by then: $40.009",
        "Allowed: $50.00",
        "Left: $9.991",
        "Starts anew: 2026-12-01 00:00 UTC",
        "",
        "This is only a reminder and stops nothing: spending goes on until the limit is used up.",
      ].join("\n"),
    })
  })

  it.each([
    ["day", "all", "daily limit for all spending"],
    ["week", "general", "weekly limit for general spending"],
    ["month", "ai", "monthly limit for AI spending"],
  ] as const)("of a %s and %s spending names it so", (period, counted, words) => {
    const reminder = { ...REMINDER, holder: "key", holderId: "key_1", period, class: counted }
    const names = { company: "acme", holder: 'the key "laptop" (key_1)' }
    const { subject, text } = reminderText(reminder as Reminder, names)
    expect(subject).toBe(`acme: the key "laptop" (key_1) used $40.009 of the $50.00 ${words}`)
    expect(text).toContain(`Limit: ${words} of the key "laptop" (key_1)`)
  })

  it.each([50_000_000, 50_000_001])("of a limit that is used up (%i) says so", (usedMicros) => {
    const { text } = reminderText({ ...REMINDER, usedMicros }, COMPANY)
    expect(text).toContain("\nLeft: $0.00\n")
    expect(text).toMatch(/stops nothing, but the limit is used up: it lets nothing pass until/)
  })

  it("lets no name begin a line of its own, in the subject or in the text", () => {
    const names = { company: "acme", holder: "Ada\r\nBcc: eve@example.com\u2028x\0y" }
    const { subject, text } = reminderText(REMINDER, names)
    expect(subject).toContain("acme: Ada Bcc: eve@example.com x y used")
    expect(text.split("\n").filter((line) => line.startsWith("Bcc"))).toEqual([])
    expect(text).not.toMatch(/[\r\0\u2028]/)
    expect(text.split("\n")).toHaveLength(12)
  })
})
