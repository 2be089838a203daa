/** Pushes without git: the test gives their updates and objects. */
import type {
  GitTreeEntry,
  GitHead,
  PushedObject,
  IncomingPush,
  RefUpdate,
  GitRef,
} from "../../adapters/git/port.ts"
import { MAX_CHUNK_BYTES } from "../../adapters/git/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import { checkPush, completePush } from "../../src/code/push-checks.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company, World } from "../support/world.ts"

/** Secrets of no account, assembled from parts so that none appears whole in this repository. */

const letters = (length: number, of = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0z"): string =>
  of.repeat(Math.ceil(length / of.length)).slice(0, length)

const pem = (kind: string): string =>
  [`-----BEGIN ${kind}`, "-----\n", letters(64), "\n-----END ", kind, "-----"].join("")

/** One for each rule, by its name. */
export const SAMPLE_SECRETS: Readonly<Record<string, string>> = {
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

type NamedEntry = GitTreeEntry & { readonly name: string }

export interface FakeObject {
  readonly type?: PushedObject["type"]
  readonly bytes?: string | Uint8Array
  /** The size that git reports, if it differs from the bytes. */
  readonly size?: number
  /** Path of a blob; without it, the blob is unreferenced. */
  readonly path?: string
}

/** A commit, new or stored, with the folders that the checks read. */
export interface FakeCommit {
  readonly id: string
  readonly parents?: readonly string[]
  readonly root?: readonly NamedEntry[]
  readonly src?: readonly NamedEntry[]
  /** Set if the repository already has it. */
  readonly isStored?: true
}

/** An object id of 40 characters with this end. */
export const fakeObjectId = (end: string | number): string => String(end).padStart(40, "0")

/** Chunk size of objects that are larger than one chunk. */
export const OBJECT_PIECE_BYTES = 65_536

/** A push. Without updates it creates a branch at the last commit. */
export function fakePush(
  given: {
    readonly updates?: readonly RefUpdate[]
    readonly objects?: readonly FakeObject[]
    readonly commits?: readonly FakeCommit[]
    readonly isForced?: boolean
    readonly head?: GitHead
  } = {},
): IncomingPush & { readonly reads: () => number } {
  const { commits = [], isForced = false } = given
  let reads = 0
  const objects = (given.objects ?? []).map((one, i) => {
    const bytes = Buffer.from((one.bytes ?? "") as string)
    const { type = "blob", size = bytes.length, path = null } = one
    return { id: fakeObjectId(`b${i}`), type, size, bytes, path }
  })
  const tip = commits.at(-1)?.id ?? fakeObjectId("c")
  return {
    signal: new AbortController().signal,
    readHead: async () => given.head ?? { ref: "refs/heads/main", isBorn: true },
    senderHead: null,
    updates: given.updates ?? [{ ref: "refs/heads/topic", old: null, new: tip }],
    listNewObjects: async function* () {
      for (const { id, type, size } of objects) yield { id, type, size }
    },
    readObjects: async function* (ids) {
      for (const id of ids) {
        const { path: _path, ...found } = objects.find(
          (one) => one.id === id,
        ) as (typeof objects)[0]
        reads += 1
        const { length } = found.bytes
        // Large objects are split like in git's pipe, so that a secret can cross a boundary.
        const step = length <= MAX_CHUNK_BYTES ? Math.max(1, length) : OBJECT_PIECE_BYTES
        for (let offset = 0; offset === 0 || offset < length; offset += step) {
          yield { ...found, offset, bytes: found.bytes.subarray(offset, offset + step) }
        }
      }
    },
    listNewCommits: async function* () {
      for (const { id, parents = [], isStored } of commits)
        if (isStored !== true) yield { id, parents }
    },
    readFolders: async function* (ids, path) {
      for (const commit of ids) {
        const found = commits.find(({ id }) => id === commit)
        yield { commits: [commit], entries: (path === "" ? found?.root : found?.src) ?? null }
      }
    },
    findPath: async (blob) => objects.find(({ id }) => id === blob)?.path ?? null,
    isAncestor: async () => !isForced,
    reads: () => reads,
  }
}

/** The ports of a world whose repositories have these refs. */
export function portsWithRefs(world: World, tips: () => readonly GitRef[]): World["ports"] {
  const readHead = async () => ({ ref: "refs/heads/main", isBorn: true })
  const repositories = { ...world.ports.repositories, listRefs: async () => tips(), readHead }
  return { ...world.ports, repositories }
}

/** The caller of a push. */
export function pusherOf({ companyId, keyId, ownerId: personId }: Company) {
  return { companyId, cause: { ...causedBy("test push"), keyId, personId } }
}

/** Records that a company has a repository, without creating one in git. */
export async function recordRepository(world: World, { companyId }: Company): Promise<void> {
  const command = { type: "CreateRepository" as const }
  await world.ports.runner.execute(codeStreamOf(companyId), command, causedBy("test create"))
}

/** Checks a push; returns the outcome and the text that the pusher gets. */
export async function judgeTestPush(world: World, company: Company, push: IncomingPush) {
  const answer = await checkPush(world.ports, pusherOf(company), push, 0)
  return answer.ok ? { ok: true, pushId: answer.pushId, text: "" } : messagesOf(answer.lines)
}

const messagesOf = (lines: readonly string[]) => ({
  ok: false,
  pushId: null,
  text: lines.join("\n"),
})

/** Checks a push and completes it with all of its refs. */
export async function landPush(
  world: World,
  company: Company,
  push: IncomingPush,
): Promise<PushId> {
  const answer = await checkPush(world.ports, pusherOf(company), push, 0)
  if (!answer.ok) throw new Error(answer.lines.join("\n"))
  const tips = push.updates.flatMap(({ ref, new: id }) => (id === null ? [] : [{ ref, id }]))
  await completePush(
    portsWithRefs(world, () => tips),
    pusherOf(company),
    answer.pushId,
  )
  return answer.pushId
}

/** The types of the facts in a company's code stream. */
export async function codeFactTypes(
  world: World,
  { companyId }: Pick<Company, "companyId">,
): Promise<readonly string[]> {
  const events = await collectEvents(world.ports.store.read(codeStreamOf(companyId).stream))
  return events.map(({ type }) => type)
}

/** Exercises code: one push lands, one does not, one is refused. */
export async function exerciseCode(world: World, company: Company): Promise<void> {
  await recordRepository(world, company)
  await landPush(world, company, fakePush())
  const lost = await checkPush(world.ports, pusherOf(company), fakePush(), 0)
  if (!lost.ok) throw new Error(lost.lines.join("\n"))
  await completePush(
    portsWithRefs(world, () => []),
    pusherOf(company),
    lost.pushId,
  )
  const refused = [{ ref: "refs/notes/x", old: null, new: fakeObjectId(1) }]
  await judgeTestPush(world, company, fakePush({ updates: refused }))
}
