/**
 * An arbitrary for every event type. They are typed by the events themselves, so a new type, a new
 * field or a field of another type does not compile until it is here too.
 */
import fc from "fast-check"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import { PLANS } from "../../domain/access/access-events.ts"
import { GRANTABLE } from "../../domain/access/grants.ts"
import { ALL_OPERATIONS } from "../../domain/access/operations.ts"
import { PERMISSIONS, ROLES } from "../../domain/access/permissions.ts"
import type { CompaniesEvent } from "../../domain/company/companies.ts"
import type { AppEvent } from "../../domain/connection/app-events.ts"
import {
  DEVICE_KINDS,
  UPDATE_REASONS,
  UPDATE_STATUSES,
} from "../../domain/connection/app-events.ts"
import type { ReleaseEvent } from "../../domain/connection/releases.ts"
import type { PhoneEvent } from "../../domain/phone/phone.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"
import type { Arbitraries } from "./arbitrary-kinds.ts"
import {
  at,
  flag,
  id,
  int,
  micros,
  orNull,
  plain,
  record,
  sealed,
  some,
  text,
} from "./arbitrary-kinds.ts"
import { ledger, prices, refusals } from "./charging-arbitraries.ts"

const plan = fc.constantFrom(...PLANS)
const pays = fc.constantFrom("prepaid", "card")

const access: Arbitraries<AccessEvent> = {
  CompanyOpened: { at, companyId: id.company, name: sealed, plan, pays },
  PlanChanged: {
    at,
    plan: fc.constantFrom(...PLANS),
    pays: fc.constantFrom("prepaid", "card"),
  },
  PersonAdded: {
    at,
    personId: id.person,
    name: sealed,
    email: sealed,
    emailTag: plain,
    role: fc.constantFrom(...ROLES),
    permissions: some(fc.constantFrom(...PERMISSIONS)),
  },
  PersonChanged: {
    at,
    personId: id.person,
    name: orNull(sealed),
    email: orNull(sealed),
    emailTag: orNull(plain),
    role: orNull(fc.constantFrom(...ROLES)),
  },
  AppAccessSet: {
    at,
    personId: id.person,
    grant: some(fc.constantFrom(...GRANTABLE)),
    deny: some(fc.constantFrom(...GRANTABLE)),
  },
  PersonRemoved: { at, personId: id.person },
  PersonInvited: {
    at,
    inviteId: plain,
    email: sealed,
    emailTag: plain,
    role: fc.constantFrom(...ROLES),
    expiresAt: at,
  },
  KeyCreated: {
    at,
    keyId: id.key,
    personId: orNull(id.person),
    keyHash: plain,
    operations: some(fc.constantFrom(...ALL_OPERATIONS)),
    label: orNull(sealed),
  },
  KeyPaused: { at, keyId: id.key },
  KeyResumed: { at, keyId: id.key },
  KeyDeleted: { at, keyId: id.key },
  KeySwitchedOff: { at, keyId: id.key },
  KeySwitchedOn: { at, keyId: id.key },
  CardSet: { at, verified: flag, failing: flag },
  CardRemoved: { at },
  ChannelChanged: { at, channel: plain },
  AffiliateJoined: { at, tag: plain },
}

/** Of an installed app. */
export const app: Arbitraries<AppEvent> = {
  AppCheckedIn: {
    at,
    installId: plain,
    version: plain,
    platform: orNull(plain),
    seal: orNull(plain),
    counts: record({
      projects: orNull(int),
      people: orNull(int),
      contacts: orNull(int),
      companies: orNull(int),
      deals: orNull(int),
      messages: orNull(int),
      appointments: orNull(int),
      automations: orNull(int),
    }),
  },
  DeviceReported: {
    at,
    installId: plain,
    eventId: plain,
    attemptId: plain,
    sequence: int,
    kind: fc.constantFrom(...DEVICE_KINDS),
    version: plain,
    status: fc.constantFrom(...UPDATE_STATUSES),
    reason: orNull(fc.constantFrom(...UPDATE_REASONS)),
  },
}

/** Of the app's releases. */
export const releases: Arbitraries<ReleaseEvent> = {
  ReleasePublished: { at, version: plain, channel: plain, notes: text, required: flag },
  ReleaseSealed: { at, version: plain, tree: plain },
}

/** Of the list of companies. */
export const companies: Arbitraries<CompaniesEvent> = {
  CompanyRegistered: {
    at,
    companyId: id.company,
    name: sealed,
    nameTag: plain,
    plan,
    pays,
    fundsMicros: micros,
    withNumber: flag,
    owner: record({ personId: id.person, name: sealed, email: sealed, emailTag: plain }),
  },
  CompanyErased: { at, companyId: id.company },
}

/** Of a company's numbers. */
export const phone: Arbitraries<PhoneEvent> = {
  NumberAdded: {
    at,
    numberId: id.number,
    number: sealed,
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

const standing = record({
  stoppedAt: orNull(at),
  stopKeyword: orNull(text),
  addedAt: orNull(at),
  firstMessageId: orNull(id.message),
})
const aboutText = { at, standing, messageId: id.message }

const recipient: Arbitraries<RecipientEvent> = {
  TextQueued: {
    ...aboutText,
    purpose: fc.constantFrom("text", "opt_out_reply", "opt_in_reply", "help_reply"),
    chargeId: orNull(plain),
    giveBackMicros: micros,
    numberId: id.number,
    to: sealed,
    body: sealed,
    segments: int,
    lineAdded: flag,
    keyId: orNull(id.key),
    personId: orNull(id.person),
  },
  TextAccepted: { ...aboutText, carrierId: text },
  TextRejected: { ...aboutText, errorCode: text },
  TextDelivered: aboutText,
  TextUndelivered: { ...aboutText, errorCode: text },
  TextAbandoned: aboutText,
  TextReceived: { ...aboutText, numberId: id.number, from: sealed, body: sealed, media: int },
  OptedOutByText: { at, standing, phone: sealed, keyword: text },
  OptedInByText: { at, standing, phone: sealed, keyword: text },
  OptOutAdded: { at, standing, phone: sealed },
  OptOutRemoved: { at, standing, phone: sealed },
}

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = { ledger, refusals, prices, access, app, companies, phone, recipient, releases }
