/**
 * How a company's texting answers and what it adds, as it stands until the company changes it.
 */

/** Replies are at most 320 characters. */
export interface TextingRules {
  readonly optOutReply: string
  readonly optInReply: string
  readonly helpReply: string
  readonly extraOptOutWords: readonly string[]
  /** Whether the first text to a recipient tells how to stop. */
  readonly optOutLine: boolean
}

/** What every company begins with. */
export const DEFAULT_TEXTING_RULES: TextingRules = {
  optOutReply: "You are unsubscribed and will get no more texts. Reply START to subscribe again.",
  optInReply: "You are subscribed again. Reply STOP to unsubscribe.",
  helpReply: "Reply STOP to unsubscribe, START to subscribe again.",
  extraOptOutWords: [],
  optOutLine: true,
}

/** The line that the first text to a recipient ends in. */
export const OPT_OUT_LINE = "Reply STOP to opt out."

/** The text with the opt-out line on a line of its own. */
export function withOptOutLine(body: string): string {
  return `${body}\n${OPT_OUT_LINE}`
}
