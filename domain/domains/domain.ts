/**
 * One connected domain: its zone, the sending domains and the app addresses under it.
 *
 * Stream `domain-<companyId>-<domainId>`, bounded by a thousand records and manual changes. Everything that changes
 * the zone passes `placementRefusal`, so a CNAME is always the only record of its name. The zone's serial is the
 * number of changes, so it also increases across rebuilds.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type {
  ConnectDomain,
  DomainCommand,
  DomainRefused,
  SaveAppAddress,
} from "./domain-commands.ts"
import { DOMAIN_REFUSAL_MESSAGES } from "./domain-commands.ts"
import type {
  DomainEvent,
  DomainFact,
  DomainStatus,
  StoredZoneRecord,
  RecordId,
} from "./domain-events.ts"
import { blocksMail } from "./domain-events.ts"
import type { DomainState, SendingDomain } from "./domain-state.ts"
import { evolveDomain, initialDomain, voidingConflict } from "./domain-state.ts"
import { MAX_NAME_LENGTH, isSameOrSubdomain } from "./host-names.ts"
import { recordConflict, isSameRecord } from "./dns-records.ts"

/** Maximum number of records of a domain. */
export const MAX_DOMAIN_RECORDS = 1_000
/** Maximum total length of copied records; they are one append. */
const MAX_COPIED_CHARACTERS = 200_000
/** Maximum number of sending domains of a domain. */
export const MAX_SENDING_DOMAINS = 50
const MAX_APP_ADDRESSES = 100
/** How long a domain may wait for its first delegation, in milliseconds. */
export const DOMAIN_LAPSE_MS = 14 * 86_400_000
/** How long the records of a verified sending domain may be wrong before it fails, in milliseconds. */
const FAILS_AFTER_MS = 3 * 86_400_000
/** An unchanged check result is not recorded again within this time, in milliseconds. */
const SAME_CHECK_WITHIN_MS = 3_600_000
const COPIED_RECORDS_PER_EVENT = 100

/** Prefix of the name of a DMARC policy (RFC 7489). */
const DMARC = "_dmarc."

/** The record types that an app address replaces. */
const ADDRESS_TYPES: readonly StoredZoneRecord["type"][] = ["A", "AAAA", "CNAME"]

/** The rules of a connected domain. */
export const domainDecider: Decider<DomainCommand, DomainState, DomainEvent, DomainRefused> = {
  initial: initialDomain,
  decide,
  evolve: evolveDomain,
}

type Decision = readonly DomainEvent[] | DomainRefused

function decide(command: DomainCommand, state: DomainState, { at }: DecisionStamp): Decision {
  if (command.type === "RemoveDomain") return remove(command, state, at)
  if (state.removed !== null) return refuse("no_domain", at)
  if (command.type === "ConnectDomain") return connect(command, state, at)
  if (state.connected === null) return refuse("no_domain", at)
  const { name: apex } = state.connected
  switch (command.type) {
    case "RecordDelegation":
      return recordDelegation(command, state, state.connected.nameServers, at)
    case "AddRecord":
    case "UpdateRecord":
      return writeRecord(command, state, apex, at)
    case "RemoveRecord": {
      const known = state.records.get(command.recordId)
      const { recordId } = command
      if (known === undefined) return refuse("no_record", at)
      if (isReadOnly(known)) return refuse("read_only", at)
      return [{ type: "RecordRemoved", at, recordId }, ...appAddressRemoval(state, known, at)]
    }
    case "AddSendingDomain":
      return addSendingDomain(command, state, apex, at)
    case "CheckSendingDomain":
      return checkSendingDomain(command, state, at)
    case "SaveAppAddress":
      return saveAppAddress(command, state, apex, at)
    case "MarkAppAddressReached": {
      const { status, appAddresses } = state
      const found = [...appAddresses.values()].find((one) => one.hostname === command.hostname)
      if (found === undefined || found.status === "live" || status !== "live") return []
      return [{ type: "AppAddressSeen", at, appAddressId: found.appAddressId, status: "live" }]
    }
    default:
      return unreachable(command)
  }
}

type CommandOf<T extends DomainCommand["type"]> = Extract<DomainCommand, { readonly type: T }>

/** A domain whose connecting was interrupted ends without having been connected. */
function remove(
  { domainId, reason }: CommandOf<"RemoveDomain">,
  state: DomainState,
  at: number,
): Decision {
  if (state.removed !== null) return []
  const { connected, status } = state
  const isEarly = connected !== null && at - connected.at < DOMAIN_LAPSE_MS
  if (reason === "lapsed" && (status !== "waiting" || isEarly)) return []
  return [{ type: "DomainRemoved", at, domainId, reason }]
}

