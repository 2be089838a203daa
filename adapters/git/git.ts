/** Repositories as folders of one folder, served by the machine's own git. */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { access, mkdir, realpath, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { takeBundle, packOf, takePack } from "./packs.ts"
import type { ConversationLimits, Read } from "./reading.ts"
import { LIMITS, converse, fileAt, hasRefs, headOf, reachedBy, setHead, tipsOf } from "./reading.ts"
import type { Conversation, PackCommand, Repositories, Scrubbed } from "./port.ts"
import {
  FLUSH,
  GitFailed,
  GitUnavailable,
  NoQuestion,
  NoRepository,
  folderNameOf,
  pktLine,
} from "./port.ts"
import type { Machine } from "./process.ts"
import { failed, outputOf, run, sendOutput, SANDBOX, sandboxed } from "./process.ts"
import { receive, forgetLeft, sweepLeft, isKeepFile, namesIn } from "./receiving.ts"
import { ATTRIBUTES, HOOKS_FOLDER, environmentOf, settingsFile } from "./repository-settings.ts"
import { linesOf, typeOf } from "./new-objects.ts"

const exec = promisify(execFile)

/** What the repositories are opened with. */
export interface GitOptions {
  /** The folder of the repositories; made where it is not there. */
  readonly codeDir: string
  readonly limits?: ConversationLimits
  /** Default: where the machine can make one. */
  readonly sandbox?: "never"
}

/** Where repositories are, and how git is run on them. */
interface Place extends Machine {
  /** Absolute and without links: git refuses a folder of another spelling. */
  readonly codeDir: string
}

/**
 * Opens the repositories; git itself is looked for when something is first asked. Their calls throw
 * NoRepository, GitUnavailable and GitFailed, as the port says.
 */
export function openGit(options: GitOptions): Repositories {
  const { limits = LIMITS } = options
  let opened: Promise<Place> | null = null
  const place = (): Promise<Place> => {
    // What is mended meanwhile is found the next time.
    opened ??= openPlace(options).catch((error: unknown) => {
      opened = null
      throw error
    })
    return opened
  }
  /** The place and the folder of a repository that is there. */
  const of = async (companyId: CompanyId) => {
    const machine = await place()
    const folder = folderOf(machine.codeDir, companyId)
    if (!(await isThere(join(folder, "HEAD")))) throw new NoRepository(`${companyId} has none`)
    return { machine, folder, limits }
  }
  const serve = { advertise: advertiseFrom(of), upload: uploadFrom(of) }
  return {
    ...serve,
    create: async (companyId) => create(await place(), companyId),
    has: async (companyId) => isThere(join(folderOf((await place()).codeDir, companyId), "HEAD")),
    receive: async (conversation, judge) => {
      await mayRunHook()
      const env = protocolOf(conversation.protocol)
      await receive({ ...(await of(conversation.companyId)), env }, conversation, judge)
    },
    takePack: async (pack, judge) => {
      await mayRunHook()
      return takePack(await of(pack.companyId), pack, judge)
    },
    pack: async (companyId, commit) => packOf(await of(companyId), objectId(commit)),
    tips: async (companyId) => tipsOf(await of(companyId)),
    head: async (companyId) => headOf(await of(companyId)),
    setHead: async (companyId, ref) => setHead(await of(companyId), ref),
    readFile: async (companyId, commit, path, mostBytes) =>
      fileAt(await of(companyId), commit, path, mostBytes),
    isReachable: async (companyId, commit) => reachedBy(await of(companyId), commit),
    archive: async (companyId, commit, format, send) => {
      const { machine, folder } = await of(companyId)
      const args = ["archive", `--format=${format}`, objectId(commit)]
      await sendOutput(machine, { folder, args }, send)
    },
    bundle: async (companyId, send) => {
      const { machine, folder } = await of(companyId)
      if (!(await hasRefs({ machine, folder }))) return false
      const args = ["bundle", "create", "--quiet", "-", "--all"]
      await sendOutput(machine, { folder, args }, send)
      return true
    },
    importBundle: async (companyId, bundle, judge) => {
      await mayRunHook()
      const found = await of(companyId)
      // What a repository grew to push by push comes back at once.
      const settings = [["receive.maxInputSize", "0"]] as const
      return takeBundle({ ...found, settings }, bundle, await tipsOf(found), judge)
    },
    maintain: async (companyId) => {
      const { machine, folder } = await of(companyId)
      await forgetLeft(folder)
      await outputOf(machine, { folder, args: ["gc", "--quiet"], writes: true })
    },
    scrub: async (companyId, object) => scrub(await of(companyId), objectId(object)),
    // Nothing of git is needed for these.
    sweep: () => sweepLeft(options.codeDir),
    erase: (companyId) => erase(options.codeDir, companyId),
  }
}

type Of = (companyId: CompanyId) => Promise<{
  readonly machine: Machine
  readonly folder: string
  readonly limits: ConversationLimits
}>

function advertiseFrom(of: Of): Repositories["advertise"] {
  let capabilities: Promise<Buffer> | null = null
  return async (companyId, service, protocol, send) => {
    const { machine, folder } = await of(companyId)
    const env = protocolOf(protocol)
    const args = [commandOf(service), "--stateless-rpc", "--http-backend-info-refs", folder]
    // At most 5,000 refs: they fit, and no client that reads slowly keeps a git alive.
    const advertised = () => outputOf(machine, { folder, args, env })
    if (service === "git-upload-pack" && env.GIT_PROTOCOL === "version=2") {
      // What git can do, and nothing of this repository: one of a clone's three processes is saved.
      capabilities ??= advertised().catch((error: unknown) => {
        capabilities = null
        throw error
      })
      return send(await capabilities)
    }
    // In its second version a client is told by git itself what it talks to.
    const isTold = service === "git-upload-pack" && /^version=2\b/.test(env.GIT_PROTOCOL ?? "")
    if (!isTold) await send(Buffer.concat([pktLine(`# service=${service}\n`), FLUSH]))
    await send(await advertised())
  }
}

function uploadFrom(of: Of): Repositories["upload"] {
  return async (conversation: Conversation) => {
    const { machine, folder, limits } = await of(conversation.companyId)
    const args = ["upload-pack", "--stateless-rpc", folder]
    const running = run(machine, { folder, args, env: protocolOf(conversation.protocol) })
    let isLeft = false
    const leave = () => {
      isLeft = true
      // It only reads: nothing is lost with it.
      running.kill()
    }
    const ended = await converse(running, conversation, limits, leave).catch((error: unknown) => {
      const isNonsense = error instanceof GitFailed && NONSENSE.test(error.message)
      throw isNonsense ? new NoQuestion(error.message, { cause: error }) : error
    })
    return ended.code === 0 || isLeft ? null : failed({ args }, ended)
  }
}

/** What git says of a client that does not speak its protocol, in either version. */
const NONSENSE =
  /protocol error|hung up unexpectedly|unknown capability|invalid command|no command requested|requested after already|unexpected line|expected flush|object format/

const commandOf = (service: PackCommand): string => service.slice("git-".length)

/** The protocol that a client speaks, as far as what it says of it is one. */
function protocolOf(protocol: string | null): { readonly GIT_PROTOCOL?: string } {
  const isOne = protocol !== null && /^version=[012](:[a-z0-9=:-]{0,200})?$/.test(protocol)
  return isOne ? { GIT_PROTOCOL: protocol } : {}
}

/** @throws GitUnavailable where there is no git that is new enough, or its folder cannot be made */
async function openPlace({ codeDir, sandbox }: GitOptions): Promise<Place> {
  try {
    await mkdir(codeDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const { message } = error as Error
    throw new GitUnavailable(
      `the folder ${codeDir} cannot be made: name one in CODE_DIR that this user may make and write (${message})`,
    )
  }
  const folder = await realpath(codeDir)
  const env = environmentOf(folder)
  const version = await exec("git", ["--version"], { env }).catch((error: unknown) => {
    throw new GitUnavailable(`git cannot be run: ${String(error)}`)
  })
  const [, major = "", minor = ""] = /(\d+)\.(\d+)/.exec(version.stdout) ?? []
  if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 34)) {
    throw new GitUnavailable(`git ${major}.${minor} is too old: 2.34 or newer is needed`)
  }
  const trying = [...sandboxed([HOOKS_FOLDER], folder), "git", "--version"]
  const isSandboxed =
    sandbox !== "never" &&
    (await exec(SANDBOX, trying, { env }).then(
      () => true,
      () => false,
    ))
  return { codeDir: folder, isSandboxed }
}

