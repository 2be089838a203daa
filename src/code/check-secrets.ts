/** Secrets in a push: keys of this service are switched off, and whoever pushed is told where others are. */
import type { Push } from "../../adapters/git/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import { isAllowed } from "../../domain/code/code-views.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { Brought, FoundInPush, FoundKey } from "./check-objects.ts"
import { lookThrough } from "./check-objects.ts"
import type { RefusedPush, Pusher } from "./refused-push.ts"
import { placeOf, MOST_PLACES } from "./refused-push.ts"
import type { Switched } from "./platform-keys.ts"
import { keysIn, switchOff } from "./platform-keys.ts"

/**
 * Why secrets refuse a push; null where it holds none. Keys of this service are switched off by then.
 *
 * @throws ScanFailed, and as `Runner.execute` does
 */
export async function secretsRefused(
  ports: Pick<Ports, "log" | "runner" | "sealing" | "secretScan">,
  { companyId, cause }: Pusher,
  pushId: PushId,
  push: Push,
  brought: Brought,
): Promise<RefusedPush | null> {
  const keys = new Map<string, FoundFirst>()
  const onKey = async (found: FoundKey) => {
    if (keys.has(found.text)) return
    const switched = await switchOff(ports, found, { companyId, pushId, cause })
    keys.set(found.text, { first: found, switched })
  }
  for (const { ref } of push.updates) {
    for (const key of keysIn(Buffer.from(ref)))
      await onKey({ ...key, in: null, isHeader: false, spot: "" })
  }
  const stream = codeOf(companyId)
  const looked = lookThrough(ports, push, brought, {
    onKey,
    isSecret: async ({ secret }) => {
      const fingerprint = await fingerprintOf(ports, companyId, secret)
      return !(await ports.runner.readLatest(stream, (state) => isAllowed(state, fingerprint)))
    },
  })
  const secrets = await looked.catch((error: unknown) => {
    if (keys.size === 0) throw error
    // It is refused whatever else it holds: who asks what switched the key off finds it listed.
    if (!push.left.aborted) {
      ports.log.warn(`the push ${pushId} of ${companyId} was not looked through to its end`, error)
    }
    return null
  })
  if (keys.size > 0) {
    const whereOf: Where = async (found) => {
      const byId = `${found.in?.type ?? "the name of a ref"} ${found.in?.id ?? ""}`.trim()
      if (secrets === null) return byId
      return whereIs(push, found, found.spot).catch((error: unknown) => {
        // Its client has gone, and git was ended with it: nobody reads a path.
        if (push.left.aborted) return byId
        throw error
      })
    }
    return keysRefused(whereOf, companyId, [...keys.values()])
  }
  return secrets === null || secrets.length === 0
    ? null
    : othersRefused(ports, push, companyId, secrets)
}

/** A key where it was found first, and what became of it. */
interface FoundFirst {
  readonly first: FoundKey
  readonly switched: Switched
}

type Where = (found: FoundKey) => Promise<string>

async function keysRefused(
  whereOf: Where,
  companyId: CompanyId,
  keys: readonly FoundFirst[],
): Promise<RefusedPush> {
  const places: string[] = []
  for (const { first, switched } of keys.slice(0, MOST_PLACES + 1)) {
    const isReal = switched !== "made-up"
    // Whose it is, is nobody's business but theirs.
    const isOwn = first.companyId === companyId
    const shown = isReal && isOwn ? `key ${first.keyId}` : "cpk_****"
    places.push(`${await whereOf(first)}: ${shown}${isReal ? ", switched off" : ""}`)
  }
  const isAny = keys.some(({ switched }) => switched !== "made-up")
  const isNew = keys.some(({ switched }) => switched === "switched-off")
  const off = isAny ? " What others may have read works no more: make new keys." : ""
  return {
    code: "platform_key",
    why: `API keys of this service stand in this push, so nothing of it was taken.${off}`,
    places,
    ...(isNew ? { hasSwitchedOff: true } : {}),
    next: "Take them out of the commits (git commit --amend, git rebase -i), and push again.",
  }
}

async function othersRefused(
  ports: Pick<Ports, "sealing">,
  push: Push,
  companyId: CompanyId,
  secrets: readonly FoundInPush[],
): Promise<RefusedPush> {
  const places: string[] = []
  for (const found of secrets) {
    const { rule, line, secret } = found
    const where = await whereIs(push, found, `line ${line}`)
    const fingerprint = await fingerprintOf(ports, companyId, secret)
    places.push(`${where}: ${rule} ${masked(secret)} (fingerprint ${fingerprint})`)
  }
  return {
    code: "secret",
    why: "Secrets stand in this push, so nothing of it was taken:",
    places,
    next:
      "Make each of them useless where it is from, take it out of the commits (git commit --amend, git rebase -i), " +
      "and push again. What is none can be let through by its fingerprint: ask whoever runs this service.",
  }
}

/** Where a secret stands. The name of a ref is not shown: it is in it. */
async function whereIs(
  push: Push,
  { in: object, isHeader }: Pick<FoundKey, "in" | "isHeader">,
  spot: string,
): Promise<string> {
  return object === null ? "the name of a ref" : `${await placeOf(push, object, isHeader)}, ${spot}`
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
function masked(secret: string): string {
  return `${secret.slice(0, Math.min(4, Math.floor(secret.length / 4)))}****`
}
