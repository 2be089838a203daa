import { describe, expect, it } from "vitest"
import type { MailEvent, MailOutcome } from "../../domain/email/mail-events.ts"
import type { MailCommand, MailView } from "../../domain/email/mail.ts"
import { mail, mailView } from "../../domain/email/mail.ts"
import type { AddressTag } from "../../domain/email/ids.ts"

const MAIL_ID = "mail_1" as const
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const ACCEPT: MailCommand = {
  type: "AcceptMail",
  mailId: MAIL_ID,
  chargeId: "chg_1",
  keyId: null,
  personId: null,
  sendingDomainId: "sdom_1",
  from: "s1.company.a",
  bodyHash: "ab",
  hasUnsubscribe: false,
  recipients: [0, 1].map((n) => ({ n, to: "s1.ab.a", tag: `a${n}` as AddressTag })),
}

/** A mail on a clock of its own. */
class Mailing {
  #state = mail.initial()
  at = 0

  ask(command: MailCommand): readonly MailEvent[] | string {
    const decided = mail.decide(command, this.#state, { at: this.at })
    if (!Array.isArray(decided)) return (decided as { code: string }).code
    for (const event of decided as readonly MailEvent[])
      this.#state = mail.evolve(this.#state, event)
    return decided as readonly MailEvent[]
  }

  progress(n: number, result: MailOutcome["result"], code: string | null = null) {
    return this.ask({ type: "ProgressMail", mailId: MAIL_ID, outcomes: [{ n, result, code }] })
  }

  get view(): MailView {
    return mailView(this.#state) ?? expect.fail("it was accepted")
  }

  copy(n: number) {
    return this.view.copies[n] ?? expect.fail("it has a copy")
  }
}

function accepted(): Mailing {
  const mailing = new Mailing()
  mailing.ask(ACCEPT)
  return mailing
}

describe("a mail", () => {
  it("is accepted once", () => {
    const mailing = new Mailing()
    expect(mailing.progress(0, "delivered")).toBe("no_mail")
    expect(mailing.ask(ACCEPT)).toHaveLength(1)
    expect(mailing.ask(ACCEPT)).toEqual([])
    expect(mailing.ask({ type: "AbandonMail", mailId: MAIL_ID })).toEqual([])
  })

  it("that was abandoned is never accepted", () => {
    const mailing = new Mailing()
    expect(mailing.ask({ type: "AbandonMail", mailId: MAIL_ID })).toHaveLength(1)
    expect(mailing.ask(ACCEPT)).toBe("no_mail")
  })

  it("is tried after 1, 5 and 15 minutes, an hour, each four hours, and bounces after 72", () => {
    const mailing = accepted()
    const waits: number[] = []
    while (mailing.copy(0).status !== "bounced") {
      mailing.progress(0, "deferred", "451")
      const { dueAt } = mailing.copy(0)
      if (dueAt === null) break
      waits.push(dueAt - mailing.at)
      mailing.at = dueAt
    }
    expect(waits.slice(0, 6).map((ms) => ms / MINUTE)).toEqual([1, 5, 15, 60, 240, 240])
    expect(mailing.copy(0)).toMatchObject({ status: "bounced", code: "4.4.7", dueAt: null })
    expect(mailing.at).toBeGreaterThanOrEqual(72 * HOUR)
    expect(mailing.at).toBeLessThan(77 * HOUR)
  })

  it("of unknown end goes once more after 15 minutes, and never again", () => {
    const mailing = accepted()
    mailing.progress(0, "unknown")
    expect(mailing.copy(0).dueAt).toBe(15 * MINUTE)
    mailing.at = 15 * MINUTE
    mailing.progress(0, "unknown")
    expect(mailing.copy(0).dueAt).toBeNull()
    expect(mailing.progress(0, "delivered")).toEqual([])
    expect(mailing.view.isEarned).toBe(true)
  })

  it("keeps what is known of a copy", () => {
    const mailing = accepted()
    mailing.progress(0, "delivered")
    expect(mailing.progress(0, "bounced", "550")).toEqual([])
    expect(mailing.copy(0).status).toBe("delivered")
  })

  it("is refused as a whole while nobody has it", () => {
    const mailing = accepted()
    mailing.progress(0, "bounced", "550")
    mailing.ask({ type: "RefuseMail", mailId: MAIL_ID, ns: [1], code: "554" })
    expect(mailing.view).toMatchObject({ refused: "554", isEarned: false })
    expect(mailing.view.copies.map(({ dueAt }) => dueAt)).toEqual([null, null])
    expect(mailing.progress(1, "delivered")).toEqual([])
  })

  it.each(["delivered", "relayed", "unknown"] as const)(
    "bounces for the others where one %s",
    (result) => {
      const mailing = accepted()
      mailing.progress(0, result)
      mailing.ask({ type: "RefuseMail", mailId: MAIL_ID, ns: [1], code: "554" })
      expect(mailing.view).toMatchObject({ refused: null, isEarned: true })
      expect(mailing.copy(1)).toMatchObject({ status: "bounced", code: "554" })
    },
  )

  it("is charged for good once somebody has it, or nobody can be reached", () => {
    const mailing = accepted()
    mailing.progress(0, "deferred", "451")
    expect(mailing.view.isEarned).toBe(false)
    mailing.progress(1, "bounced", "550")
    expect(mailing.view.isEarned).toBe(false)
    mailing.progress(0, "bounced", "550")
    expect(mailing.view.isEarned).toBe(true)
  })

  it("comes back once from who seemed to have it, and from nobody else", () => {
    const mailing = accepted()
    const back = { type: "ReturnMail", mailId: MAIL_ID, code: "5.1.1" } as const
    expect(mailing.ask({ ...back, n: 0 })).toEqual([])
    mailing.progress(0, "relayed")
    expect(mailing.ask({ ...back, n: 0 })).toHaveLength(1)
    expect(mailing.ask({ ...back, n: 0 })).toEqual([])
    expect(mailing.ask({ ...back, n: 7 })).toEqual([])
  })
})

describe("a copy that came back", () => {
  const back: MailCommand = { type: "ReturnMail", mailId: MAIL_ID, n: 0, code: "5.1.1" }

  it("is not handed over again, also where nobody knew whether it was had", () => {
    const mailing = accepted()
    mailing.progress(0, "unknown")
    expect(mailing.ask(back)).toHaveLength(1)
    expect(mailing.copy(0)).toMatchObject({ status: "returned", dueAt: null })
    expect(mailing.ask(back)).toEqual([])
  })

  it("may have been had before it was put off", () => {
    const mailing = accepted()
    mailing.progress(0, "unknown")
    mailing.progress(0, "deferred", "451")
    expect(mailing.ask(back)).toHaveLength(1)
    expect(mailing.copy(0)).toMatchObject({ status: "returned", dueAt: null })
  })

  it("is none where nobody can have had it", () => {
    const mailing = accepted()
    expect(mailing.ask(back)).toEqual([])
    mailing.progress(0, "deferred", "451")
    expect(mailing.ask(back)).toEqual([])
  })
})