function connect({ records, ...command }: ConnectDomain, state: DomainState, at: number): Decision {
  if (state.connected !== null) return []
  const characters = records.reduce((sum, one) => sum + one.name.length + one.content.length, 0)
  if (records.length > MAX_DOMAIN_RECORDS || characters > MAX_COPIED_CHARACTERS)
    return refuse("full", at)
  const compatible = withoutClashes(command.name, records)
  const parts: DomainFact<"RecordsCopied">[] = []
  for (let i = 0; i < compatible.length; i += COPIED_RECORDS_PER_EVENT) {
    parts.push({
      type: "RecordsCopied",
      at,
      records: compatible.slice(i, i + COPIED_RECORDS_PER_EVENT),
    })
  }
  return [{ ...command, type: "DomainConnected", at }, ...parts]
}

/**
 * The copied records that can form one zone: a CNAME hides the other records of its name, as it does for resolvers.
 */
function withoutClashes(
  apex: string,
  records: readonly StoredZoneRecord[],
): readonly StoredZoneRecord[] {
  const aliasesFirst = records.toSorted((a, b) => rankOf(a) - rankOf(b))
  const compatible: StoredZoneRecord[] = []
  for (const record of aliasesFirst)
    if (recordConflict(apex, compatible, record) === null) compatible.push(record)
  return compatible
}

const rankOf = ({ type }: StoredZoneRecord): number => (type === "CNAME" ? 0 : 1)

function recordDelegation(
  { nameServers, isElsewhere, dnssecOn }: CommandOf<"RecordDelegation">,
  state: DomainState,
  ours: readonly string[],
  at: number,
): Decision {
  const isDelegated = sameNames(nameServers, ours)
  const formerStatus = state.status
  const status: DomainStatus = isDelegated
    ? "live"
    : formerStatus === "waiting"
      ? "waiting"
      : "moved"
  const isSame = state.seenNameServers !== null && sameNames(nameServers, state.seenNameServers)
  if (isSame && isElsewhere === state.isElsewhere && dnssecOn === state.dnssecOn) return []
  const fact = {
    type: "DelegationSeen",
    at,
    nameServers,
    status,
    isElsewhere,
    dnssecOn,
  } as const
  return status === formerStatus ? [fact] : [fact, ...appAddressUpdates(state, status, at)]
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  const [namesOfA, namesOfB] = [new Set(a), new Set(b)]
  return namesOfA.size === namesOfB.size && [...namesOfA].every((name) => namesOfB.has(name))
}

/** The status of app addresses follows the delegation of their domain. */
function appAddressUpdates(
  { appAddresses }: DomainState,
  now: DomainStatus,
  at: number,
): readonly DomainEvent[] {
  const status = now === "live" ? "waiting_certificate" : "failed"
  return [...appAddresses.keys()].map((appAddressId) => {
    return { type: "AppAddressSeen", at, appAddressId, status }
  })
}

function writeRecord(
  { type, record }: CommandOf<"AddRecord"> | CommandOf<"UpdateRecord">,
  state: DomainState,
  apex: string,
  at: number,
): Decision {
  const known = state.records.get(record.id)
  if (type === "AddRecord") {
    if (known !== undefined) return []
    return placementRefusal(state, apex, [record], [], at) ?? [{ type: "RecordAdded", at, record }]
  }
  if (known === undefined) return refuse("no_record", at)
  if (isReadOnly(known)) return refuse("read_only", at)
  if (isSameRecord(known, record)) return []
  const refused = placementRefusal(state, apex, [record], [record.id], at)
  if (refused !== null) return refused
  return [{ type: "RecordUpdated", at, record }, ...appAddressRemoval(state, known, at)]
}

const isReadOnly = ({ type }: StoredZoneRecord): boolean =>
  type === "NS" || type === "SRV" || type === "CAA"

/** Changing the records of an app address by hand removes the app address. */
function appAddressRemoval(
  { appAddresses }: DomainState,
  { source, name }: StoredZoneRecord,
  at: number,
): readonly DomainEvent[] {
  const found = [...appAddresses.values()].find(({ hostname }) => hostname === name)
  if (source !== "app" || found === undefined) return []
  return [{ type: "AppAddressRemoved", at, appAddressId: found.appAddressId }]
}

