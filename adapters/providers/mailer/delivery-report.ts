/** Reports of servers of mail about mails of ours (RFC 3464), as far as they say that one is lost. */
import PostalMime from "postal-mime"
import { statusOf } from "./smtp-answers.ts"

/** "It failed for good" (RFC 3463). */
const FAILED_STATUS = /^5\.\d{1,3}\.\d{1,3}\b/
/** Servers report it where the other server's answer had no status code; the answer itself says more. */
const UNDEFINED_STATUS = "5.0.0"
const SMTP_DIAGNOSTIC = /^smtp;\s*((5\d\d)\b.*)$/is

/**
 * The status of the first recipient for whom a mail failed for good; null for what says nothing of the
 * kind: delays, answers of people who are away, and whatever is no such report.
 */
export async function failedStatus(bytes: Buffer): Promise<string | null> {
  const { headers, attachments } = await PostalMime.parse(bytes, { attachmentEncoding: "utf8" })
  const type = headers.find(({ key }) => key === "content-type")?.value ?? ""
  if (!/^multipart\/report\b/i.test(type.trim())) return null
  const status = attachments.find(({ mimeType }) => mimeType === "message/delivery-status")
  if (status === undefined) return null
  // One group of fields for the mail, behind it one for each recipient.
  const [, ...recipients] = String(status.content)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\n[ \t]+/g, " ")
    .split(/\n\s*\n/)
  for (const group of recipients) {
    const code = FAILED_STATUS.exec(fieldOf(group, "status"))?.[0]
    if (code === undefined || fieldOf(group, "action").toLowerCase() !== "failed") continue
    const [, answer, reply] = SMTP_DIAGNOSTIC.exec(fieldOf(group, "diagnostic-code")) ?? []
    return code === UNDEFINED_STATUS && reply !== undefined ? statusOf(answer, Number(reply)) : code
  }
  return null
}

function fieldOf(group: string, name: string): string {
  const line = group.split("\n").find((one) => one.toLowerCase().startsWith(`${name}:`))
  return line === undefined ? "" : line.slice(name.length + 1).trim()
}
