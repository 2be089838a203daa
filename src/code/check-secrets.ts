/** Secrets in a push: revokes keys of this service, and reports the locations of other secrets. */
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
 * Checks a push for secrets; null if it has none. Keys of this service are revoked before the answer.
 *
 * @throws SecretScanFailed, and the errors of `Runner.execute`
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
  const scanned = scanObjects(ports, push, brought, {
    onKey,
    isSecret: async ({ secret }) => {
      const fingerprint = await fingerprintOf(ports, companyId, secret)
      return !(await ports.runner.readLatest(stream, (state) =>
        isSecretAllowed(state, fingerprint),
      ))
    },
  })
  const secrets = await scanned.catch((error: unknown) => {
    if (keys.size === 0) throw error
    // A push with keys is refused even if the scan did not end, so its record explains the revoked keys.
    if (!push.signal.aborted) {
      ports.log.warn(`the push ${pushId} of ${companyId} was not scanned completely`, error)
    }
    return null
  })
  if (keys.size > 0) {
    const whereOf: DescribeLocation = async (found) => {
      const byId = `${found.object?.type ?? "the name of a ref"} ${found.object?.id ?? ""}`.trim()
      if (secrets === null) return byId
      return describeLocation(push, found, found.location).catch((error: unknown) => {
        // The client left and git ended with it: nothing reads the path.
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

/** The first location of a key, and the result of revoking it. */
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
    // Other companies' key ids are not shown.
    const isOwn = first.companyId === companyId
    const shown = isReal && isOwn ? `key ${first.keyId}` : "cpk_****"
    locations.push(`${await whereOf(first)}: ${shown}${isReal ? ", revoked" : ""}`)
  }
  const isAny = keys.some(({ switched }) => switched !== "made-up")
  const isNew = keys.some(({ switched }) => switched === "switched-off")
  const off = isAny ? " The keys are revoked: create new ones." : ""
  return {
    code: "platform_key",
    reason: `Push rejected: it contains API keys of this service.${off}`,
    locations,
    ...(isNew ? { hasSwitchedOffKey: true } : {}),
    advice: "Remove them from the commits (git commit --amend, git rebase -i), and push again.",
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
    reason: "Push rejected: it contains secrets.",
    locations,
    advice:
      "Revoke each secret where it was issued, remove it from the commits (git commit --amend, git rebase -i), " +
      "and push again. If a match is not a secret, ask the operator of this service to allow its fingerprint.",
  }
}

/** Describes the location of a secret. The name of a ref is not shown, because it contains the secret. */
async function describeLocation(
  push: IncomingPush,
  { object, isHeader }: Pick<FoundPlatformKey, "object" | "isHeader">,
  position: string,
): Promise<string> {
  return object === null
    ? "the name of a ref"
    : `${await describeObject(push, object, isHeader)}, ${position}`
}

/** The fingerprint that identifies an apparent secret, for example to allow it. */
async function fingerprintOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  secret: string,
): Promise<string> {
  return sealing.tag(companyId, `secret in code\n${secret}`)
}

/** Masks a secret: enough to find it, too little to use it. */
function maskSecret(secret: string): string {
  return `${secret.slice(0, Math.min(4, Math.floor(secret.length / 4)))}****`
}