/** A hook that git cannot run is skipped by it: then nobody would be asked. @throws GitUnavailable */
async function mayRunHook(): Promise<void> {
  await access(join(HOOKS_FOLDER, "pre-receive"), constants.X_OK).catch((error: unknown) => {
    throw new GitUnavailable(`the hook of the repositories cannot be run: ${String(error)}`)
  })
}

const folderOf = (codeDir: string, companyId: CompanyId): string =>
  join(codeDir, folderNameOf(companyId))

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

async function create(place: Place, companyId: CompanyId): Promise<void> {
  const folder = folderOf(place.codeDir, companyId)
  if (await isThere(join(folder, "HEAD"))) return
  // Made beside it and put there at once: what is there is whole.
  const made = `${folder}.new-${randomUUID()}`
  await mkdir(made)
  const args = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", made]
  await outputOf(place, { folder: made, args, writes: true })
  await writeFile(join(made, "config"), settingsFile())
  await mkdir(join(made, "info"), { recursive: true })
  await writeFile(join(made, "info", "attributes"), ATTRIBUTES)
  try {
    await rename(made, folder)
  } catch (error) {
    await rm(made, { recursive: true, force: true })
    // Somebody else has made it meanwhile.
    if (!(await isThere(join(folder, "HEAD")))) throw error
  }
}

