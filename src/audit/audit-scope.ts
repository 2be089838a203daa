/** What an audit of the streams is asked for, and what it reads. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import type { Pace } from "./pace.ts"

/** What is audited, and how its operator hears of it. */
export interface AuditScope {
  /** Null for everything. */
  readonly companyId: CompanyId | null
  /** A hash that an auditor noted: of an event, or the root of a signed head; null for none. */
  readonly head: string | null
  readonly paces: {
    /** Of reading all streams, by the place in the global order. */
    readonly all: Pace
    /** Of reading each stream by itself, by the share that is done, from 0 to 1. */
    readonly each: (share: () => number) => Pace
  }
  readonly signal: AbortSignal
}

/** What an audit reads beside the events. */
export interface AuditPorts extends Pick<
  AdminPorts,
  "store" | "streams" | "streamOfIntent" | "readEverything" | "checkpointOf" | "signing"
> {
  readonly treeHeads: Pick<AdminPorts["treeHeads"], "list">
  readonly work: Pick<AdminPorts["work"], "names">
}
