/** Git as a client: how it signs in, and how it shows people what is refused. */
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

/** A refusal as it is shown: git knows words, and no JSON. */
type ShownRefusal = Pick<Refusal, "error" | "message">

/** A refusal as one line. */
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
  return isOwn ? null : refusal("not_found", "There is no such repository for this key's company.")
}

/** Whether a name is that of a company; one that is not is looked for at the tail. */
async function isCompanyName(
  ports: Pick<Ports, "runner" | "sealing">,
  name: string,
  companyId: CompanyId,
): Promise<boolean> {
  const tag = companyNameTag(ports, name)
  const named = (state: Companies) => companyByNameTag(state, tag)
  const isIt = (await ports.runner.read(COMPANIES_STREAM, named)) === companyId
  return isIt || (await ports.runner.readLatest(COMPANIES_STREAM, named)) === companyId
}

const plainTextReply: NonApiClient["formatRefusal"] = (why) => ({
  mediaType: "text/plain; charset=utf-8",
  body: `${refusalLine(why)}\n`,
})

/** A client that asks for the refs first: of it, and of nothing else, git shows any refusal. */
export const refsClient: NonApiClient = {
  realm: "code",
  accessRefusal: checkRepositoryName,
  formatRefusal: plainTextReply,
}

/** A client that fetches. Git shows no refusal of it but one in its own protocol. */
export const fetchClient: NonApiClient = {
  ...refsClient,
  isContinuation: (ports, caller) => consumeRefRequest(ports, caller, "git-upload-pack"),
  // Of a 401 git asks people for another key.
  formatRefusal: (why) => {
    if (why.status === 401) return plainTextReply(why)
    const body = encodeFetchRefusal(why).toString("utf8")
    return { status: 200, mediaType: resultMediaType("git-upload-pack"), body }
  },
}

/** A client that pushes. Git shows the status alone, of what is refused before it is read. */
export const pushClient: NonApiClient = {
  ...refsClient,
  isContinuation: (ports, caller) => consumeRefRequest(ports, caller, "git-receive-pack"),
}

/** The type of an answer of git's. */
export const resultMediaType = (service: PackCommand): string => `application/x-${service}-result`

/** The refusal of a fetch in git's protocol. */
export const encodeFetchRefusal = (why: ShownRefusal): Buffer => pktLine(`ERR ${refusalLine(why)}`)

/** What a push begins with. */
interface PushHeader {
  readonly refs: readonly string[]
  readonly capabilities: readonly string[]
}

/** The refusal of a push in git's protocol, for what it has asked; nothing where it asked nothing. */
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

/** So much names 200 refs, and more than git takes at once. */
const MAX_HEADER_BYTES = 64 * 1024

/** Reads the updates that a push begins with; the rest of it is left. */
async function readPushHeader(body: AsyncIterable<Uint8Array>): Promise<PushHeader> {
  // Not by a loop: that would end the connection where it stops.
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

// Who has asked for the refs, and was counted for it: what follows up to the pack is the same clone, fetch or
// push, and is not counted again. Each visit is for one pack, so that no more of them are sent than calls are
// counted; who asks for two at once is counted for two.

const REF_REQUEST_TTL_MS = 10 * 60_000

/** How many visits of a key have not come to a pack yet. */
interface RefRequests {
  readonly open: number
}

const refRequests = ({ ttlStore }: Pick<Ports, "ttlStore">) =>
  ttlStore.of<RefRequests>({ slice: "code", kind: "visit" })

const refRequestName = ({ key }: Caller, service: PackCommand): string =>
  `${key?.keyId ?? "-"} ${service}`

/** Notes that somebody has come, or that what they asked for did not come to a pack yet. */
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

/** Goes on with a visit, where there is one: nobody else does meanwhile. Whether there is. */
async function consumeRefRequest(
  ports: Pick<Ports, "clock" | "ttlStore">,
  caller: Caller,
  service: PackCommand,
): Promise<boolean> {
  const name = refRequestName(caller, service)
  if ((await refRequests(ports).find(caller.companyId, name)) === null) return false
  let isOne = false
  await refRequests(ports).update(caller.companyId, name, (known) => {
    isOne = known !== null && known.content.open > 0
    const open = Math.max(0, (known?.content.open ?? 0) - 1)
    return {
      content: { open },
      expiresAt: known?.expiresAt ?? ports.clock.now() + REF_REQUEST_TTL_MS,
    }
  })
  return isOne
}

// How many packs a process makes and takes in at once. They have places of their own: a clone is a hundred
// times the work of a call, and neither keeps the other waiting.

/** Where a pack goes: out to who fetches, in from who pushes. */
export type PackDirection = "out" | "in"

/** At once, of all companies and of one: no single company keeps the others waiting. */
const LIMITS = { out: { all: 12, ofOne: 4 }, in: { all: 6, ofOne: 2 } } as const
const MAX_WAITING = 32
const WAIT_MS = 30_000

/** The places of a process. */
export interface PackSlots {
  /**
   * Takes one, once there is one; answers how it is let go. Null where too many wait, it took too long,
   * or the caller went away.
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

/** Opens them. */
export function openPackSlots(pacer: Pick<Pacer, "pause">): PackSlots {
  const taken: Record<PackDirection, CompanyId[]> = { out: [], in: [] }
  /** Who came first is first. */
  const waiting = new Set<WaitingCaller>()
  const isFree = ({
    direction,
    companyId,
  }: Pick<WaitingCaller, "direction" | "companyId">): boolean => {
    const most = LIMITS[direction]
    const own = taken[direction].filter((one) => one === companyId).length
    return taken[direction].length < most.all && own < most.ofOne
  }
  const enter = (direction: PackDirection, companyId: CompanyId): (() => void) => {
    taken[direction].push(companyId)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
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
      if (isFree({ direction, companyId })) return enter(direction, companyId)
      if (waiting.size >= MAX_WAITING || gone.aborted) return null
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>()
      const over = new AbortController()
      const own: WaitingCaller = {
        direction,
        companyId,
        // At once: nobody who comes now is let in before.
        admit: () => resolve(enter(direction, companyId)),
      }
      waiting.add(own)
      void pacer.pause(WAIT_MS, AbortSignal.any([over.signal, gone])).then(() => {
        waiting.delete(own)
        resolve(null)
      })
      const left = await promise
      over.abort()
      return left
    },
  }
}
