/** What is known of a connected domain, and how facts change it. */
import type { CheckpointForm } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { ReleaseReason } from "./claim-events.ts"
import type {
  AppAddressStatus,
  DomainEvent,
  DomainFact,
  DomainStatus,
  SendingFault,
  SendingStatus,
  ZoneRow,
} from "./domain-events.ts"
import type { AppAddressId, RecordId, SendingDomainId } from "./ids.ts"

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
export interface Domain {
  /** Null before it was connected. */
  connected: Connected | null
  removed: ReleaseReason | null
  status: DomainStatus
  /** What the zone above named last; null where it was not asked since. */
  seenNameServers: readonly string[] | null
  /** Whether those are ours, and another company's. */
  isElsewhere: boolean
  dnssecOn: boolean
  /** How often the zone changed. */
  serial: number
  readonly records: Map<RecordId, ZoneRow>
  readonly sendingDomains: Map<SendingDomainId, SendingDomain>
  readonly appAddresses: Map<AppAddressId, AppAddress>
}

/** Before the first fact. */
export function unconnected(): Domain {
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
export function evolve(state: Domain, event: DomainEvent): Domain {
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
      return changed(state, event.records)
    case "RecordAdded":
    case "RecordUpdated":
      return changed(state, [event.record])
    case "RecordRemoved":
      return changed(state, [], [event.recordId])
    case "SendingDomainAdded":
      sendingDomainAdded(state, event)
      return changed(state, event.records, event.replaced)
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
      return changed(state, event.records, event.replaced)
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
function changed(
  state: Domain,
  records: readonly ZoneRow[],
  replaced: readonly RecordId[] = [],
): Domain {
  for (const id of replaced) state.records.delete(id)
  for (const record of records) state.records.set(record.id, record)
  state.serial += 1
  return state
}

function sendingDomainAdded(state: Domain, event: DomainFact<"SendingDomainAdded">): void {
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

type Saved = Omit<Domain, "records" | "sendingDomains" | "appAddresses"> & {
  readonly records: readonly ZoneRow[]
  readonly sendingDomains: readonly SendingDomain[]
  readonly appAddresses: readonly AppAddress[]
}

/** How it is kept beside its stream. */
export const domainCheckpoint: CheckpointForm<Domain> = {
  shape: 1,
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
export function domainBytes({ records, sendingDomains, appAddresses }: Domain): number {
  return 3_000 + records.size * 500 + sendingDomains.size * 1_000 + appAddresses.size * 200
}
