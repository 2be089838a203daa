import { describe, expect, it } from "vitest"
import { mailOperations } from "../../src/email/operate/mail.ts"

const PLAIN = { isTTY: false, columns: 80 }
const [list] = mailOperations

function shown(result: object): string {
  if (list?.render === undefined) throw new Error("it has a table")
  return list.render(result, PLAIN)
}

describe("mail list, for people", () => {
  it("is a line a mail, without its text", () => {
    const mail = { companyId: "co_1", mailId: "mail_1", text: "many\nlines", status: "sent" }
    const at = "2026-11-21T12:00:00.000Z"
    const mails = [
      { ...mail, to: "ada@example.com, bob@example.com", subject: "acme: reminder", at },
      { ...mail, to: "", subject: null, at, status: "bounced" },
    ]
    expect(shown({ mails })).toBe(
      "at                        to                                subject         status\n" +
        `${at}  ada@example.com, bob@example.com  acme: reminder  sent\n` +
        `${at}                                    -               bounced\n`,
    )
  })

  it("says where there are none", () => {
    expect(shown({ mails: [] })).toBe("No mails.\n")
  })
})
