/** The git clients of the code server: authentication, refusals in git's protocol, and limits. */
import type { PackCommand } from "../../adapters/git/port.ts"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import type { Companies } from "../../domain/company/companies.ts"
import { companyByNameTag } from "../../domain/company/companies.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { invalidKeyRefusal } from "../frame/routes/checks/1-caller.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { NonApiClient, Caller } from "../frame/routes/declare/route.ts"
import { companyNameTag } from "../frame/operator/inputs.ts"
import type { Ports } from "../frame/ports.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"

/** The parts of a refusal that git can show. */
type ShownRefusal = Pick<Refusal, "error" | "message">

/** Renders a refusal in one line. */
export function refusalLine({ error, message }: ShownRefusal): string {
  return `${error}: ${message}`
}

const checkRepositoryName: NonApiClient["accessRefusal"] = async (
  ports,
  { companyId },
  { user, params },
) => {
  if (!(await isCompanyName(ports, user, companyId))) return invalidKeyRefusal()
  const { repository = "" } = params
  const name = /^(.*)\.git$/s.exec(repository)?.[1]
  const isOwn = name !== undefined && (await isCompanyName(ports, name, companyId))
  const message = "The company of this key has no repository with this name."
  return isOwn ? null : refusal("not_found", message)
}

/** Whether a name is the company's; an unknown name is looked up in the newest state. */
async function isCompanyName(
  ports: Pick<Ports, "runner" | "sealing">,
  name: string,
  companyId: CompanyId,
): Promise<boolean> {
  const tag = companyNameTag(ports, name)
  const named = (state: Companies) => companyByNameTag(state, tag)
  const isKnown = (await ports.runner.read(COMPANIES_STREAM, named)) === companyId
  return isKnown || (await ports.runner.readLatest(COMPANIES_STREAM, named)) === companyId
}

const plainTextReply: NonApiClient["formatRefusal"] = (why) => ({
  mediaType: "text/plain; charset=utf-8",
  body: `${refusalLine(why)}\n`,
})

/** The request for refs, the only one of which git shows every refusal. */
export const refsClient: NonApiClient = {
  realm: "code",
  accessRefusal: checkRepositoryName,
  formatRefusal: plainTextReply,
}

/** A fetch. Git shows a refusal only in its own protocol. */
export const fetchClient: NonApiClient = {
  ...refsClient,
  isContinuation: (ports, caller) => consumeRefRequest(ports, caller, "git-upload-pack"),
  // A 401 makes git ask the person for another key.
  formatRefusal: (why) => {
    if (why.status === 401) return plainTextReply(why)
    const body = encodeFetchRefusal(why).toString("utf8")
    return { status: 200, mediaType: resultMediaType("git-upload-pack"), body }
  },
}

/** A push. If it is refused before it is read, git shows only the status. */
export const pushClient: NonApiClient = {
  ...refsClient,
  isContinuation: (ports, caller) => consumeRefRequest(ports, caller, "git-receive-pack"),
}

/** Media type of git's answer. */
export const resultMediaType = (service: PackCommand): string => `application/x-${service}-result`

/** Encodes the refusal of a fetch in git's protocol. */
export const encodeFetchRefusal = (why: ShownRefusal): Buffer => pktLine(`ERR ${refusalLine(why)}`)

interface PushHeader {
  readonly refs: readonly string[]
  readonly capabilities: readonly string[]
}

/** Encodes the refusal of a push in git's protocol; empty if the push names no ref. */
export async function encodePushRefusal(
  why: ShownRefusal,
  body: AsyncIterable<Uint8Array>,
): Promise<Buffer> {
  const { refs, capabilities } = await readPushHeader(body)
  if (refs.length === 0) return Buffer.alloc(0)
  const lines = ["unpack ok\n", ...refs.map((ref) => `ng ${ref} ${why.error}\n`)]
  const report = Buffer.concat([...lines.map((line) => pktLine(line)), FLUSH_PACKET])
  if (!capabilities.includes("side-band-64k")) return report
  const bands = [
    [2, Buffer.from(`${refusalLine(why)}\n`)],
    [1, report],
  ] as const
  const sent = bands.map(([band, bytes]) => pktLine(Buffer.concat([Buffer.from([band]), bytes])))
  return Buffer.concat([...sent, FLUSH_PACKET])
}

/** Enough for 200 refs, more than one push may update. */
const MAX_HEADER_BYTES = 64 * 1024

/** Reads the ref updates at the start of a push; leaves the rest unread. */
async function readPushHeader(body: AsyncIterable<Uint8Array>): Promise<PushHeader> {
  // A for-await loop would end the connection at its break.
  const pieces = body[Symbol.asyncIterator]()
  let bytes: Buffer = Buffer.alloc(0)
  let at = 0
  const refs: string[] = []
  let capabilities: readonly string[] = []
  for (;;) {
    const length = Number.parseInt(bytes.toString("latin1", at, at + 4), 16)
    if (bytes.length >= at + 4 && !(length > 4)) return { refs, capabilities }
    if (bytes.length >= at + 4 && bytes.length >= at + length) {
      const [update = "", words] = bytes.toString("utf8", at + 4, at + length).split("\0")
      refs.push(update.trim().slice(82))
      if (words !== undefined) capabilities = words.trim().split(" ")
      at += length
      continue
    }
    const next = await pieces.next()
    if (next.done === true || bytes.length > MAX_HEADER_BYTES) return { refs, capabilities }
    bytes = Buffer.concat([bytes, next.value])
  }
}

