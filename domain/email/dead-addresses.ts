/** Which answers of mail servers mean that an address does not exist or was switched off for good. */

/**
 * Status codes (RFC 3463): no such mailbox or domain, bad syntax, moved, no mail accepted, mailbox disabled.
 * A full mailbox (5.2.2), a mail that is too large (5.2.3) and a policy (5.7.x) say nothing of the kind.
 */
const DEAD_STATUSES: ReadonlySet<string> = new Set([
  "5.1.0",
  "5.1.1",
  "5.1.2",
  "5.1.3",
  "5.1.6",
  "5.1.10",
  "5.2.1",
])

/**
 * Reply codes (RFC 5321, RFC 7504) of servers that add no status code: mailbox unavailable, user not local,
 * mailbox name not allowed, domain does not accept mail. 552 is a full mailbox, 554 anything.
 */
const DEAD_REPLIES: ReadonlySet<string> = new Set(["550", "551", "553", "556"])

/** Whether a code that a mail bounced with means that its address is dead: it is not to be written to again. */
export const isDeadAddress = (code: string | null): boolean =>
  code !== null && (DEAD_STATUSES.has(code) || DEAD_REPLIES.has(code))
