/**
 * Random command histories for every decider except those of ledgers and recipients, which have their own. Names are
 * few, so that commands affect each other.
 */
import { inspect, isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { PLANS, CARD_CHECK_FAILURES } from "../../domain/access/access-events.ts"
import type { AccessCommand } from "../../domain/access/access.ts"
import { GRANTABLE, ALL_OPERATIONS, PERMISSIONS, ROLES } from "../../domain/access/permissions.ts"
import type { PriceCommand } from "../../domain/charging/price-book.ts"
import { PRICED_ITEMS } from "../../domain/charging/items.ts"
import { priceFormats } from "../../domain/charging/price-book.ts"
import type { RecordRefusals } from "../../domain/charging/refusals.ts"
import { refusalFormats } from "../../domain/charging/refusals.ts"
import type { CompaniesCommand } from "../../domain/company/companies.ts"
import { companiesFormats } from "../../domain/company/companies.ts"
import { appFormats } from "../../domain/connection/app-events.ts"
import type { CheckIn, ReportDevice } from "../../domain/connection/app.ts"
import type { PublishRelease, SealRelease } from "../../domain/connection/releases.ts"
import { releaseFormats } from "../../domain/connection/releases.ts"
import type { CheckpointFormat, Decider, Fact, DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/event-format.ts"
import type { FieldArbitraries } from "./arbitraries.ts"
import {
  arbitrariesOf,
  anyFlag,
  nullable,
  anyRecord,
  anySealedText,
  anyFew,
} from "./arbitraries.ts"

/** Commands in the order they are decided, each with its stamp. */
export type CommandHistory<C> = readonly { readonly command: C; readonly stamp: DecisionStamp }[]

/** A decider, the codec of its facts, the format of its checkpoint, and the memory size of its state. */
export interface DeciderUnderTest<C, S, E extends Fact, R extends Fact> {
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  readonly checkpoint?: CheckpointFormat<S>
  readonly bytesOf?: (state: S) => number
  /** The part of a state that is compared; it leaves out a cached look-up. */
  readonly comparable?: (state: S) => unknown
}

/** Result of a history: how many facts it recorded, and how two states differ, or null if none do. */
export interface StateComparison {
  readonly facts: number
  readonly difference: string | null
}

/**
 * Decides a history on three states: from the decided facts, from the facts read back from storage, and from a state
 * that is saved to a checkpoint and loaded before each command.
 */
export function compareWithStored<C, S, E extends Fact, R extends Fact>(
  {
    decider,
    codec,
    checkpoint,
    bytesOf,
    comparable = (state) => state,
  }: DeciderUnderTest<C, S, E, R>,
  history: CommandHistory<C>,
): StateComparison {
  const through = (state: S): S =>
    checkpoint === undefined
      ? state
      : checkpoint.load(JSON.parse(JSON.stringify(checkpoint.save(state))))
  let [live, stored, reloaded] = [decider.initial(), decider.initial(), decider.initial()]
  let facts = 0
  for (const { command, stamp } of history) {
    const decided = decider.decide(command, live, stamp)
    reloaded = through(reloaded)
    const again = decider.decide(command, reloaded, stamp)
    if (!isDeepStrictEqual(decided, again)) {
      return { facts, difference: differenceBetween("the decision", decided, again) }
    }
    if (isRefusal(decided)) continue
    for (const fact of decided) {
      const { type } = fact
      const read = codec.decode(type, codec.version(type), codec.encode(fact))
      if (!isDeepStrictEqual(fact, read))
        return { facts, difference: differenceBetween(type, fact, read) }
      live = decider.evolve(live, fact)
      stored = decider.evolve(stored, read)
      reloaded = decider.evolve(reloaded, structuredClone(read))
      facts += 1
    }
  }
  if (bytesOf !== undefined && bytesOf(live) < bytesOf(decider.initial())) {
    return { facts, difference: "the state is smaller than the initial one" }
  }
  const ends = comparable(live)
  const other = [stored, through(reloaded)]
    .map(comparable)
    .find((one) => !isDeepStrictEqual(ends, one))
  return {
    facts,
    difference: other === undefined ? null : differenceBetween("the state", ends, other),
  }
}

function differenceBetween(subject: string, decided: unknown, stored: unknown): string {
  const shown = (value: unknown) =>
    inspect(value, { depth: null, breakLength: Infinity, compact: true })
  return `${subject} is ${shown(decided)}, but stored as ${shown(stored)}`
}

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const DAY_MS = 86_400_000

const wait = fc.oneof(fc.constantFrom(0, 1, DAY_MS), fc.nat(40 * DAY_MS))
const headHash = fc.constantFrom("ab".repeat(32), "0".repeat(64))

/** Commands with stamps like the runner's: their time never goes backwards. */
export function historiesOf<C>(
  command: fc.Arbitrary<C>,
  first: readonly C[] = [],
): fc.Arbitrary<CommandHistory<C>> {
  const part = anyRecord({ command, wait, headHash })
  return fc.array(part, { maxLength: 40, size: "max" }).map((parts) => {
    let at = NOW
    const opening = first.map((one) => ({ command: one, stamp: { at } }))
    const others = parts.map(({ wait: waited, ...one }) => {
      at += waited
      return { command: one.command, stamp: { at, headHash: one.headHash } }
    })
    return [...opening, ...others]
  })
}

/** A command of this type. */
export function commandArbitrary<C extends { readonly type: string }, T extends C["type"]>(
  type: T,
  fields: FieldArbitraries<Omit<Extract<C, { type: T }>, "type">>,
): fc.Arbitrary<C> {
  return anyRecord(fields).map((values) => ({ ...values, type }) as unknown as C)
}

const personId = fc.constantFrom("per_1", "per_2", "per_3")
const keyId = fc.constantFrom("key_1", "key_2", "key_3")
const companyId = fc.constantFrom("co_1", "co_2", "co_3")
const holdId = fc.constantFrom("hold_1", "hold_2")
const tag = fc.constantFrom("aa", "bb", "cc")
const role = fc.constantFrom(...ROLES)
const plan = fc.constantFrom(...PLANS)
const pays = fc.constantFrom("prepaid", "card")
const permissions = anyFew(fc.constantFrom(...PERMISSIONS))
const grantable = anyFew(fc.constantFrom(...GRANTABLE))

const person = { personId, name: anySealedText, email: anySealedText, emailTag: tag, role }
const access = fc.oneof(
  commandArbitrary<AccessCommand, "OpenCompany">("OpenCompany", {
    companyId,
    name: anySealedText,
    plan,
    pays,
  }),
  commandArbitrary<AccessCommand, "ChangePlan">("ChangePlan", { plan, pays }),
  commandArbitrary<AccessCommand, "AddPerson">("AddPerson", { ...person, permissions }),
  commandArbitrary<AccessCommand, "ChangePerson">("ChangePerson", {
    personId,
    name: nullable(anySealedText),
    email: nullable(anySealedText),
    emailTag: nullable(tag),
    role: nullable(role),
    permissions: nullable(permissions),
  }),
  commandArbitrary<AccessCommand, "ChangeAppAccess">("ChangeAppAccess", {
    personId,
    grant: grantable,
    deny: grantable,
    clear: grantable,
  }),
  commandArbitrary<AccessCommand, "RemovePerson">("RemovePerson", { personId }),
  commandArbitrary<AccessCommand, "InvitePerson">("InvitePerson", {
    inviteId: fc.constantFrom("inv_1", "inv_2"),
    email: anySealedText,
    emailTag: tag,
    role,
    expiresAt: fc.constant(NOW + DAY_MS),
  }),
  commandArbitrary<AccessCommand, "WithdrawInvitation">("WithdrawInvitation", {
    inviteId: fc.constantFrom("inv_1", "inv_2"),
  }),
  commandArbitrary<AccessCommand, "AcceptInvitation">("AcceptInvitation", {
    inviteId: fc.constantFrom("inv_1", "inv_2"),
    personId,
    name: anySealedText,
    email: anySealedText,
    emailTag: tag,
  }),
  commandArbitrary<AccessCommand, "CreateKey">("CreateKey", {
    keyId,
    personId: nullable(personId),
    keyHash: tag,
    operations: anyFew(fc.constantFrom(...ALL_OPERATIONS)),
    label: nullable(anySealedText),
  }),
  commandArbitrary<AccessCommand, "ChangeKeyOperations">("ChangeKeyOperations", {
    keyId,
    operations: anyFew(fc.constantFrom(...ALL_OPERATIONS)),
  }),
  ...(["PauseKey", "ResumeKey", "DeleteKey"] as const).map((type) => {
    return commandArbitrary<AccessCommand, typeof type>(type, { keyId })
  }),
  commandArbitrary<AccessCommand, "RevokeLeakedKey">("RevokeLeakedKey", {
    keyId,
    pushId: tag,
    inOwnCode: anyFlag,
  }),
  ...(["SwitchKeysOff", "SwitchKeysOn", "RemoveCard"] as const).map((type) => {
    return commandArbitrary<AccessCommand, typeof type>(type, {})
  }),
  commandArbitrary<AccessCommand, "SetCard">("SetCard", { verified: anyFlag, failing: anyFlag }),
  commandArbitrary<AccessCommand, "StartCardCheck">("StartCardCheck", {
    holdId,
    amountMicros: fc.constant(49_000_000),
  }),
  commandArbitrary<AccessCommand, "EndCardCheck">("EndCardCheck", {
    holdId,
    failure: nullable(fc.constantFrom(...CARD_CHECK_FAILURES)),
  }),
  commandArbitrary<AccessCommand, "ChangeChannel">("ChangeChannel", { channel: tag }),
  commandArbitrary<AccessCommand, "JoinAffiliateProgram">("JoinAffiliateProgram", { tag }),
)

/** Histories of a company's access; the company is opened first. */
export const accessHistories = historiesOf(access, [
  { type: "OpenCompany", companyId: "co_1", name: "s1.co_1.YQ", plan: "payg", pays: "card" },
])

const { at: _registeredAt, ...registered } = arbitrariesOf(companiesFormats).CompanyRegistered
export const companiesHistories = historiesOf(
  fc.oneof(
    commandArbitrary<CompaniesCommand, "RegisterCompany">("RegisterCompany", {
      ...registered,
      companyId,
      nameTag: tag,
    }),
    commandArbitrary<CompaniesCommand, "EraseCompany">("EraseCompany", { companyId }),
  ),
)

const { at: _checkedInAt, ...checkedIn } = arbitrariesOf(appFormats).AppCheckedIn
const { at: _reportedAt, ...reported } = arbitrariesOf(appFormats).DeviceReported
type AppCommand = CheckIn | ReportDevice
export const appHistories = historiesOf(
  fc.oneof(
    commandArbitrary<AppCommand, "CheckIn">("CheckIn", { ...checkedIn, version: tag }),
    commandArbitrary<AppCommand, "ReportDevice">("ReportDevice", { ...reported, eventId: tag }),
  ),
)

const version = fc.constantFrom("1.0.0", "1.0.1", "2.0.0-rc.1", "no version")
const { at: _publishedAt, ...published } = arbitrariesOf(releaseFormats).ReleasePublished
type ReleaseCommand = PublishRelease | SealRelease
/** Histories of the app's releases. */
export const releaseHistories = historiesOf(
  fc.oneof(
    commandArbitrary<ReleaseCommand, "PublishRelease">("PublishRelease", {
      ...published,
      version,
      channel: tag,
    }),
    commandArbitrary<ReleaseCommand, "SealRelease">("SealRelease", { version, tree: tag }),
  ),
)

export const priceHistories = historiesOf(
  fc.oneof(
    commandArbitrary<PriceCommand, "SetPrice">("SetPrice", {
      item: fc.constantFrom(...PRICED_ITEMS),
      unitPriceMicros: fc.integer({ min: -1, max: 20_000 }),
    }),
    commandArbitrary<PriceCommand, "OpenPriceBook">("OpenPriceBook", {
      prices: arbitrariesOf(priceFormats).PriceBookOpened.prices,
    }),
    commandArbitrary<PriceCommand, "SetDestinationPrices">("SetDestinationPrices", {
      carrierPricesFrom: fc.constantFrom("2026-01-01", "2026-06-01"),
      markupPermille: fc.integer({ min: -1, max: 3_000 }),
      carrierPrices: anyFew(
        anyRecord({
          country: fc.constantFrom("GB", "JM"),
          textMicros: fc.nat(200_000),
          callMicros: fc.nat(200_000),
        }),
      ),
    }),
  ),
)

const refused = anyRecord({
  ...arbitrariesOf(refusalFormats).ChargeRefused,
  at: fc.nat(3 * DAY_MS).map((ms) => NOW + ms),
  keyId: nullable(keyId),
  personId: nullable(personId),
  refusingLimit: nullable(fc.constantFrom(0, 1)),
}).map((fields) => ({ type: "ChargeRefused" as const, ...fields }))
export const refusalHistories = historiesOf(
  commandArbitrary<RecordRefusals, "RecordRefusals">("RecordRefusals", {
    refusals: anyFew(refused),
  }),
)
