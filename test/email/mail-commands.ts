/** Random commands about one mail, and about whom a company must not write to. */
import fc from "fast-check"
import type { Sealed } from "../../domain/kernel/ids.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import { HAND_RESULTS } from "../../domain/email/mail-events.ts"
import type { MailCommand } from "../../domain/email/mail.ts"
import type { SuppressionCommand } from "../../domain/email/suppressions.ts"

const mailId = "mail_1" as const
const tagOf = (n: number) => `a${n}`.repeat(32) as AddressTag
const sealedFor = (n: number) => `s1.${tagOf(n)}.YQ` as Sealed
const n = fc.nat(3)
const code = fc.constantFrom("5.1.1", "4.2.2", "suppressed")

const ACCEPT: MailCommand = {
  type: "AcceptMail",
  mailId,
  chargeId: "chg_1",
  keyId: null,
  personId: null,
  sendingDomainId: "sdom_1",
  from: "s1.company.YQ",
  bodyHash: "ab",
  hasUnsubscribe: true,
  recipients: [0, 1, 2].map((at) => ({ n: at, to: sealedFor(at), tag: tagOf(at) })),
}

const outcome = fc
  .tuple(n, fc.constantFrom(...HAND_RESULTS), fc.option(code))
  .map(([at, result, said]) => ({ n: at, result, code: said }))
const outcomes = fc.array(outcome, { maxLength: 4 })

/** One about a mail. */
export const mailCommand: fc.Arbitrary<MailCommand> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(ACCEPT) },
  {
    weight: 6,
    arbitrary: outcomes.map((all) => {
      return { type: "ProgressMail" as const, mailId, outcomes: all }
    }),
  },
  fc.record({
    type: fc.constant("RefuseMail" as const),
    mailId: fc.constant(mailId),
    ns: fc.array(n, { maxLength: 3 }),
    code,
  }),
  fc.record({ type: fc.constant("ReturnMail" as const), mailId: fc.constant(mailId), n, code }),
  fc.constant<MailCommand>({ type: "AbandonMail", mailId }),
)

const sendingDomainId = fc.constantFrom("sdom_1", "sdom_2")

/** One about whom a company must not write to. */
export const suppressionCommand: fc.Arbitrary<SuppressionCommand> = fc.oneof(
  fc.tuple(n, fc.option(sendingDomainId)).map(([one, from]): SuppressionCommand => {
    const who = { tag: tagOf(one), to: sealedFor(one) }
    return { type: "SuppressRecipient", ...who, why: "bounced", sendingDomainId: from }
  }),
  n.map((one): SuppressionCommand => ({ type: "LiftSuppression", tag: tagOf(one) })),
  fc.record({
    type: fc.constant("TurnUnsubscribe" as const),
    sendingDomainId,
    isOn: fc.boolean(),
  }),
)
