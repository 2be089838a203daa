/**
 * One connected domain: its zone, what sends mail under it, and the web addresses under it.
 *
 * Stream `domain-<companyId>-<domainId>`, bounded by a thousand records and by clicks. Whatever changes the
 * zone passes `placed`, so that no CNAME ever stands beside another record. The zone's serial is the number
 * of those facts, and so goes up over rebuilds as well.
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

/** So many records a domain has at most. */
export const MAX_DOMAIN_RECORDS = 1_000
/** The contents of what is copied have so many characters together at most: it is one append. */
const MAX_COPIED_CHARACTERS = 200_000
/** So many names of a domain send mail at most. */
export const MAX_SENDING_DOMAINS = 50
const MAX_APP_ADDRESSES = 100
/** A domain that never pointed here is let go of after so long, milliseconds. */
export const DOMAIN_LAPSE_MS = 14 * 86_400_000
/** A sending domain whose records are wrong for so long has failed, milliseconds. */
const FAILS_AFTER_MS = 3 * 86_400_000
/** What a check finds again within this is not recorded again, milliseconds. */
const SAME_CHECK_WITHIN_MS = 3_600_000
/** So many records stand in one fact. */
const COPIED_RECORDS_PER_EVENT = 100

/** What the name of a DMARC policy begins with (RFC 7489). */
const DMARC = "_dmarc."

/** What the DNS calls an address: what a web address of the app takes the place of. */
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
      return seeDelegation(command, state, state.connected.nameServers, at)
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

/** A domain whose connecting broke off ends without ever having been one. */
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
  const kept = withoutClashes(command.name, records)
  const parts: DomainFact<"RecordsCopied">[] = []
  for (let i = 0; i < kept.length; i += COPIED_RECORDS_PER_EVENT) {
    parts.push({ type: "RecordsCopied", at, records: kept.slice(i, i + COPIED_RECORDS_PER_EVENT) })
  }
  return [{ ...command, type: "DomainConnected", at }, ...parts]
}

/** What of copied records can be one zone: a CNAME hides what stands beside it, as it does for resolvers. */
function withoutClashes(
  apex: string,
  records: readonly StoredZoneRecord[],
): readonly StoredZoneRecord[] {
  const aliasesFirst = records.toSorted((a, b) => rankOf(a) - rankOf(b))
  const kept: StoredZoneRecord[] = []
  for (const record of aliasesFirst)
    if (recordConflict(apex, kept, record) === null) kept.push(record)
  return kept
}

const rankOf = ({ type }: StoredZoneRecord): number => (type === "CNAME" ? 0 : 1)

function seeDelegation(
  { nameServers, isElsewhere, dnssecOn }: CommandOf<"RecordDelegation">,
  state: DomainState,
  ours: readonly string[],
  at: number,
): Decision {
  const isPointed = sameNames(nameServers, ours)
  const was = state.status
  const status: DomainStatus = isPointed ? "live" : was === "waiting" ? "waiting" : "moved"
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
  return status === was ? [fact] : [fact, ...appAddressUpdates(state, status, at)]
}

/** Whether two lists name the same servers, in whatever order. */
function sameNames(some: readonly string[], others: readonly string[]): boolean {
  const [one, other] = [new Set(some), new Set(others)]
  return one.size === other.size && [...one].every((name) => other.has(name))
}

/** App addresses stand and fall with what their domain points to. */
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

/** Adds a record, or gives that of an id other values. */
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

/** Whoever changes the records of an app's address by hand has it be none. */
function appAddressRemoval(
  { appAddresses }: DomainState,
  { source, name }: StoredZoneRecord,
  at: number,
): readonly DomainEvent[] {
  const found = [...appAddresses.values()].find(({ hostname }) => hostname === name)
  if (source !== "app" || found === undefined) return []
  return [{ type: "AppAddressRemoved", at, appAddressId: found.appAddressId }]
}

/** Why records cannot be placed among those that stay; null where they can. */
function placementRefusal(
  state: DomainState,
  apex: string,
  added: readonly StoredZoneRecord[],
  replaced: readonly RecordId[],
  at: number,
): DomainRefused | null {
  const staying = [...state.records.values()].filter(({ id }) => !replaced.includes(id))
  if (staying.length + added.length > MAX_DOMAIN_RECORDS) return refuse("full", at)
  for (const record of added) {
    const { length } = record.name
    if (length > MAX_NAME_LENGTH || !isSameOrSubdomain(record.name, apex))
      return refuse("not_under", at)
    const isCut = staying.some(
      ({ type, name }) => type === "NS" && isSameOrSubdomain(record.name, name),
    )
    if (isCut) return refuse("delegated", at)
    if (staying.some((one) => isSameRecord(one, record))) return refuse("same", at)
    const clash = recordConflict(apex, staying, record)
    const message = clash ?? voidingConflict(staying, record)
    const code = clash === null ? "voided" : "clash"
    if (message !== null) return { type: "DomainRefused", at, code, message }
    staying.push(record)
  }
  return null
}

/** Those names are for mail alone: what stands there of any type that callers write gives way. */
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

/** Whether a DMARC policy is there already, the name's own or the domain's: it is its owner's. */
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
  const status = statusBy(known, wrongSince, at)
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

/** What was right once is wrong for three days before it fails; what never was waits for its records. */
function statusBy({ status }: SendingDomain, wrongSince: number | null, at: number) {
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
  const beside = [...state.records.values()].filter(({ name }) => name === hostname)
  const replaced = beside.filter(({ type }) => ADDRESS_TYPES.includes(type)).map(({ id }) => id)
  const isAlone = hostname !== apex && beside.length === replaced.length
  const records = isAlone ? [alias] : addresses
  const refused = placementRefusal(state, apex, records, replaced, at)
  if (refused !== null) return refused
  const status = state.status === "live" ? "waiting_certificate" : "waiting_dns"
  return [{ type: "AppAddressSaved", at, appAddressId, hostname, status, records, replaced }]
}

function refuse(code: keyof typeof DOMAIN_REFUSAL_MESSAGES, at: number): DomainRefused {
  return { type: "DomainRefused", at, code, message: DOMAIN_REFUSAL_MESSAGES[code] }
}
