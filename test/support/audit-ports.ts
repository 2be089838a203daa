/** What an audit of the streams of one store takes, without checkpoints and signed heads. */
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { AuditPorts, AuditScope } from "../../src/audit/audit-scope.ts"
import { PROGRAM } from "../../src/slices.ts"
import { signingOfItsOwn } from "./signing.ts"

/** The ports of an audit of a store. */
export function auditPortsOf(store: EventStore): AuditPorts {
  return {
    store,
    readEverything: store.readAll,
    checkpointOf: async () => null,
    streams: PROGRAM.streams,
    streamOfIntent: PROGRAM.streamOfIntent,
    signing: signingOfItsOwn(),
    treeHeads: { list: async () => [] },
    work: { names: async () => [] },
  }
}

/** The scope of an audit that nobody watches. @param companyId null for everything */
export function auditScopeOf(companyId: CompanyId | null): AuditScope {
  const pace = { at: () => undefined }
  const { signal } = new AbortController()
  return { companyId, head: null, paces: { all: pace, each: () => pace }, signal }
}
