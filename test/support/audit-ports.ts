/** Ports for an audit of one store's streams, without checkpoints and signed heads. */
import { generateKeyPairSync, sign } from "node:crypto"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { Signing } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { AuditPorts, AuditScope } from "../../src/audit/single-stream.ts"
import { PROGRAM } from "../../src/slices.ts"

/** Signs with a new key that is not stored. */
export function newSigning(): Signing {
  const { privateKey, publicKey: key } = generateKeyPairSync("ed25519")
  const publicKey = key.export({ format: "der", type: "spki" }).subarray(-32).toString("base64")
  return {
    sign: async (text) => ({
      publicKey,
      signature: sign(null, Buffer.from(text), privateKey).toString("base64"),
    }),
  }
}

/** The ports of an audit of a store. */
export function auditPortsOf(store: EventStore): AuditPorts {
  return {
    store,
    readAllStreams: store.readAll,
    checkpointOf: async () => null,
    streams: PROGRAM.streams,
    streamOfIntent: PROGRAM.streamOfIntent,
    signing: newSigning(),
    treeHeads: { list: async () => [] },
    jobs: { listNames: async () => [] },
  }
}

/** The scope of an audit without progress output. @param companyId null for all companies */
export function auditScopeOf(companyId: CompanyId | null): AuditScope {
  const pace = { advance: () => undefined }
  const { signal } = new AbortController()
  return { companyId, head: null, meters: { all: pace, each: () => pace }, signal }
}
