/**
 * One connected domain: its zone, what sends mail under it, and the web addresses under it.
 *
 * Stream `domain-<companyId>-<domainId>`, bounded by a thousand records and by clicks. Whatever changes the
 * zone passes `placed`, so that no CNAME ever stands beside another record. The zone's serial is the number
 * of those facts, and so goes up over rebuilds as well.
 */
import type { Decider, Stamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type {
  ConnectDomain,
  DomainCommand,
  DomainRefused,
  SaveAppAddress,
} from "./domain-commands.ts"
import { MESSAGES } from "./domain-commands.ts"
import type { DomainEvent, DomainFact, DomainStatus, ZoneRow, RecordId } from "./domain-events.ts"
import { stopsMail } from "./domain-events.ts"
import type { Domain, SendingDomain } from "./domain-state.ts"
import { evolve, unconnected, voidedBy } from "./domain-state.ts"
import { MOST_NAME, isUnder } from "./host-names.ts"
import { clashAmong, isSameRecord } from "./records.ts"

/** So many records a domain has at most. */
export const MOST_RECORDS = 1_000
/** The contents of what is copied have so many characters together at most: it is one append. */
const MOST_COPIED_CHARACTERS = 200_000
/** So many names of a domain send mail at most. */
export const MOST_SENDING_DOMAINS = 50
const MOST_APP_ADDRESSES = 100
/** A domain that never pointed here is let go of after so long, milliseconds. */
export const LAPSES_AFTER_MS = 14 * 86_400_000
/** A sending domain whose records are wrong for so long has failed, milliseconds. */
const FAILS_AFTER_MS = 3 * 86_400_000
/** What a check finds again within this is not recorded again, milliseconds. */
const SAME_CHECK_WITHIN_MS = 3_600_000
/** So many records stand in one fact. */
const COPIED_IN_ONE = 100

/** What the name of a DMARC policy begins with (RFC 7489). */
const DMARC = "_dmarc."

/** What the DNS calls an address: what a web address of the app takes the place of. */
const ADDRESS_TYPES: readonly ZoneRow["type"][] = ["A", "AAAA", "CNAME"]

/** The rules of a connected domain. */
export const domain: Decider<DomainCommand, Domain, DomainEvent, DomainRefused> = {
  initial: unconnected,
  decide,
  evolve,
}

type Decided = readonly DomainEvent[] | DomainRefused

function decide(command: DomainCommand, state: Domain, { at }: Stamp): Decided {
  if (command.type === "RemoveDomain") return remove(command, state, at)
  if (state.removed !== null) return no("no_domain", at)
  if (command.type === "ConnectDomain") return connect(command, state, at)
  if (state.connected === null) return no("no_domain", at)
  const { name: apex } = state.connected
  switch (command.type) {
    case "SeeDelegation":
      return seeDelegation(command, state, state.connected.nameServers, at)
    case "AddRecord":
    case "UpdateRecord":
      return write(command, state, apex, at)
    case "RemoveRecord": {
      const known = state.records.get(command.recordId)
      const { recordId } = command
      if (known === undefined) return no("no_record", at)
      if (isReadOnly(known)) return no("read_only", at)
      return [{ type: "RecordRemoved", at, recordId }, ...withoutAddress(state, known, at)]
    }
    case "AddSendingDomain":
      return addSendingDomain(command, state, apex, at)
    case "CheckSendingDomain":
      return checked(command, state, at)
    case "SaveAppAddress":
      return saveAppAddress(command, state, apex, at)
    case "ReachAppAddress": {
      const { status, appAddresses } = state
      const found = [...appAddresses.values()].find((one) => one.hostname === command.hostname)
      if (found === undefined || found.status === "live" || status !== "live") return []
      return [{ type: "AppAddressSeen", at, appAddressId: found.appAddressId, status: "live" }]
    }
    default:
      return unreachable(command)
  }
}

type Of<T extends DomainCommand["type"]> = Extract<DomainCommand, { readonly type: T }>

/** A domain whose connecting broke off ends without ever having been one. */
function remove({ domainId, reason }: Of<"RemoveDomain">, state: Domain, at: number): Decided {
  if (state.removed !== null) return []
  const { connected, status } = state
  const isEarly = connected !== null && at - connected.at < LAPSES_AFTER_MS
  if (reason === "lapsed" && (status !== "waiting" || isEarly)) return []
  return [{ type: "DomainRemoved", at, domainId, reason }]
}

function connect({ records, ...command }: ConnectDomain, state: Domain, at: number): Decided {
  if (state.connected !== null) return []
  const characters = records.reduce((sum, one) => sum + one.name.length + one.content.length, 0)
  if (records.length > MOST_RECORDS || characters > MOST_COPIED_CHARACTERS) return no("full", at)
  const kept = withoutClashes(command.name, records)
  const parts: DomainFact<"RecordsCopied">[] = []
  for (let i = 0; i < kept.length; i += COPIED_IN_ONE) {
    parts.push({ type: "RecordsCopied", at, records: kept.slice(i, i + COPIED_IN_ONE) })
  }
  return [{ ...command, type: "DomainConnected", at }, ...parts]
}

/** What of copied records can be one zone: a CNAME hides what stands beside it, as it does for resolvers. */
function withoutClashes(apex: string, records: readonly ZoneRow[]): readonly ZoneRow[] {
  const aliasesFirst = records.toSorted((a, b) => rankOf(a) - rankOf(b))
  const kept: ZoneRow[] = []
  for (const record of aliasesFirst) if (clashAmong(apex, kept, record) === null) kept.push(record)
  return kept
}

const rankOf = ({ type }: ZoneRow): number => (type === "CNAME" ? 0 : 1)

function seeDelegation(
  { nameServers, isElsewhere, dnssecOn }: Of<"SeeDelegation">,
  state: Domain,
  ours: readonly string[],
  at: number,
): Decided {
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
  return status === was ? [fact] : [fact, ...addressesAt(state, status, at)]
}

/** Whether two lists name the same servers, in whatever order. */
function sameNames(some: readonly string[], others: readonly string[]): boolean {
  const [one, other] = [new Set(some), new Set(others)]
  return one.size === other.size && [...one].every((name) => other.has(name))
}

/** App addresses stand and fall with what their domain points to. */
function addressesAt(
  { appAddresses }: Domain,
  now: DomainStatus,
  at: number,
): readonly DomainEvent[] {
  const status = now === "live" ? "waiting_certificate" : "failed"
  return [...appAddresses.keys()].map((appAddressId) => {
    return { type: "AppAddressSeen", at, appAddressId, status }
  })
}

/** Adds a record, or gives that of an id other values. */
function write(
  { type, record }: Of<"AddRecord"> | Of<"UpdateRecord">,
  state: Domain,
  apex: string,
  at: number,
): Decided {
  const known = state.records.get(record.id)
  if (type === "AddRecord") {
    if (known !== undefined) return []
    return placed(state, apex, [record], [], at) ?? [{ type: "RecordAdded", at, record }]
  }
  if (known === undefined) return no("no_record", at)
  if (isReadOnly(known)) return no("read_only", at)
  if (isSameRecord(known, record)) return []
  const refused = placed(state, apex, [record], [record.id], at)
  if (refused !== null) return refused
  return [{ type: "RecordUpdated", at, record }, ...withoutAddress(state, known, at)]
}

const isReadOnly = ({ type }: ZoneRow): boolean => type === "NS" || type === "SRV" || type === "CAA"

/** Whoever changes the records of an app's address by hand has it be none. */
function withoutAddress(
  { appAddresses }: Domain,
  { source, name }: ZoneRow,
  at: number,
): readonly DomainEvent[] {
  const found = [...appAddresses.values()].find(({ hostname }) => hostname === name)
  if (source !== "app" || found === undefined) return []
  return [{ type: "AppAddressRemoved", at, appAddressId: found.appAddressId }]
}

/** Why records cannot be placed among those that stay; null where they can. */
function placed(
  state: Domain,
  apex: string,
  added: readonly ZoneRow[],
  replaced: readonly RecordId[],
  at: number,
): DomainRefused | null {
  const staying = [...state.records.values()].filter(({ id }) => !replaced.includes(id))
  if (staying.length + added.length > MOST_RECORDS) return no("full", at)
  for (const record of added) {
    const { length } = record.name
    if (length > MOST_NAME || !isUnder(record.name, apex)) return no("not_under", at)
    const isCut = staying.some(({ type, name }) => type === "NS" && isUnder(record.name, name))
    if (isCut) return no("delegated", at)
    if (staying.some((one) => isSameRecord(one, record))) return no("same", at)
    const clash = clashAmong(apex, staying, record)
    const message = clash ?? voidedBy(staying, record)
    const code = clash === null ? "voided" : "clash"
    if (message !== null) return { type: "DomainRefused", at, code, message }
    staying.push(record)
  }
  return null
}

/** Those names are for mail alone: what stands there of any type that callers write gives way. */
function addSendingDomain(
  command: Of<"AddSendingDomain">,
  state: Domain,
  apex: string,
  at: number,
): Decided {
  const { name } = command
  if (!isUnder(name, apex)) return no("not_under", at)
  const known = [...state.sendingDomains.values()]
  if (known.some((one) => one.name === name)) return []
  if (known.length >= MOST_SENDING_DOMAINS) return no("full", at)
  const records = command.records.filter((one) => !hasPolicy(state, apex, one))
  const names = new Set(records.map((record) => record.name))
  const replaced = [...state.records.values()].filter((one) => names.has(one.name))
  if (replaced.some(isReadOnly)) return no("delegated", at)
  const ids = replaced.map(({ id }) => id)
  const refused = placed(state, apex, records, ids, at)
  if (refused !== null) return refused
  return [
    { ...command, type: "SendingDomainAdded", at, records, replaced: ids },
    ...replaced.flatMap((one) => withoutAddress(state, one, at)),
  ]
}

/** Whether a DMARC policy is there already, the name's own or the domain's: it is its owner's. */
function hasPolicy({ records }: Domain, apex: string, { name }: ZoneRow): boolean {
  const isPolicy = name.startsWith(DMARC)
  return (
    isPolicy &&
    [...records.values()].some((one) => one.name === name || one.name === `${DMARC}${apex}`)
  )
}

function checked(command: Of<"CheckSendingDomain">, state: Domain, at: number): Decided {
  const known = state.sendingDomains.get(command.sendingDomainId)
  if (known === undefined) return no("no_sending_domain", at)
  const { faults, hasDmarc } = command
  const wrongSince = faults.some(stopsMail) ? (known.failingSince ?? at) : null
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
  state: Domain,
  apex: string,
  at: number,
): Decided {
  if (!isUnder(hostname, apex)) return no("not_under", at)
  const known = [...state.appAddresses.values()]
  if (known.some((one) => one.hostname === hostname)) return []
  if (known.length >= MOST_APP_ADDRESSES) return no("full", at)
  const beside = [...state.records.values()].filter(({ name }) => name === hostname)
  const replaced = beside.filter(({ type }) => ADDRESS_TYPES.includes(type)).map(({ id }) => id)
  const isAlone = hostname !== apex && beside.length === replaced.length
  const records = isAlone ? [alias] : addresses
  const refused = placed(state, apex, records, replaced, at)
  if (refused !== null) return refused
  const status = state.status === "live" ? "waiting_certificate" : "waiting_dns"
  return [{ type: "AppAddressSaved", at, appAddressId, hostname, status, records, replaced }]
}

function no(code: keyof typeof MESSAGES, at: number): DomainRefused {
  return { type: "DomainRefused", at, code, message: MESSAGES[code] }
}
