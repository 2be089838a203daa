/**
 * An arbitrary for every event type. They are typed by the events themselves, so a new type, a new
 * field or a field of another type does not compile until it is here too.
 */
import fc from "fast-check"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import { PLANS } from "../../domain/access/access-events.ts"
import { ALL_OPERATIONS } from "../../domain/access/operations.ts"
import { PERMISSIONS, ROLES } from "../../domain/access/permissions.ts"
import type { CompaniesEvent } from "../../domain/company/companies.ts"
import type { PhoneEvent } from "../../domain/phone/phone.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"
import type { Arbitraries } from "./arbitrary-kinds.ts"
import { at, flag, int, micros, orNull, plain, some, text } from "./arbitrary-kinds.ts"
import { ledger, prices, refusals } from "./charging-arbitraries.ts"

const plan = fc.constantFrom(...PLANS)
const pays = fc.constantFrom("prepaid", "card")

const access: Arbitraries<AccessEvent> = {
  CompanyOpened: { at, companyId: plain, name: plain, plan, pays },
  PlanChanged: {
    at,
    plan: fc.constantFrom(...PLANS),
    pays: fc.constantFrom("prepaid", "card"),
  },
  PersonAdded: {
    at,
    personId: plain,
    name: plain,
    email: plain,
    emailTag: plain,
    role: fc.constantFrom(...ROLES),
    permissions: some(fc.constantFrom(...PERMISSIONS)),
  },
  KeyCreated: {
    at,
    keyId: plain,
    personId: orNull(plain),
    keyHash: plain,
    operations: some(fc.constantFrom(...ALL_OPERATIONS)),
    label: orNull(plain),
  },
  KeyPaused: { at, keyId: plain },
  KeyResumed: { at, keyId: plain },
  KeyDeleted: { at, keyId: plain },
  CardSet: { at, verified: flag, failing: flag },
  CardRemoved: { at },
}

const companies: Arbitraries<CompaniesEvent> = {
  CompanyRegistered: {
    at,
    companyId: plain,
    name: plain,
    nameTag: plain,
    plan,
    pays,
    fundsMicros: micros,
    withNumber: flag,
    owner: fc.record({ personId: plain, name: plain, email: plain, emailTag: plain }),
  },
}

const phone: Arbitraries<PhoneEvent> = {
  NumberAdded: {
    at,
    numberId: plain,
    number: plain,
    numberTag: plain,
    kind: fc.constantFrom("local", "toll_free"),
    locality: orNull(text),
    region: orNull(plain),
    sms: flag,
    mms: flag,
    voice: flag,
    monthlyMicros: micros,
    paidThrough: orNull(at),
    test: flag,
  },
}

const standing = fc.record({
  stoppedAt: orNull(at),
  stopKeyword: orNull(text),
  addedAt: orNull(at),
  firstMessageId: orNull(plain),
})
const aboutText = { at, standing, messageId: plain }

const recipient: Arbitraries<RecipientEvent> = {
  TextQueued: {
    ...aboutText,
    purpose: fc.constantFrom("text", "opt_out_reply", "opt_in_reply", "help_reply"),
    chargeId: orNull(plain),
    giveBackMicros: micros,
    numberId: plain,
    to: plain,
    body: plain,
    segments: int,
    lineAdded: flag,
    keyId: orNull(plain),
    personId: orNull(plain),
  },
  TextAccepted: { ...aboutText, carrierId: text },
  TextRejected: { ...aboutText, errorCode: text },
  TextDelivered: aboutText,
  TextUndelivered: { ...aboutText, errorCode: text },
  TextAbandoned: aboutText,
  TextReceived: { ...aboutText, numberId: plain, from: plain, body: plain, media: int },
  OptedOutByText: { at, standing, phone: plain, keyword: text },
  OptedInByText: { at, standing, phone: plain, keyword: text },
  OptOutAdded: { at, standing, phone: plain },
  OptOutRemoved: { at, standing, phone: plain },
}

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = { ledger, refusals, prices, access, companies, phone, recipient }
