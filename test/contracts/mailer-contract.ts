/** What every mailer does with bytes: one suite for all. */
import { describe, expect, it } from "vitest"
import type { Envelope, HandAnswer, Mailer } from "../../adapters/providers/mailer/port.ts"
import type { AddressTag } from "../../domain/email/ids.ts"

/** What the other side does next. */
export type Other = "takes" | "rejects" | "refuses" | "defers" | "is silent" | "is away"

/** A mailer, and who is behind it. */
export interface MailerUnderTest {
  readonly hand: Mailer["hand"]
  readonly isDelivered: boolean
  readonly other: (does: Other) => Promise<void>
  /** The bytes that arrived, in order; null where it does not keep them as they are. */
  readonly arrived: (() => readonly Buffer[]) | null
}

/** An envelope for somebody. */
export const envelopeTo = (to: string): Envelope => ({
  companyId: "co_aaaaaa",
  mailId: "mail_1",
  tag: "aa" as AddressTag,
  from: "b.1.0.ab@cp-bounce.mail.example.com",
  to,
})

/** A mail as bytes. */
export const BYTES = Buffer.from(
  "From: a@mail.example.com\r\nTo: ada@example.com\r\nSubject: Hi\r\n\r\n.\r\n..dots\r\nHi\r\n",
)

/** Adds the suite for one mailer. */
export function mailerContract(name: string, open: () => Promise<MailerUnderTest>): void {
  describe(name, () => {
    const came = async (does: Other): Promise<HandAnswer> => {
      const { hand, other } = await open()
      await other(does)
      return hand(envelopeTo("ada@example.com"), BYTES)
    }

    it("hands bytes over as they are", async () => {
      const { hand, other, isDelivered, arrived } = await open()
      await other("takes")
      const answer = await hand(envelopeTo("ada@example.com"), BYTES)
      expect(answer).toEqual({ answer: "accepted", isDelivered })
      if (arrived !== null) expect(arrived().map(String)).toEqual([BYTES.toString()])
    })

    it("tells a recipient who is not there from a mail that is not wanted", async () => {
      expect(await came("rejects")).toMatchObject({ answer: "rejected" })
      expect(await came("refuses")).toMatchObject({ answer: "refused" })
    })

    it("knows that nothing was taken where it is put off, or nobody is there", async () => {
      expect(await came("defers")).toMatchObject({ answer: "deferred" })
      expect(await came("is away")).toEqual({ answer: "deferred", code: "no_connection" })
    })

    it("does not know what became of it behind a silence", async () => {
      expect(await came("is silent")).toEqual({ answer: "unknown" })
    })
  })
}
