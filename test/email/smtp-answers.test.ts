/** What replies of a server of mail come to, by the rule that all providers share. */
import { describe, expect, it } from "vitest"
import { answerOf } from "../../adapters/providers/mailer/smtp-answers.ts"

describe("a reply of a server of mail", () => {
  it.each([
    ["DATA", 354, "unknown"],
    ["DATA", 250, "unknown"],
    ["DATA", 421, "deferred"],
    ["DATA", 451, "deferred"],
    ["DATA", 554, "refused"],
    ["MAIL FROM", 450, "deferred"],
    ["MAIL FROM", 550, "refused"],
    ["RCPT TO", 450, "deferred"],
    ["RCPT TO", 550, "rejected"],
    ["EHLO", 550, "deferred"],
  ])("to %s of %i means %s", (command, responseCode, answer) => {
    const error = { command, responseCode, response: `${responseCode} no` }
    expect(answerOf(error)).toMatchObject({ answer })
  })

  it.each([
    [{ code: "ECONNECTION", originalCode: "ECONNREFUSED" }, "deferred"],
    [{ code: "EDNS", originalCode: "ENOTFOUND" }, "deferred"],
    [{ code: "ECONNECTION", originalCode: "EAI_AGAIN" }, "deferred"],
    [{ code: "ETIMEDOUT", timeoutType: "GREETING_TIMEOUT" }, "deferred"],
    [{ code: "ETIMEDOUT", timeoutType: "SOCKET_TIMEOUT" }, "unknown"],
    [{ code: "ECONNECTION", originalCode: "ECONNRESET", command: "DATA" }, "unknown"],
  ])("that never came, for %j, means %s", (error, answer) => {
    expect(answerOf(error)).toMatchObject({ answer })
  })
})