async function erase(codeDir: string, companyId: CompanyId): Promise<void> {
  const folder = folderOf(codeDir, companyId)
  const erased = `${folder}.erased`
  // What a crash left of an earlier time.
  await rm(erased, { recursive: true, force: true })
  if (!(await isThere(folder))) return
  await rename(folder, erased)
  await rm(erased, { recursive: true, force: true })
}

/** @throws RangeError where it is no object's id, which git might take for an option or another name */
function objectId(text: string): string {
  if (!/^[0-9a-f]{40}$/.test(text)) throw new RangeError(`${text} is no id of an object`)
  return text
}

/**
 * Takes a file's content, a folder, a commit or a tag out. Nobody may push meanwhile. @throws GitFailed
 *
 * What waits in a quarantine stays, which `git gc --prune=now` would take away under a push's feet.
 */
async function scrub({ machine, folder }: Read, object: string): Promise<Scrubbed> {
  if ((await typeOf(machine, folder, object)) === null) return { is: "missing" }
  const listing = { folder, args: ["rev-list", "--objects", "--all"] }
  for await (const line of linesOf(machine, listing)) {
    if (line.startsWith(object)) return { is: "reached", path: line.slice(object.length + 1) }
  }
  const objects = join(folder, "objects")
  // Git leaves packs beside such a file as they are: it guards a push whose refs are about to move, and
  // there is none now. So this one was left by who was killed.
  for (const name of (await namesIn(join(objects, "pack"))).filter(isKeepFile)) {
    await rm(join(objects, "pack", name), { force: true })
  }
  const packing = ["repack", "-a", "-d", "-q"]
  await outputOf(machine, { folder, args: packing, writes: true })
  // All that is reached is packed by now: what lies alone beside packs is what `git gc` put there.
  for (const name of (await namesIn(objects)).filter((one) => /^[0-9a-f]{2}$/.test(one))) {
    await rm(join(objects, name), { recursive: true, force: true })
  }
  if ((await typeOf(machine, folder, object)) !== null) {
    throw new GitFailed(`${object} is in the repository still`)
  }
  return { is: "gone" }
}
