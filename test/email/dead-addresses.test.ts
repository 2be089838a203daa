/** What a server's rejection means for the address, by the stage of the transaction. */
import { describe, expect, it } from "vitest"
import { failedStatus } from "../../adapters/providers/mailer/delivery-report.ts"
import { answerOf } from "../../adapters/providers/mailer/smtp-answers.ts"
import { isDeadAddress } from "../../domain/email/dead-addresses.ts"

const answered = (command: string, response: string) =>
  answerOf({ command, response, responseCode: Number(response.slice(0, 3)) })

describe("an address", () => {
  it.each(["5.1.1", "5.1.2", "5.1.10", "5.2.1", "550", "551", "553", "556"])(
    "is dead behind %s",
    (code) => {
      expect(isDeadAddress(code)).toBe(true)
    },
  )

  it.each([
    "5.2.2",
    "5.2.3",
    "5.7.1",
    "5.4.4",
    "4.4.7",
    "552",
    "554",
    "suppressed",
    "policy",
    null,
  ])("may be alive behind %s", (code) => {
    expect(isDeadAddress(code)).toBe(false)
  })
})

describe("a rejection of the recipient by a reply code alone", () => {
  it.each([
    ["550 no such user", "550"],
    ["550 relaying is not allowed", "policy"],
    ["553 blocked, see our policy", "policy"],
    ["554 blocked", "554"],
  ])("%s has the code %s", (response, code) => {
    expect(answered("RCPT TO", response)).toEqual({ answer: "rejected", code })
  })
})

describe("a report without a status code of its own", () => {
  const report = (diagnostic: string) => {
    const fields = `Reporting-MTA: dns; a.test\r\n\r\nAction: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: ${diagnostic}\r\n`
    const head = "Content-Type: multipart/report; report-type=delivery-status; boundary=b"
    const part = `--b\r\nContent-Type: message/delivery-status\r\n\r\n${fields}\r\n--b--\r\n`
    return Buffer.from(`MIME-Version: 1.0\r\n${head}\r\n\r\n${part}`)
  }
  it.each([
    ["smtp; 550 user unknown", "550"],
    ["smtp;550-5.1.1 user unknown", "5.1.1"],
    ["smtp; 550 blocked by policy", "policy"],
    ["smtp; 554 no", "554"],
    ["x-unix; unknown user", "5.0.0"],
  ])("has the code of its diagnostic: %s", async (diagnostic, code) => {
    expect(await failedStatus(report(diagnostic))).toBe(code)
  })
})
