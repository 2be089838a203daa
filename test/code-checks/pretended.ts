/** Pushes of no git: what they want and what they brought stands in the test. */
import type { Entry, Head, NewObject, Push, RefUpdate, Tip } from "../../adapters/git/port.ts"
import { MOST_PIECE } from "../../adapters/git/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import { judgePush, landed } from "../../src/code/push-checks.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import type { Company, World } from "../support/world.ts"

/** Secrets of nobody, put together from parts: none stands whole in this repository. */

const letters = (length: number, of = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0z"): string =>
  of.repeat(Math.ceil(length / of.length)).slice(0, length)

const pem = (kind: string): string =>
  [`-----BEGIN ${kind}`, "-----\n", letters(64), "\n-----END ", kind, "-----"].join("")

/** One for each rule, by its name. */
export const SECRETS: Readonly<Record<string, string>> = {
  github: ["gh", "p_", letters(36)].join(""),
  "aws-key-id": ["AK", "IA", letters(16, "QWERTY234567ASDF")].join(""),
  "google-api-key": ["AI", "za", letters(35)].join(""),
  telnyx: ["KE", "Y", letters(32, "0123456789ABCDEF"), "_", letters(22)].join(""),
  "twilio-key": ["S", "K", letters(32, "0123456789abcdef")].join(""),
  openai: ["sk", "-proj-", letters(60)].join(""),
  redis: ["redis", "://user:", letters(20), "@cache.acme.test:6379/0"].join(""),
  slack: [
    "xo",
    "xb-",
    letters(12, "0123456789"),
    "-",
    letters(13, "0123456789"),
    "-",
    letters(24),
  ].join(""),
  npm: ["np", "m_", letters(36)].join(""),
  anthropic: ["sk", "-ant-api03-", letters(93), "AA"].join(""),
  stripe: ["sk", "_live_", letters(24)].join(""),
  sendgrid: ["S", "G.", letters(22), ".", letters(43)].join(""),
  "database-connection-string": [
    "postgres",
    "://owner:",
    letters(20),
    "@db.acme.test:5432/app",
  ].join(""),
  basicauth: ["https", "://owner:", letters(20), "@acme.test/path"].join(""),
  "private-key": pem(["OPENSSH PRIVATE", "KEY"].join(" ")),
}

type Named = Entry & { readonly name: string }

/** An object that is brought. */
export interface Pretended {
  readonly type?: NewObject["type"]
  readonly bytes?: string | Uint8Array
  /** What git says of its size, where it is another than that of its bytes. */
  readonly size?: number
  /** Where a blob stands; nowhere without it. */
  readonly path?: string
}

/** A commit, new or not, by the folders that count. */
export interface PretendedCommit {
  readonly id: string
  readonly parents?: readonly string[]
  readonly root?: readonly Named[]
  readonly src?: readonly Named[]
  /** It was there before. */
  readonly isOld?: true
}

/** An id of 40 digits that ends so. */
export const objectId = (end: string | number): string => String(end).padStart(40, "0")

/** A larger object comes in pieces of so many bytes. */
export const CUT_AFTER = 65_536

/** A push. Without updates it makes a branch of the last commit. */
export function pretendPush(
  given: {
    readonly updates?: readonly RefUpdate[]
    readonly objects?: readonly Pretended[]
    readonly commits?: readonly PretendedCommit[]
    readonly isForced?: boolean
    readonly head?: Head
  } = {},
): Push & { readonly reads: () => number } {
  const { commits = [], isForced = false } = given
  let reads = 0
  const objects = (given.objects ?? []).map((one, i) => {
    const bytes = Buffer.from((one.bytes ?? "") as string)
    const { type = "blob", size = bytes.length, path = null } = one
    return { id: objectId(`b${i}`), type, size, bytes, path }
  })
  const tip = commits.at(-1)?.id ?? objectId("c")
  return {
    left: new AbortController().signal,
    head: async () => given.head ?? { ref: "refs/heads/main", isBorn: true },
    sentHead: null,
    updates: given.updates ?? [{ ref: "refs/heads/topic", old: null, new: tip }],
    objects: async function* () {
      for (const { id, type, size } of objects) yield { id, type, size }
    },
    read: async function* (ids) {
      for (const id of ids) {
        const { path: _path, ...found } = objects.find(
          (one) => one.id === id,
        ) as (typeof objects)[0]
        reads += 1
        const { length } = found.bytes
        // As git's pipe has them, and one that is cut where it hurts.
        const step = length <= MOST_PIECE ? Math.max(1, length) : CUT_AFTER
        for (let from = 0; from === 0 || from < length; from += step) {
          yield { ...found, from, bytes: found.bytes.subarray(from, from + step) }
        }
      }
    },
    commits: async function* () {
      for (const { id, parents = [], isOld } of commits) if (isOld !== true) yield { id, parents }
    },
    folders: async function* (ids, path) {
      for (const commit of ids) {
        const found = commits.find(({ id }) => id === commit)
        yield { commits: [commit], entries: (path === "" ? found?.root : found?.src) ?? null }
      }
    },
    pathOf: async (blob) => objects.find(({ id }) => id === blob)?.path ?? null,
    isAncestor: async () => !isForced,
    reads: () => reads,
  }
}

/** The ports of a world whose repositories have these refs. */
export function portsWith(world: World, tips: () => readonly Tip[]): World["ports"] {
  const head = async () => ({ ref: "refs/heads/main", isBorn: true })
  const repositories = { ...world.ports.repositories, tips: async () => tips(), head }
  return { ...world.ports, repositories }
}

/** Who pushes. */
export function pusherOf({ companyId, keyId, ownerId: personId }: Company) {
  return { companyId, cause: { ...causedBy("test push"), keyId, personId } }
}

/** Gives a company a repository, as far as the facts know. */
export async function createRepository(world: World, { companyId }: Company): Promise<void> {
  const command = { type: "CreateRepository" as const }
  await world.ports.runner.execute(codeOf(companyId), command, causedBy("test create"))
}

/** A push that is judged; what it is told. */
export async function judged(world: World, company: Company, push: Push) {
  const answer = await judgePush(world.ports, pusherOf(company), push, 0)
  return answer.ok ? { ok: true, pushId: answer.pushId, text: "" } : toldBy(answer.lines)
}

const toldBy = (lines: readonly string[]) => ({ ok: false, pushId: null, text: lines.join("\n") })

/** A push that is judged and lands, with all of its refs. */
export async function landedPush(world: World, company: Company, pretended: Push): Promise<PushId> {
  const answer = await judgePush(world.ports, pusherOf(company), pretended, 0)
  if (!answer.ok) throw new Error(answer.lines.join("\n"))
  const tips = pretended.updates.flatMap(({ ref, new: id }) => (id === null ? [] : [{ ref, id }]))
  await landed(
    portsWith(world, () => tips),
    pusherOf(company),
    answer.pushId,
  )
  return answer.pushId
}

/** The facts of a company's code, by their types. */
export async function codeFacts(
  world: World,
  { companyId }: Pick<Company, "companyId">,
): Promise<readonly string[]> {
  const events = await collect(world.ports.store.read(codeOf(companyId).stream))
  return events.map(({ type }) => type)
}

/** Does all that there is to do with code: a push lands, one does not, one is refused. */
export async function useCode(world: World, company: Company): Promise<void> {
  await createRepository(world, company)
  await landedPush(world, company, pretendPush())
  const lost = await judgePush(world.ports, pusherOf(company), pretendPush(), 0)
  if (!lost.ok) throw new Error(lost.lines.join("\n"))
  await landed(
    portsWith(world, () => []),
    pusherOf(company),
    lost.pushId,
  )
  const refused = [{ ref: "refs/notes/x", old: null, new: objectId(1) }]
  await judged(world, company, pretendPush({ updates: refused }))
}
