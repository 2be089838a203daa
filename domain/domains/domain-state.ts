/** The state of a connected domain, and how events change it. */
import type { CheckpointFormat } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type {
  DomainReleaseReason,
  AppAddressStatus,
  DomainEvent,
  DomainFact,
  DomainStatus,
  SendingFault,
  SendingStatus,
  StoredZoneRecord,
  AppAddressId,
  RecordId,
  SendingDomainId,
} from "./domain-events.ts"
import type { RecordBody } from "./dns-records.ts"
import { NULL_TARGET } from "./dns-records.ts"

/** A sending domain and the result of its last check. */
export interface SendingDomain {
  readonly sendingDomainId: SendingDomainId
  readonly name: string
  readonly selector: string
  readonly publicKey: string
  status: SendingStatus
  faults: readonly SendingFault[]
  hasDmarc: boolean
  failingSince: number | null
  checkedAt: number | null
}

/** A host name that points to the app. */
export interface AppAddress {
  readonly appAddressId: AppAddressId
  readonly hostname: string
  status: AppAddressStatus
}

type Connected = Omit<DomainFact<"DomainConnected">, "type" | "dnssecOn">

/** The state of a connected domain. Only the functions of this folder access its fields. */
export interface DomainState {
  connected: Connected | null
  removed: DomainReleaseReason | null
  status: DomainStatus
  /** The name servers last seen in the parent zone; null if it was not checked yet. */
  seenNameServers: readonly string[] | null
  /** Whether those are name servers of ours that belong to another company. */
  isElsewhere: boolean
  dnssecOn: boolean
  /** Number of changes of the zone. */
  serial: number
  readonly records: Map<RecordId, StoredZoneRecord>
  readonly sendingDomains: Map<SendingDomainId, SendingDomain>
  readonly appAddresses: Map<AppAddressId, AppAddress>
}

/** Returns the state before the first event. */
export function initialDomain(): DomainState {
  return {
    connected: null,
    removed: null,
    status: "waiting",
    seenNameServers: null,
    isElsewhere: false,
    dnssecOn: false,
    serial: 0,
    records: new Map(),
    sendingDomains: new Map(),
    appAddresses: new Map(),
  }
}

/** Applies an event to the state. */
export function evolveDomain(state: DomainState, event: DomainEvent): DomainState {
  switch (event.type) {
    case "DomainConnected": {
      const { type: _type, dnssecOn, ...connected } = event
      return Object.assign(state, { connected, dnssecOn, serial: state.serial + 1 })
    }
    case "DelegationSeen": {
      const { nameServers: seenNameServers, status, isElsewhere, dnssecOn } = event
      return Object.assign(state, { seenNameServers, status, isElsewhere, dnssecOn })
    }
    case "RecordsCopied":
      return updateZone(state, event.records)
    case "RecordAdded":
    case "RecordUpdated":
      return updateZone(state, [event.record])
    case "RecordRemoved":
      return updateZone(state, [], [event.recordId])
    case "SendingDomainAdded":
      sendingDomainAdded(state, event)
      return updateZone(state, event.records, event.replaced)
    case "SendingDomainChecked": {
      const known = state.sendingDomains.get(event.sendingDomainId)
      const { status, faults, hasDmarc, failingSince, at: checkedAt } = event
      if (known !== undefined) {
        Object.assign(known, { status, faults, hasDmarc, failingSince, checkedAt })
      }
      return state
    }
    case "AppAddressSaved": {
      const { appAddressId, hostname, status } = event
      state.appAddresses.set(appAddressId, { appAddressId, hostname, status })
      return updateZone(state, event.records, event.replaced)
    }
    case "AppAddressSeen": {
      const known = state.appAddresses.get(event.appAddressId)
      if (known !== undefined) known.status = event.status
      return state
    }
    case "AppAddressRemoved":
      state.appAddresses.delete(event.appAddressId)
      return state
    case "DomainRemoved":
      state.removed = event.reason
      return state
    default:
      return unreachable(event)
  }
}

function updateZone(
  state: DomainState,
  records: readonly StoredZoneRecord[],
  replaced: readonly RecordId[] = [],
): DomainState {
  for (const id of replaced) state.records.delete(id)
  for (const record of records) state.records.set(record.id, record)
  state.serial += 1
  return state
}

function sendingDomainAdded(state: DomainState, event: DomainFact<"SendingDomainAdded">): void {
  const { sendingDomainId, name, selector, publicKey } = event
  state.sendingDomains.set(sendingDomainId, {
    sendingDomainId,
    name,
    selector,
    publicKey,
    status: "pending",
    faults: [],
    hasDmarc: false,
    failingSince: null,
    checkedAt: null,
  })
}

