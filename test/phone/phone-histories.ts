/** Random histories of commands for a company's phone. IDs are few, so that commands interact. */
import fc from "fast-check"
import type { PhoneCommand } from "../../domain/phone/phone-commands.ts"
import { phoneFormats } from "../../domain/phone/phone-events.ts"
import { arbitrariesOf } from "../kernel/arbitraries.ts"
import { commandArbitrary, historiesOf } from "../kernel/command-histories.ts"

const PAID = Date.parse("2026-04-02T10:00:00.000Z")
const tag = fc.constantFrom("aa", "bb", "cc")
const dueAt = fc.constantFrom(PAID, Date.parse("2026-05-02T10:00:00.000Z"))
const ofPhone = arbitrariesOf(phoneFormats)
const {
  at: _addedAt,
  boughtAt: _boughtAt,
  carrierRef: _ref,
  givenLocality: _given,
  ...added
} = ofPhone.NumberAdded
const { at: _orderedAt, ...ordered } = ofPhone.NumberOrdered
const {
  numbers: _numbers,
  at: _changedAt,
  texting: _texting,
  ...actor
} = ofPhone.PhoneSettingsChanged
const numberId = fc.constantFrom("num_1", "num_2", "num_3")
const sealedText = fc.constantFrom("s1.co_1.YQ", null)
/** Histories of a company's phone. */
export const phoneHistories = historiesOf(
  fc.oneof(
    commandArbitrary<PhoneCommand, "AddNumber">("AddNumber", {
      ...added,
      numberId,
      numberTag: tag,
    }),
    commandArbitrary<PhoneCommand, "OrderNumber">("OrderNumber", {
      ...ordered,
      numberId,
      numberTag: tag,
    }),
    commandArbitrary<PhoneCommand, "CompleteNumberOrder">("CompleteNumberOrder", {
      numberId,
      carrierRef: fc.string(),
      locality: added.locality,
      region: added.region,
      sms: added.sms,
      mms: added.mms,
      voice: added.voice,
    }),
    commandArbitrary<PhoneCommand, "FailNumberOrder">("FailNumberOrder", {
      numberId,
      reason: fc.constantFrom("taken", "abandoned"),
    }),
    commandArbitrary<PhoneCommand, "PayRent">("PayRent", { numberId, dueAt }),
    commandArbitrary<PhoneCommand, "RefuseRent">("RefuseRent", { numberId, dueAt, code: tag }),
    commandArbitrary<PhoneCommand, "ReleaseNumber">("ReleaseNumber", {
      ...actor,
      numberId,
      reason: fc.constantFrom("requested", "rent"),
    }),
    commandArbitrary<PhoneCommand, "ChangePhoneSettings">("ChangePhoneSettings", {
      ...actor,
      texting: fc.record(
        { optOutReply: sealedText, optOutLine: fc.boolean() },
        { requiredKeys: [] },
      ),
      numbers: fc.array(
        fc.record({
          numberId,
          settings: fc.record(
            { recordCalls: fc.boolean(), label: sealedText },
            { requiredKeys: [] },
          ),
        }),
        { maxLength: 2 },
      ),
      acknowledgesRecording: fc.boolean(),
    }),
    commandArbitrary<PhoneCommand, "SwitchDestination">("SwitchDestination", {
      ...actor,
      country: fc.constantFrom("US", "GB", "JM", "CU"),
      on: fc.boolean(),
      by: fc.constantFrom("company", "support"),
    }),
    commandArbitrary<PhoneCommand, "ApplyReplies">("ApplyReplies", { revision: fc.nat(9) }),
  ),
)
