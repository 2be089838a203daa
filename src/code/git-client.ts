/** Git as a client: how it signs in, and how it shows people what is refused. */
import type { PackCommand } from "../../adapters/git/port.ts"
import { FLUSH, pktLine } from "../../adapters/git/port.ts"
import { COMPANIES } from "../../domain/company/aggregates.ts"
import type { Companies } from "../../domain/company/companies.ts"
import { companyByNameTag } from "../../domain/company/companies.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { badKey } from "../frame/routes/checks/1-caller.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { OtherClient, Caller } from "../frame/routes/declare/route.ts"
import { nameTagOf } from "../frame/operator/inputs.ts"
import type { Ports } from "../frame/ports.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"

/** A refusal as it is shown: git knows words, and no JSON. */
type Told = Pick<Refusal, "error" | "message">

/** A refusal as one line. */
export function lineOf({ error, message }: Told): string {
  return `${error}: ${message}`
}

const refuse: OtherClient["refuse"] = async (ports, { companyId }, { user, params }) => {
  if (!(await isNameOf(ports, user, companyId))) return badKey()
  const { repository = "" } = params
  const name = /^(.*)\.git$/s.exec(repository)?.[1]
  const isOwn = name !== undefined && (await isNameOf(ports, name, companyId))
  return isOwn ? null : refusal("not_found", "There is no such repository for this key's company.")
}

/** Whether a name is that of a company; one that is not is looked for at the tail. */
async function isNameOf(
  ports: Pick<Ports, "runner" | "sealing">,
  name: string,
  companyId: CompanyId,
): Promise<boolean> {
  const tag = nameTagOf(ports, name)
  const named = (state: Companies) => companyByNameTag(state, tag)
  const isIt = (await ports.runner.read(COMPANIES, named)) === companyId
  return isIt || (await ports.runner.readLatest(COMPANIES, named)) === companyId
}

const asText: OtherClient["shown"] = (why) => ({
  mediaType: "text/plain; charset=utf-8",
  body: `${lineOf(why)}\n`,
})

/** A client that asks for the refs first: of it, and of nothing else, git shows any refusal. */
export const askingClient: OtherClient = { realm: "code", refuse, shown: asText }

/** A client that fetches. Git shows no refusal of it but one in its own protocol. */
export const fetchingClient: OtherClient = {
  ...askingClient,
  goesOn: (ports, caller) => goOnWith(ports, caller, "git-upload-pack"),
  // Of a 401 git asks people for another key.
  shown: (why) => {
    if (why.status === 401) return asText(why)
    const body = refusedFetch(why).toString("utf8")
    return { status: 200, mediaType: resultType("git-upload-pack"), body }
  },
}

/** A client that pushes. Git shows the status alone, of what is refused before it is read. */
export const pushingClient: OtherClient = {
  ...askingClient,
  goesOn: (ports, caller) => goOnWith(ports, caller, "git-receive-pack"),
}

/** The type of an answer of git's. */
export const resultType = (service: PackCommand): string => `application/x-${service}-result`

/** The refusal of a fetch in git's protocol. */
export const refusedFetch = (why: Told): Buffer => pktLine(`ERR ${lineOf(why)}`)

/** What a push begins with. */
interface Asked {
  readonly refs: readonly string[]
  readonly capabilities: readonly string[]
}

/** The refusal of a push in git's protocol, for what it has asked; nothing where it asked nothing. */
export async function refusedPush(why: Told, body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const { refs, capabilities } = await askedIn(body)
  if (refs.length === 0) return Buffer.alloc(0)
  const lines = ["unpack ok\n", ...refs.map((ref) => `ng ${ref} ${why.error}\n`)]
  const report = Buffer.concat([...lines.map((line) => pktLine(line)), FLUSH])
  if (!capabilities.includes("side-band-64k")) return report
  const bands = [
    [2, Buffer.from(`${lineOf(why)}\n`)],
    [1, report],
  ] as const
  const sent = bands.map(([band, bytes]) => pktLine(Buffer.concat([Buffer.from([band]), bytes])))
  return Buffer.concat([...sent, FLUSH])
}

/** So much names 200 refs, and more than git takes at once. */
const MOST_ASKED = 64 * 1024

