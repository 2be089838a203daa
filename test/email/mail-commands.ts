/** Random commands for one mail and for a company's suppressions. */
import fc from "fast-check"
import { commandArbitrary } from "../kernel/command-histories.ts"
import { weighted } from "../projections/ledger-steps.ts"
import type { SealedText } from "../../domain/kernel/ids.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import { MAIL_DISPATCH_RESULTS } from "../../domain/email/mail-events.ts"
import type { MailCommand } from "../../domain/email/mail.ts"
import type { SuppressionCommand } from "../../domain/email/suppressions.ts"

const mailId = "mail_1" as const
const tagOf = (n: number) => `a${n}`.repeat(32) as AddressTag
const sealedFor = (n: number) => `s1.${tagOf(n)}.YQ` as SealedText
const recipientNumber = fc.nat(3)
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
  recipients: [0, 1, 2].map((n) => ({ recipientIndex: n, to: sealedFor(n), tag: tagOf(n) })),
}

const outcome = fc
  .tuple(recipientNumber, fc.constantFrom(...MAIL_DISPATCH_RESULTS), fc.option(code))
  .map(([recipientIndex, result, reply]) => ({ recipientIndex, result, code: reply }))
const outcomes = fc.array(outcome, { maxLength: 4 })

const id = { mailId: fc.constant(mailId) }

export const mailCommand = weighted<MailCommand>(
  [3, fc.constant(ACCEPT)],
  [
    6,
    commandArbitrary<MailCommand, "RecordMailOutcomes">("RecordMailOutcomes", { ...id, outcomes }),
  ],
  [
    1,
    commandArbitrary<MailCommand, "RefuseMail">("RefuseMail", {
      ...id,
      recipientIndexes: fc.array(recipientNumber, { maxLength: 3 }),
      code,
    }),
  ],
  [
    1,
    commandArbitrary<MailCommand, "BounceMail">("BounceMail", {
      ...id,
      recipientIndex: recipientNumber,
      code,
    }),
  ],
  [1, commandArbitrary<MailCommand, "AbandonMail">("AbandonMail", id)],
)

const sendingDomainId = fc.constantFrom("sdom_1", "sdom_2")

/** A command for suppressions. */
export const suppressionCommand: fc.Arbitrary<SuppressionCommand> = fc.oneof(
  fc.tuple(recipientNumber, fc.option(sendingDomainId)).map(([one, from]): SuppressionCommand => {
    const who = { tag: tagOf(one), to: sealedFor(one) }
    return { type: "SuppressRecipient", ...who, reason: "bounced", sendingDomainId: from }
  }),
  recipientNumber.map((one): SuppressionCommand => ({ type: "LiftSuppression", tag: tagOf(one) })),
  commandArbitrary<SuppressionCommand, "SwitchUnsubscribe">("SwitchUnsubscribe", {
    sendingDomainId,
    isOn: fc.boolean(),
  }),
)
