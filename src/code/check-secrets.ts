/** Secrets in a push: keys of this service are switched off, and whoever pushed is told where others are. */
import type { IncomingPush } from "../../adapters/git/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { isSecretAllowed } from "../../domain/code/code-views.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { PushSize, FoundPushSecret, FoundPlatformKey } from "./check-objects.ts"
import { scanObjects } from "./check-objects.ts"
import type { PushRefusal, Pusher } from "./push-refusal.ts"
import { describeObject, MAX_LOCATIONS } from "./push-refusal.ts"
import type { SwitchOffResult } from "./platform-keys.ts"
import { findPlatformKeys, switchOffKey } from "./platform-keys.ts"

/**
 * Why secrets refuse a push; null where it holds none. Keys of this service are switched off by then.
 *
 * @throws SecretScanFailed, and as `Runner.execute` does
 */
export async function checkSecrets(
  ports: Pick<Ports, "log" | "runner" | "sealing" | "secretScan">,
  { companyId, cause }: Pusher,
  pushId: PushId,
  push: IncomingPush,
  brought: PushSize,
): Promise<PushRefusal | null> {
  const keys = new Map<string, FirstOccurrence>()
  const onKey = async (found: FoundPlatformKey) => {
    if (keys.has(found.text)) return
    const switched = await switchOffKey(ports, found, { companyId, pushId, cause })
    keys.set(found.text, { first: found, switched })
  }
  for (const { ref } of push.updates) {
    for (const key of findPlatformKeys(Buffer.from(ref)))
      await onKey({ ...key, object: null, isHeader: false, location: "" })
  }
  const stream = codeStreamOf(companyId)
  const looked = scanObjects(ports, push, brought, {
    onKey,
    isSecret: async ({ secret }) => {
      const fingerprint = await fingerprintOf(ports, companyId, secret)
      return !(await ports.runner.readLatest(stream, (state) =>
        isSecretAllowed(state, fingerprint),
      ))
    },
  })
  const secrets = await looked.catch((error: unknown) => {
    if (keys.size === 0) throw error
    // It is refused whatever else it holds: who asks what switched the key off finds it listed.
    if (!push.signal.aborted) {
      ports.log.warn(`the push ${pushId} of ${companyId} was not looked through to its end`, error)
    }
    return null
  })
  if (keys.size > 0) {
    const whereOf: DescribeLocation = async (found) => {
      const byId = `${found.object?.type ?? "the name of a ref"} ${found.object?.id ?? ""}`.trim()
      if (secrets === null) return byId
      return describeLocation(push, found, found.location).catch((error: unknown) => {
        // Its client has gone, and git was ended with it: nobody reads a path.
        if (push.signal.aborted) return byId
        throw error
      })
    }
    return keysRefusal(whereOf, companyId, [...keys.values()])
  }
  return secrets === null || secrets.length === 0
    ? null
    : secretsRefusal(ports, push, companyId, secrets)
}

/** A key where it was found first, and what became of it. */
interface FirstOccurrence {
  readonly first: FoundPlatformKey
  readonly switched: SwitchOffResult
}

type DescribeLocation = (found: FoundPlatformKey) => Promise<string>

async function keysRefusal(
  whereOf: DescribeLocation,
  companyId: CompanyId,
  keys: readonly FirstOccurrence[],
): Promise<PushRefusal> {
  const locations: string[] = []
  for (const { first, switched } of keys.slice(0, MAX_LOCATIONS + 1)) {
    const isReal = switched !== "made-up"
    // Whose it is, is nobody's business but theirs.
    const isOwn = first.companyId === companyId
    const shown = isReal && isOwn ? `key ${first.keyId}` : "cpk_****"
    locations.push(`${await whereOf(first)}: ${shown}${isReal ? ", switched off" : ""}`)
  }
  const isAny = keys.some(({ switched }) => switched !== "made-up")
  const isNew = keys.some(({ switched }) => switched === "switched-off")
  const off = isAny ? " What others may have read works no more: make new keys." : ""
  return {
    code: "platform_key",
    reason: `API keys of this service stand in this push, so nothing of it was taken.${off}`,
    locations,
    ...(isNew ? { hasSwitchedOffKey: true } : {}),
    advice: "Take them out of the commits (git commit --amend, git rebase -i), and push again.",
  }
}

async function secretsRefusal(
  ports: Pick<Ports, "sealing">,
  push: IncomingPush,
  companyId: CompanyId,
  secrets: readonly FoundPushSecret[],
): Promise<PushRefusal> {
  const locations: string[] = []
  for (const found of secrets) {
    const { rule, line, secret } = found
    const where = await describeLocation(push, found, `line ${line}`)
    const fingerprint = await fingerprintOf(ports, companyId, secret)
    locations.push(`${where}: ${rule} ${maskSecret(secret)} (fingerprint ${fingerprint})`)
  }
  return {
    code: "secret",
    reason: "Secrets stand in this push, so nothing of it was taken:",
    locations,
    advice:
      "Make each of them useless where it is from, take it out of the commits (git commit --amend, git rebase -i), " +
      "and push again. What is none can be let through by its fingerprint: ask whoever runs this service.",
  }
}

/** Where a secret stands. The name of a ref is not shown: it is in it. */
async function describeLocation(
  push: IncomingPush,
  { object, isHeader }: Pick<FoundPlatformKey, "object" | "isHeader">,
  spot: string,
): Promise<string> {
  return object === null
    ? "the name of a ref"
    : `${await describeObject(push, object, isHeader)}, ${spot}`
}

/** By what a text that looks like a secret is known, and let through. */
async function fingerprintOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  secret: string,
): Promise<string> {
  return sealing.tag(companyId, `secret in code\n${secret}`)
}

/** Enough of it to find it, and not enough to use it. */
function maskSecret(secret: string): string {
  return `${secret.slice(0, Math.min(4, Math.floor(secret.length / 4)))}****`
}
