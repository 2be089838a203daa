/** What is known of a connected domain, and how facts change it. */
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

/** A sending domain, and what was last found of it. */
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

/** A web address that leads to the app. */
export interface AppAddress {
  readonly appAddressId: AppAddressId
  readonly hostname: string
  status: AppAddressStatus
}

/** What a domain was connected with. */
type Connected = Omit<DomainFact<"DomainConnected">, "type" | "dnssecOn">

/** A connected domain. Only the functions of this folder look inside. */
export interface DomainState {
  /** Null before it was connected. */
  connected: Connected | null
  removed: DomainReleaseReason | null
  status: DomainStatus
  /** What the zone above named last; null where it was not asked since. */
  seenNameServers: readonly string[] | null
  /** Whether those are ours, and another company's. */
  isElsewhere: boolean
  dnssecOn: boolean
  /** How often the zone changed. */
  serial: number
  readonly records: Map<RecordId, StoredZoneRecord>
  readonly sendingDomains: Map<SendingDomainId, SendingDomain>
  readonly appAddresses: Map<AppAddressId, AppAddress>
}

/** Before the first fact. */
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

/** What is known after a fact. */
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

/** The zone with other records. */
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

/** How it is kept beside its stream. */
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

/** What the state takes in memory, in bytes, about. */
export function domainBytes({ records, sendingDomains, appAddresses }: DomainState): number {
  return 3_000 + records.size * 500 + sendingDomains.size * 1_000 + appAddresses.size * 200
}

// Records of which only one may stand at a name. Receivers that find two ignore both, so the second one
// switches off what the first one set up.

interface UniqueTextRecord {
  /** What people call it. */
  readonly what: string
  /** The names that it stands at; whatever else stands there is not it. */
  readonly isAt: (name: string) => boolean
  readonly content: RegExp
}

const isLabelFirst = (label: string) => (name: string) => name.startsWith(`${label}.`)

/** TXT records by the standard that says so. White space may stand around `=` (RFC 6376 §3.2), and quotes around all. */
const UNIQUE_TEXT_RECORDS: readonly UniqueTextRecord[] = [
  // RFC 7208 §4.5
  { what: "SPF record", isAt: () => true, content: /^"?\s*v\s*=\s*spf1(?:[ "]|$)/i },
  // RFC 7489 §6.6.3
  {
    what: "DMARC policy",
    isAt: isLabelFirst("_dmarc"),
    content: /^"?\s*v\s*=\s*DMARC1\s*(?:[;"]|$)/i,
  },
  // RFC 6376 §3.6.2.2: what several keys under one selector mean is undefined.
  {
    what: "DKIM key",
    isAt: (name) => name.includes("._domainkey."),
    content: /(?:^"?|;)\s*p\s*=/i,
  },
  // RFC 8461 §3.1
  {
    what: "MTA-STS record",
    isAt: isLabelFirst("_mta-sts"),
    content: /^"?\s*v\s*=\s*STSv1\s*(?:[;"]|$)/i,
  },
  // BIMI §4.3
  {
    what: "BIMI record",
    isAt: (name) => name.includes("._bimi."),
    content: /^"?\s*v\s*=\s*BIMI1\s*(?:[;"]|$)/i,
  },
  // RFC 8460 §3
  {
    what: "TLS report address",
    isAt: isLabelFirst("_smtp._tls"),
    content: /^"?\s*v\s*=\s*TLSRPTv1\s*(?:[;"]|$)/i,
  },
]

/** What of the sole kinds a TXT record is; null for any other record. */
function uniqueTextKindOf({ type, name, content }: Pick<RecordBody, "type" | "name" | "content">) {
  if (type !== "TXT") return null
  return (
    UNIQUE_TEXT_RECORDS.find((one) => one.isAt(name) && one.content.test(content))?.what ?? null
  )
}

/**
 * Why a record would void another one of its name, or be voided, as a sentence that says what to do; null
 * where it would not.
 */
export function voidingConflict<R extends RecordBody & { readonly id: string }>(
  records: readonly R[],
  added: RecordBody,
): string | null {
  const others = records.filter(({ type, name }) => type === added.type && name === added.name)
  const sole = uniqueTextKindOf(added)
  const same = sole === null ? undefined : others.find((one) => uniqueTextKindOf(one) === sole)
  if (same !== undefined) {
    return `${added.name} has a ${sole} already, and two void both. Update or remove record ${same.id} instead.`
  }
  if (added.type !== "MX") return null
  const [first] = others
  if (added.content === NULL_TARGET && first !== undefined) {
    return `An MX of "." says that ${added.name} takes no mail, so it stands alone (RFC 7505). Remove record ${first.id} first.`
  }
  const none = others.find(({ content }) => content === NULL_TARGET)
  if (none === undefined) return null
  return `${added.name} has an MX of ".", which says that it takes no mail (RFC 7505). Update or remove record ${none.id} first.`
}
