/**
 * Random histories of commands for every decider but the ledger's and a recipient's, which have their
 * own. Names are few, so that commands meet.
 */
import { inspect, isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { PLANS, CARD_FAULTS } from "../../domain/access/access-events.ts"
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
import type { CheckpointForm, Decider, Fact, Stamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import type { FieldArbitraries } from "./arbitrary-kinds.ts"
import { arbitrariesOf, flag, orNull, record, sealed, some } from "./arbitrary-kinds.ts"

/** Commands in the order in which they are decided, each with its stamp. */
export type CommandHistory<C> = readonly { readonly command: C; readonly stamp: Stamp }[]

/** A decider, the codec of its facts, how its state is kept beside them, and what that weighs. */
export interface Rules<C, S, E extends Fact, R extends Fact> {
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  readonly checkpoint?: CheckpointForm<S>
  readonly bytesOf?: (state: S) => number
  /** What of a state is compared, where it also remembers what was looked up last. */
  readonly compared?: (state: S) => unknown
}

/** What a history comes to: how many facts it recorded, and how a state differs; null where none does. */
export interface Compared {
  readonly facts: number
  readonly difference: string | null
}

/**
 * Decides a history, and beside it folds what is read of its stored facts; and decides the same on a state
 * that goes through its checkpoint before each command.
 */
export function compareWithStored<C, S, E extends Fact, R extends Fact>(
  { decider, codec, checkpoint, bytesOf, compared = (state) => state }: Rules<C, S, E, R>,
  history: CommandHistory<C>,
): Compared {
  const through = (state: S): S =>
    checkpoint === undefined
      ? state
      : checkpoint.load(JSON.parse(JSON.stringify(checkpoint.save(state))))
  let [live, stored, kept] = [decider.initial(), decider.initial(), decider.initial()]
  let facts = 0
  for (const { command, stamp } of history) {
    const decided = decider.decide(command, live, stamp)
    kept = through(kept)
    const again = decider.decide(command, kept, stamp)
    if (!isDeepStrictEqual(decided, again)) {
      return { facts, difference: between("the decision", decided, again) }
    }
    if (isRefusal(decided)) continue
    for (const fact of decided) {
      const { type } = fact
      const read = codec.decode(type, codec.version(type), codec.encode(fact))
      if (!isDeepStrictEqual(fact, read)) return { facts, difference: between(type, fact, read) }
      live = decider.evolve(live, fact)
      stored = decider.evolve(stored, read)
      kept = decider.evolve(kept, structuredClone(read))
      facts += 1
    }
  }
  if (bytesOf !== undefined && bytesOf(live) < bytesOf(decider.initial())) {
    return { facts, difference: "the state weighs less than none" }
  }
  const ends = compared(live)
  const other = [stored, through(kept)].map(compared).find((one) => !isDeepStrictEqual(ends, one))
  return { facts, difference: other === undefined ? null : between("the state", ends, other) }
}

function between(what: string, decided: unknown, stored: unknown): string {
  const shown = (value: unknown) =>
    inspect(value, { depth: null, breakLength: Infinity, compact: true })
  return `${what} is ${shown(decided)}, and as it is stored ${shown(stored)}`
}

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const DAY_MS = 86_400_000

const wait = fc.oneof(fc.constantFrom(0, 1, DAY_MS), fc.nat(40 * DAY_MS))
const headHash = fc.constantFrom("ab".repeat(32), "0".repeat(64))

/** Commands with stamps as the writer gives them: time never goes back. */
export function historiesOf<C>(
  command: fc.Arbitrary<C>,
  first: readonly C[] = [],
): fc.Arbitrary<CommandHistory<C>> {
  const part = record({ command, wait, headHash })
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

/** One command of this type. */
export function commandOf<C extends { readonly type: string }, T extends C["type"]>(
  type: T,
  fields: FieldArbitraries<Omit<Extract<C, { type: T }>, "type">>,
): fc.Arbitrary<C> {
  return record(fields).map((values) => ({ ...values, type }) as unknown as C)
}

const personId = fc.constantFrom("per_1", "per_2", "per_3")
const keyId = fc.constantFrom("key_1", "key_2", "key_3")
const companyId = fc.constantFrom("co_1", "co_2", "co_3")
const holdId = fc.constantFrom("hold_1", "hold_2")
const tag = fc.constantFrom("aa", "bb", "cc")
const role = fc.constantFrom(...ROLES)
const plan = fc.constantFrom(...PLANS)
const pays = fc.constantFrom("prepaid", "card")
const permissions = some(fc.constantFrom(...PERMISSIONS))
const grantable = some(fc.constantFrom(...GRANTABLE))

const person = { personId, name: sealed, email: sealed, emailTag: tag, role }
const access = fc.oneof(
  commandOf<AccessCommand, "OpenCompany">("OpenCompany", { companyId, name: sealed, plan, pays }),
  commandOf<AccessCommand, "ChangePlan">("ChangePlan", { plan, pays }),
  commandOf<AccessCommand, "AddPerson">("AddPerson", { ...person, permissions }),
  commandOf<AccessCommand, "ChangePerson">("ChangePerson", {
    personId,
    name: orNull(sealed),
    email: orNull(sealed),
    emailTag: orNull(tag),
    role: orNull(role),
    permissions: orNull(permissions),
  }),
  commandOf<AccessCommand, "ChangeAppAccess">("ChangeAppAccess", {
    personId,
    grant: grantable,
    deny: grantable,
    clear: grantable,
  }),
  commandOf<AccessCommand, "RemovePerson">("RemovePerson", { personId }),
  commandOf<AccessCommand, "InvitePerson">("InvitePerson", {
    inviteId: fc.constantFrom("inv_1", "inv_2"),
    email: sealed,
    emailTag: tag,
    role,
    expiresAt: fc.constant(NOW + DAY_MS),
  }),
  commandOf<AccessCommand, "WithdrawInvitation">("WithdrawInvitation", {
    inviteId: fc.constantFrom("inv_1", "inv_2"),
  }),
  commandOf<AccessCommand, "AcceptInvitation">("AcceptInvitation", {
    inviteId: fc.constantFrom("inv_1", "inv_2"),
    personId,
    name: sealed,
    email: sealed,
    emailTag: tag,
  }),
  commandOf<AccessCommand, "CreateKey">("CreateKey", {
    keyId,
    personId: orNull(personId),
    keyHash: tag,
    operations: some(fc.constantFrom(...ALL_OPERATIONS)),
    label: orNull(sealed),
  }),
  commandOf<AccessCommand, "ChangeKeyOperations">("ChangeKeyOperations", {
    keyId,
    operations: some(fc.constantFrom(...ALL_OPERATIONS)),
  }),
  ...(["PauseKey", "ResumeKey", "DeleteKey"] as const).map((type) => {
    return commandOf<AccessCommand, typeof type>(type, { keyId })
  }),
  commandOf<AccessCommand, "LeakKey">("LeakKey", { keyId, pushId: tag, inOwnCode: flag }),
  ...(["SwitchKeysOff", "SwitchKeysOn", "RemoveCard"] as const).map((type) => {
    return commandOf<AccessCommand, typeof type>(type, {})
  }),
  commandOf<AccessCommand, "SetCard">("SetCard", { verified: flag, failing: flag }),
  commandOf<AccessCommand, "StartCardCheck">("StartCardCheck", {
    holdId,
    amountMicros: fc.constant(49_000_000),
  }),
  commandOf<AccessCommand, "EndCardCheck">("EndCardCheck", {
    holdId,
    fault: orNull(fc.constantFrom(...CARD_FAULTS)),
  }),
  commandOf<AccessCommand, "ChangeChannel">("ChangeChannel", { channel: tag }),
  commandOf<AccessCommand, "JoinAffiliate">("JoinAffiliate", { tag }),
)

/** Of a company's access, which is opened first. */
export const accessHistories = historiesOf(access, [
  { type: "OpenCompany", companyId: "co_1", name: "s1.co_1.YQ", plan: "payg", pays: "card" },
])

const { at: _registeredAt, ...registered } = arbitrariesOf(companiesFormats).CompanyRegistered
/** Of the list of companies. */
export const companiesHistories = historiesOf(
  fc.oneof(
    commandOf<CompaniesCommand, "RegisterCompany">("RegisterCompany", {
      ...registered,
      companyId,
      nameTag: tag,
    }),
    commandOf<CompaniesCommand, "EraseCompany">("EraseCompany", { companyId }),
  ),
)

const { at: _checkedInAt, ...checkedIn } = arbitrariesOf(appFormats).AppCheckedIn
const { at: _reportedAt, ...reported } = arbitrariesOf(appFormats).DeviceReported
type AppCommand = CheckIn | ReportDevice
/** Of an installed app. */
export const appHistories = historiesOf(
  fc.oneof(
    commandOf<AppCommand, "CheckIn">("CheckIn", { ...checkedIn, version: tag }),
    commandOf<AppCommand, "ReportDevice">("ReportDevice", { ...reported, eventId: tag }),
  ),
)

const version = fc.constantFrom("1.0.0", "1.0.1", "2.0.0-rc.1", "no version")
const { at: _publishedAt, ...published } = arbitrariesOf(releaseFormats).ReleasePublished
type ReleaseCommand = PublishRelease | SealRelease
/** Of the app's releases. */
export const releaseHistories = historiesOf(
  fc.oneof(
    commandOf<ReleaseCommand, "PublishRelease">("PublishRelease", {
      ...published,
      version,
      channel: tag,
    }),
    commandOf<ReleaseCommand, "SealRelease">("SealRelease", { version, tree: tag }),
  ),
)

/** Of the price book. */
export const priceHistories = historiesOf(
  fc.oneof(
    commandOf<PriceCommand, "SetPrice">("SetPrice", {
      item: fc.constantFrom(...PRICED_ITEMS),
      unitPriceMicros: fc.integer({ min: -1, max: 20_000 }),
    }),
    commandOf<PriceCommand, "OpenPriceBook">("OpenPriceBook", {
      prices: arbitrariesOf(priceFormats).PriceBookOpened.prices,
    }),
    commandOf<PriceCommand, "SetDestinationPrices">("SetDestinationPrices", {
      carrierPricesFrom: fc.constantFrom("2026-01-01", "2026-06-01"),
      markupPermille: fc.integer({ min: -1, max: 3_000 }),
      carrierPrices: some(
        record({
          country: fc.constantFrom("GB", "JM"),
          textMicros: fc.nat(200_000),
          callMicros: fc.nat(200_000),
        }),
      ),
    }),
  ),
)

const refused = record({
  ...arbitrariesOf(refusalFormats).ChargeRefused,
  at: fc.nat(3 * DAY_MS).map((ms) => NOW + ms),
  keyId: orNull(keyId),
  personId: orNull(personId),
  refusingLimit: orNull(fc.constantFrom(0, 1)),
}).map((fields) => ({ type: "ChargeRefused" as const, ...fields }))
/** Of the evidence of refusals. */
export const refusalHistories = historiesOf(
  commandOf<RecordRefusals, "RecordRefusals">("RecordRefusals", { refusals: some(refused) }),
)