/** Reads the updates that a push begins with; the rest of it is left. */
async function askedIn(body: AsyncIterable<Uint8Array>): Promise<Asked> {
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
    if (next.done === true || bytes.length > MOST_ASKED) return { refs, capabilities }
    bytes = Buffer.concat([bytes, next.value])
  }
}

// Who has asked for the refs, and was counted for it: what follows up to the pack is the same clone, fetch or
// push, and is not counted again. Each visit is for one pack, so that no more of them are sent than calls are
// counted; who asks for two at once is counted for two.

const FOR_MS = 10 * 60_000

/** How many visits of a key have not come to a pack yet. */
interface Visits {
  readonly open: number
}

const visits = ({ kept }: Pick<Ports, "kept">) => kept.of<Visits>({ slice: "code", kind: "visit" })

const nameOf = ({ key }: Caller, service: PackCommand): string => `${key?.keyId ?? "-"} ${service}`

/** Notes that somebody has come, or that what they asked for did not come to a pack yet. */
export async function noteVisit(
  ports: Pick<Ports, "clock" | "kept">,
  caller: Caller,
  service: PackCommand,
): Promise<void> {
  const until = ports.clock.now() + FOR_MS
  await visits(ports).change(caller.companyId, nameOf(caller, service), (known) => ({
    content: { open: (known?.content.open ?? 0) + 1 },
    until,
  }))
}

/** Goes on with a visit, where there is one: nobody else does meanwhile. Whether there is. */
async function goOnWith(
  ports: Pick<Ports, "clock" | "kept">,
  caller: Caller,
  service: PackCommand,
): Promise<boolean> {
  const name = nameOf(caller, service)
  if ((await visits(ports).find(caller.companyId, name)) === null) return false
  let isOne = false
  await visits(ports).change(caller.companyId, name, (known) => {
    isOne = known !== null && known.content.open > 0
    const open = Math.max(0, (known?.content.open ?? 0) - 1)
    return { content: { open }, until: known?.until ?? ports.clock.now() + FOR_MS }
  })
  return isOne
}

// How many packs a process makes and takes in at once. They have places of their own: a clone is a hundred
// times the work of a call, and neither keeps the other waiting.

/** Where a pack goes: out to who fetches, in from who pushes. */
export type Direction = "out" | "in"

/** At once, of all companies and of one: no single company keeps the others waiting. */
const MOST = { out: { all: 12, ofOne: 4 }, in: { all: 6, ofOne: 2 } } as const
const MOST_WAITING = 32
const WAIT_MS = 30_000

/** The places of a process. */
export interface PackPlaces {
  /**
   * Takes one, once there is one; answers how it is let go. Null where too many wait, it took too long,
   * or the caller went away.
   */
  readonly take: (
    direction: Direction,
    companyId: CompanyId,
    gone: AbortSignal,
  ) => Promise<(() => void) | null>
  readonly count: () => Readonly<Record<Direction | "waiting", number>>
}

interface Waiting {
  readonly direction: Direction
  readonly companyId: CompanyId
  readonly let: () => void
}

/** Opens them. */
export function openPackPlaces(pacer: Pick<Pacer, "pause">): PackPlaces {
  const taken: Record<Direction, CompanyId[]> = { out: [], in: [] }
  /** Who came first is first. */
  const waiting = new Set<Waiting>()
  const isFree = ({ direction, companyId }: Pick<Waiting, "direction" | "companyId">): boolean => {
    const most = MOST[direction]
    const own = taken[direction].filter((one) => one === companyId).length
    return taken[direction].length < most.all && own < most.ofOne
  }
  const enter = (direction: Direction, companyId: CompanyId): (() => void) => {
    taken[direction].push(companyId)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      taken[direction].splice(taken[direction].indexOf(companyId), 1)
      for (const one of waiting) {
        if (!isFree(one)) continue
        waiting.delete(one)
        one.let()
      }
    }
  }
  return {
    count: () => ({ out: taken.out.length, in: taken.in.length, waiting: waiting.size }),
    take: async (direction, companyId, gone) => {
      if (isFree({ direction, companyId })) return enter(direction, companyId)
      if (waiting.size >= MOST_WAITING || gone.aborted) return null
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>()
      const over = new AbortController()
      const own: Waiting = {
        direction,
        companyId,
        // At once: nobody who comes now is let in before.
        let: () => resolve(enter(direction, companyId)),
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
