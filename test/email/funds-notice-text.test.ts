import { expect, it } from "vitest"
import { fundsNoticeText } from "../../src/charging/reactions/funds-notice-text.ts"

const LOW = {
  at: Date.UTC(2026, 10, 21, 12, 30, 59, 999),
  belowMicros: 20_000_000,
  fundsMicros: 19_991_000,
}

it("a notice of low funds says whose they are, how much, below what, and since when", () => {
  expect(fundsNoticeText(LOW, "acme")).toEqual({
    subject: "acme: funds are $19.991, below $20.00",
    text: [
      "The funds are below the sum at which you wanted to hear of it.",
      "",
      "Company: acme",
      "Funds: $19.991",
      "Notice below: $20.00",
      "Since: 2026-11-21 12:30 UTC",
      "",
      "This is only a notice and stops nothing.",
      "The next one comes when the funds were at $20.00 or above and fall below it again.",
    ].join("\n"),
  })
})

it("a notice of funds below zero writes the sign once", () => {
  const { subject } = fundsNoticeText({ ...LOW, fundsMicros: -500_000 }, "acme")
  expect(subject).toBe("acme: funds are -$0.50, below $20.00")
})

it("a company's name begins no line of its own in a notice", () => {
  const { subject, text } = fundsNoticeText(LOW, "acme\r\nBcc: eve@example.com")
  expect(subject).toBe("acme Bcc: eve@example.com: funds are $19.991, below $20.00")
  expect(text.split("\n")).toHaveLength(9)
})