function placementRefusal(
  state: DomainState,
  apex: string,
  added: readonly StoredZoneRecord[],
  replaced: readonly RecordId[],
  at: number,
): DomainRefused | null {
  const remaining = [...state.records.values()].filter(({ id }) => !replaced.includes(id))
  if (remaining.length + added.length > MAX_DOMAIN_RECORDS) return refuse("full", at)
  for (const record of added) {
    const { length } = record.name
    if (length > MAX_NAME_LENGTH || !isSameOrSubdomain(record.name, apex))
      return refuse("not_under", at)
    const isDelegated = remaining.some(
      ({ type, name }) => type === "NS" && isSameOrSubdomain(record.name, name),
    )
    if (isDelegated) return refuse("delegated", at)
    if (remaining.some((one) => isSameRecord(one, record))) return refuse("same", at)
    const clash = recordConflict(apex, remaining, record)
    const message = clash ?? voidingConflict(remaining, record)
    const code = clash === null ? "voided" : "clash"
    if (message !== null) return { type: "DomainRefused", at, code, message }
    remaining.push(record)
  }
  return null
}

/** The names of a sending domain are only for mail: its records replace writable records of any type there. */
function addSendingDomain(
  command: CommandOf<"AddSendingDomain">,
  state: DomainState,
  apex: string,
  at: number,
): Decision {
  const { name } = command
  if (!isSameOrSubdomain(name, apex)) return refuse("not_under", at)
  const known = [...state.sendingDomains.values()]
  if (known.some((one) => one.name === name)) return []
  if (known.length >= MAX_SENDING_DOMAINS) return refuse("full", at)
  const records = command.records.filter((one) => !hasPolicy(state, apex, one))
  const names = new Set(records.map((record) => record.name))
  const replaced = [...state.records.values()].filter((one) => names.has(one.name))
  if (replaced.some(isReadOnly)) return refuse("delegated", at)
  const ids = replaced.map(({ id }) => id)
  const refused = placementRefusal(state, apex, records, ids, at)
  if (refused !== null) return refused
  return [
    { ...command, type: "SendingDomainAdded", at, records, replaced: ids },
    ...replaced.flatMap((one) => appAddressRemoval(state, one, at)),
  ]
}

/** Whether the name or the domain already has a DMARC policy, which belongs to its owner. */
function hasPolicy({ records }: DomainState, apex: string, { name }: StoredZoneRecord): boolean {
  const isPolicy = name.startsWith(DMARC)
  return (
    isPolicy &&
    [...records.values()].some((one) => one.name === name || one.name === `${DMARC}${apex}`)
  )
}

function checkSendingDomain(
  command: CommandOf<"CheckSendingDomain">,
  state: DomainState,
  at: number,
): Decision {
  const known = state.sendingDomains.get(command.sendingDomainId)
  if (known === undefined) return refuse("no_sending_domain", at)
  const { faults, hasDmarc } = command
  const wrongSince = faults.some(blocksMail) ? (known.failingSince ?? at) : null
  const status = sendingStatusAfterCheck(known, wrongSince, at)
  const isSame =
    status === known.status &&
    hasDmarc === known.hasDmarc &&
    faults.join() === known.faults.join() &&
    known.checkedAt !== null &&
    at - known.checkedAt < SAME_CHECK_WITHIN_MS
  return isSame
    ? []
    : [{ ...command, type: "SendingDomainChecked", at, status, failingSince: wrongSince }]
}

/** A verified sending domain fails after three days of wrong records; others keep waiting for their records. */
function sendingStatusAfterCheck({ status }: SendingDomain, wrongSince: number | null, at: number) {
  if (wrongSince === null) return "verified"
  return status === "verified" && at - wrongSince >= FAILS_AFTER_MS ? "failed" : status
}

function saveAppAddress(
  { appAddressId, hostname, alias, addresses }: SaveAppAddress,
  state: DomainState,
  apex: string,
  at: number,
): Decision {
  if (!isSameOrSubdomain(hostname, apex)) return refuse("not_under", at)
  const known = [...state.appAddresses.values()]
  if (known.some((one) => one.hostname === hostname)) return []
  if (known.length >= MAX_APP_ADDRESSES) return refuse("full", at)
  const sameName = [...state.records.values()].filter(({ name }) => name === hostname)
  const replaced = sameName.filter(({ type }) => ADDRESS_TYPES.includes(type)).map(({ id }) => id)
  const canUseAlias = hostname !== apex && sameName.length === replaced.length
  const records = canUseAlias ? [alias] : addresses
  const refused = placementRefusal(state, apex, records, replaced, at)
  if (refused !== null) return refused
  const status = state.status === "live" ? "waiting_certificate" : "waiting_dns"
  return [{ type: "AppAddressSaved", at, appAddressId, hostname, status, records, replaced }]
}

function refuse(code: keyof typeof DOMAIN_REFUSAL_MESSAGES, at: number): DomainRefused {
  return { type: "DomainRefused", at, code, message: DOMAIN_REFUSAL_MESSAGES[code] }
}