type Saved = Omit<DomainState, "records" | "sendingDomains" | "appAddresses"> & {
  readonly records: readonly StoredZoneRecord[]
  readonly sendingDomains: readonly SendingDomain[]
  readonly appAddresses: readonly AppAddress[]
}

/** The checkpoint format of a connected domain. */
export const domainCheckpoint: CheckpointFormat<DomainState> = {
  version: 1,
  save: ({ records, sendingDomains, appAddresses, ...rest }): Saved => ({
    ...rest,
    records: [...records.values()],
    sendingDomains: [...sendingDomains.values()],
    appAddresses: [...appAddresses.values()],
  }),
  load: (saved) => {
    const { records, sendingDomains, appAddresses, ...rest } = saved as Saved
    return {
      ...rest,
      records: new Map(records.map((one) => [one.id, one])),
      sendingDomains: new Map(sendingDomains.map((one) => [one.sendingDomainId, { ...one }])),
      appAddresses: new Map(appAddresses.map((one) => [one.appAddressId, { ...one }])),
    }
  },
}

/** Estimates the memory of a connected domain in bytes. */
export function domainBytes({ records, sendingDomains, appAddresses }: DomainState): number {
  return 3_000 + records.size * 500 + sendingDomains.size * 1_000 + appAddresses.size * 200
}

// Records that must be unique at a name. Receivers that find two ignore both, so a second one disables the first.

interface UniqueTextRecord {
  readonly label: string
  /** Whether the record has this meaning at a name. */
  readonly isAt: (name: string) => boolean
  readonly content: RegExp
}

const startsWithLabel = (label: string) => (name: string) => name.startsWith(`${label}.`)

/**
 * TXT records and the standards that define them. White space may surround `=` (RFC 6376 §3.2), and quotes the
 * whole text.
 */
const UNIQUE_TEXT_RECORDS: readonly UniqueTextRecord[] = [
  // RFC 7208 §4.5
  { label: "SPF record", isAt: () => true, content: /^"?\s*v\s*=\s*spf1(?:[ "]|$)/i },
  // RFC 7489 §6.6.3
  {
    label: "DMARC policy",
    isAt: startsWithLabel("_dmarc"),
    content: /^"?\s*v\s*=\s*DMARC1\s*(?:[;"]|$)/i,
  },
  // RFC 6376 §3.6.2.2: several keys under one selector are undefined.
  {
    label: "DKIM key",
    isAt: (name) => name.includes("._domainkey."),
    content: /(?:^"?|;)\s*p\s*=/i,
  },
  // RFC 8461 §3.1
  {
    label: "MTA-STS record",
    isAt: startsWithLabel("_mta-sts"),
    content: /^"?\s*v\s*=\s*STSv1\s*(?:[;"]|$)/i,
  },
  // BIMI §4.3
  {
    label: "BIMI record",
    isAt: (name) => name.includes("._bimi."),
    content: /^"?\s*v\s*=\s*BIMI1\s*(?:[;"]|$)/i,
  },
  // RFC 8460 §3
  {
    label: "TLS report address",
    isAt: startsWithLabel("_smtp._tls"),
    content: /^"?\s*v\s*=\s*TLSRPTv1\s*(?:[;"]|$)/i,
  },
]

function uniqueTextKindOf({ type, name, content }: Pick<RecordBody, "type" | "name" | "content">) {
  if (type !== "TXT") return null
  return (
    UNIQUE_TEXT_RECORDS.find((one) => one.isAt(name) && one.content.test(content))?.label ?? null
  )
}

/**
 * Explains in a sentence why a record would disable another one of its name or be disabled by it, and what to do;
 * null if there is no conflict.
 */
export function voidingConflict<R extends RecordBody & { readonly id: string }>(
  records: readonly R[],
  added: RecordBody,
): string | null {
  const others = records.filter(({ type, name }) => type === added.type && name === added.name)
  const kind = uniqueTextKindOf(added)
  const same = kind === null ? undefined : others.find((one) => uniqueTextKindOf(one) === kind)
  if (same !== undefined) {
    return `${added.name} already has a ${kind}, and receivers ignore both if there are two. Update or remove record ${same.id} instead.`
  }
  if (added.type !== "MX") return null
  const [first] = others
  if (added.content === NULL_TARGET && first !== undefined) {
    return `An MX of "." says that ${added.name} accepts no mail, so it must be the only MX (RFC 7505). Remove record ${first.id} first.`
  }
  const nullMx = others.find(({ content }) => content === NULL_TARGET)
  if (nullMx === undefined) return null
  return `${added.name} has an MX of ".", which says that it accepts no mail (RFC 7505). Update or remove record ${nullMx.id} first.`
}