// Ref requests: the request for refs is counted as an API call, and the pack request that follows belongs to
// the same clone, fetch or push. Each ref request covers one pack, so packs never exceed the counted calls.

const REF_REQUEST_TTL_MS = 10 * 60_000

/** Ref requests of a key that no pack request has followed yet. */
interface RefRequests {
  readonly open: number
}

const refRequests = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<RefRequests>({ slice: "code", kind: "visit" })

const refRequestName = ({ key }: Caller, service: PackCommand): string =>
  `${key?.keyId ?? "-"} ${service}`

/** Records a ref request, or that a pack request needs another round. */
export async function recordRefRequest(
  ports: Pick<Ports, "clock" | "ttlStore">,
  caller: Caller,
  service: PackCommand,
): Promise<void> {
  const expiresAt = ports.clock.now() + REF_REQUEST_TTL_MS
  await refRequests(ports).update(caller.companyId, refRequestName(caller, service), (known) => ({
    content: { open: (known?.content.open ?? 0) + 1 },
    expiresAt,
  }))
}

/** Uses up an open ref request; returns whether there was one. */
async function consumeRefRequest(
  ports: Pick<Ports, "clock" | "ttlStore">,
  caller: Caller,
  service: PackCommand,
): Promise<boolean> {
  const name = refRequestName(caller, service)
  if ((await refRequests(ports).find(caller.companyId, name)) === null) return false
  let wasOpen = false
  await refRequests(ports).update(caller.companyId, name, (known) => {
    wasOpen = known !== null && known.content.open > 0
    const open = Math.max(0, (known?.content.open ?? 0) - 1)
    return {
      content: { open },
      expiresAt: known?.expiresAt ?? ports.clock.now() + REF_REQUEST_TTL_MS,
    }
  })
  return wasOpen
}

// Pack slots: the number of packs that a process creates and receives concurrently. They are separate from
// other calls, because a clone is a hundred times the work of a call.

/** Direction of a pack: `out` to a fetch, `in` from a push. */
export type PackDirection = "out" | "in"

/** Concurrent packs, in all and per company, so that one company cannot block the others. */
const LIMITS = { out: { all: 12, ofOne: 4 }, in: { all: 6, ofOne: 2 } } as const
const MAX_WAITING = 32
const WAIT_MS = 30_000

export interface PackSlots {
  /**
   * Reserves a slot when one is free; returns the function that releases it. Null if too many callers wait,
   * the wait takes too long or the caller leaves.
   */
  readonly reserve: (
    direction: PackDirection,
    companyId: CompanyId,
    gone: AbortSignal,
  ) => Promise<(() => void) | null>
  readonly count: () => Readonly<Record<PackDirection | "waiting", number>>
}

interface WaitingCaller {
  readonly direction: PackDirection
  readonly companyId: CompanyId
  readonly admit: () => void
}

/** Creates the pack slots of a process. */
export function openPackSlots(pacer: Pick<Pacer, "pause">): PackSlots {
  const taken: Record<PackDirection, CompanyId[]> = { out: [], in: [] }
  /** In order of arrival. */
  const waiting = new Set<WaitingCaller>()
  const isFree = ({
    direction,
    companyId,
  }: Pick<WaitingCaller, "direction" | "companyId">): boolean => {
    const most = LIMITS[direction]
    const companyCount = taken[direction].filter((one) => one === companyId).length
    return taken[direction].length < most.all && companyCount < most.ofOne
  }
  const occupy = (direction: PackDirection, companyId: CompanyId): (() => void) => {
    taken[direction].push(companyId)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      taken[direction].splice(taken[direction].indexOf(companyId), 1)
      for (const one of waiting) {
        if (!isFree(one)) continue
        waiting.delete(one)
        one.admit()
      }
    }
  }
  return {
    count: () => ({ out: taken.out.length, in: taken.in.length, waiting: waiting.size }),
    reserve: async (direction, companyId, gone) => {
      if (isFree({ direction, companyId })) return occupy(direction, companyId)
      if (waiting.size >= MAX_WAITING || gone.aborted) return null
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>()
      const over = new AbortController()
      const waiter: WaitingCaller = {
        direction,
        companyId,
        // Synchronously, so that a new caller cannot take the slot first.
        admit: () => resolve(occupy(direction, companyId)),
      }
      waiting.add(waiter)
      void pacer.pause(WAIT_MS, AbortSignal.any([over.signal, gone])).then(() => {
        waiting.delete(waiter)
        resolve(null)
      })
      const release = await promise
      over.abort()
      return release
    },
  }
}
