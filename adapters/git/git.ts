/** Repositories as folders of one folder, served by the machine's own git. */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { access, mkdir, realpath, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { applyBundle, streamPack, applyPack } from "./packs.ts"
import type { GitSessionTimeouts, RepositoryHandle } from "./read-repository.ts"
import {
  DEFAULT_SESSION_TIMEOUTS,
  relaySession,
  readFileAt,
  hasRefs,
  readHead,
  isReachable,
  writeHead,
  readRefs,
} from "./read-repository.ts"
import type { GitSession, PackCommand, Repositories, ScrubResult } from "./port.ts"
import {
  FLUSH_PACKET,
  GitFailed,
  GitUnavailable,
  InvalidGitRequest,
  RepositoryNotFound,
  repositoryFolderName,
  pktLine,
} from "./port.ts"
import type { GitRuntime } from "./process.ts"
import {
  gitExitError,
  gitOutput,
  startGit,
  streamGitOutput,
  SANDBOX_PROGRAM,
  sandboxArguments,
} from "./process.ts"
import {
  runReceivePack,
  removeStaleFiles,
  sweepStaleFiles,
  isKeepFile,
  listFileNames,
} from "./receive-push.ts"
import {
  ARCHIVE_ATTRIBUTES,
  HOOKS_FOLDER,
  gitEnvironment,
  repositoryConfigFile,
} from "./git-config.ts"
import { gitOutputLines, gitObjectType } from "./push-objects.ts"

const exec = promisify(execFile)

/** What the repositories are opened with. */
export interface GitOptions {
  /** The folder of the repositories; made where it is not there. */
  readonly codeDir: string
  readonly limits?: GitSessionTimeouts
  /** Default: where the machine can make one. */
  readonly sandbox?: "never"
}

/** Where repositories are, and how git is run on them. */
interface RepositoriesRoot extends GitRuntime {
  /** Absolute and without links: git refuses a folder of another spelling. */
  readonly codeDir: string
}

/**
 * Opens the repositories; git itself is looked for when something is first asked. Their calls throw
 * RepositoryNotFound, GitUnavailable and GitFailed, as the port says.
 */
export function openGit(options: GitOptions): Repositories {
  const { limits = DEFAULT_SESSION_TIMEOUTS } = options
  let opened: Promise<RepositoriesRoot> | null = null
  const place = (): Promise<RepositoriesRoot> => {
    // What is mended meanwhile is found the next time.
    opened ??= prepareRoot(options).catch((error: unknown) => {
      opened = null
      throw error
    })
    return opened
  }
  /** The place and the folder of a repository that is there. */
  const of = async (companyId: CompanyId) => {
    const runtime = await place()
    const folder = folderOf(runtime.codeDir, companyId)
    if (!(await exists(join(folder, "HEAD")))) throw new RepositoryNotFound(`${companyId} has none`)
    return { runtime, folder, limits }
  }
  const serve = { advertiseRefs: advertiseRefsWith(of), uploadPack: uploadPackWith(of) }
  return {
    ...serve,
    create: async (companyId) => create(await place(), companyId),
    has: async (companyId) => exists(join(folderOf((await place()).codeDir, companyId), "HEAD")),
    receivePush: async (conversation, judge) => {
      await checkHookIsExecutable()
      const env = protocolOf(conversation.protocol)
      await runReceivePack({ ...(await of(conversation.companyId)), env }, conversation, judge)
    },
    applyPack: async (pack, judge) => {
      await checkHookIsExecutable()
      return applyPack(await of(pack.companyId), pack, judge)
    },
    packCommit: async (companyId, commit) => streamPack(await of(companyId), parseObjectId(commit)),
    listRefs: async (companyId) => readRefs(await of(companyId)),
    readHead: async (companyId) => readHead(await of(companyId)),
    setHead: async (companyId, ref) => writeHead(await of(companyId), ref),
    readFile: async (companyId, commit, path, mostBytes) =>
      readFileAt(await of(companyId), commit, path, mostBytes),
    isReachable: async (companyId, commit) => isReachable(await of(companyId), commit),
    archive: async (companyId, commit, format, send) => {
      const { runtime, folder } = await of(companyId)
      const args = ["archive", `--format=${format}`, parseObjectId(commit)]
      await streamGitOutput(runtime, { folder, args }, send)
    },
    bundle: async (companyId, send) => {
      const { runtime, folder } = await of(companyId)
      if (!(await hasRefs({ runtime, folder }))) return false
      const args = ["bundle", "create", "--quiet", "-", "--all"]
      await streamGitOutput(runtime, { folder, args }, send)
      return true
    },
    importBundle: async (companyId, bundle, judge) => {
      await checkHookIsExecutable()
      const found = await of(companyId)
      // What a repository grew to push by push comes back at once.
      const settings = [["receive.maxInputSize", "0"]] as const
      return applyBundle({ ...found, settings }, bundle, await readRefs(found), judge)
    },
    maintain: async (companyId) => {
      const { runtime, folder } = await of(companyId)
      await removeStaleFiles(folder)
      await gitOutput(runtime, { folder, args: ["gc", "--quiet"], isWrite: true })
    },
    scrub: async (companyId, object) => scrub(await of(companyId), parseObjectId(object)),
    // Nothing of git is needed for these.
    sweep: () => sweepStaleFiles(options.codeDir),
    erase: (companyId) => erase(options.codeDir, companyId),
  }
}

type FindRepository = (companyId: CompanyId) => Promise<{
  readonly runtime: GitRuntime
  readonly folder: string
  readonly limits: GitSessionTimeouts
}>

function advertiseRefsWith(of: FindRepository): Repositories["advertiseRefs"] {
  let capabilities: Promise<Buffer> | null = null
  return async (companyId, service, protocol, send) => {
    const { runtime, folder } = await of(companyId)
    const env = protocolOf(protocol)
    const args = [commandOf(service), "--stateless-rpc", "--http-backend-info-refs", folder]
    // At most 5,000 refs: they fit, and no client that reads slowly keeps a git alive.
    const advertised = () => gitOutput(runtime, { folder, args, env })
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
    if (!isTold) await send(Buffer.concat([pktLine(`# service=${service}\n`), FLUSH_PACKET]))
    await send(await advertised())
  }
}

function uploadPackWith(of: FindRepository): Repositories["uploadPack"] {
  return async (conversation: GitSession) => {
    const { runtime, folder, limits } = await of(conversation.companyId)
    const args = ["upload-pack", "--stateless-rpc", folder]
    const running = startGit(runtime, { folder, args, env: protocolOf(conversation.protocol) })
    let isLeft = false
    const leave = () => {
      isLeft = true
      // It only reads: nothing is lost with it.
      running.kill()
    }
    const ended = await relaySession(running, conversation, limits, leave).catch(
      (error: unknown) => {
        const isNonsense = error instanceof GitFailed && PROTOCOL_ERRORS.test(error.message)
        throw isNonsense ? new InvalidGitRequest(error.message, { cause: error }) : error
      },
    )
    return ended.code === 0 || isLeft ? null : gitExitError({ args }, ended)
  }
}

/** What git says of a client that does not speak its protocol, in either version. */
const PROTOCOL_ERRORS =
  /protocol error|hung up unexpectedly|unknown capability|invalid command|no command requested|requested after already|unexpected line|expected flush|object format/

const commandOf = (service: PackCommand): string => service.slice("git-".length)

/** The protocol that a client speaks, as far as what it says of it is one. */
function protocolOf(protocol: string | null): { readonly GIT_PROTOCOL?: string } {
  const isOne = protocol !== null && /^version=[012](:[a-z0-9=:-]{0,200})?$/.test(protocol)
  return isOne ? { GIT_PROTOCOL: protocol } : {}
}

/** @throws GitUnavailable where there is no git that is new enough, or its folder cannot be made */
async function prepareRoot({ codeDir, sandbox }: GitOptions): Promise<RepositoriesRoot> {
  try {
    await mkdir(codeDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const { message } = error as Error
    throw new GitUnavailable(
      `the folder ${codeDir} cannot be made: name one in CODE_DIR that this user may make and write (${message})`,
    )
  }
  const folder = await realpath(codeDir)
  const env = gitEnvironment(folder)
  const version = await exec("git", ["--version"], { env }).catch((error: unknown) => {
    throw new GitUnavailable(`git cannot be run: ${String(error)}`)
  })
  const [, major = "", minor = ""] = /(\d+)\.(\d+)/.exec(version.stdout) ?? []
  if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 34)) {
    throw new GitUnavailable(`git ${major}.${minor} is too old: 2.34 or newer is needed`)
  }
  const trying = [...sandboxArguments([HOOKS_FOLDER], folder), "git", "--version"]
  const isSandboxed =
    sandbox !== "never" &&
    (await exec(SANDBOX_PROGRAM, trying, { env }).then(
      () => true,
      () => false,
    ))
  return { codeDir: folder, isSandboxed }
}

/** A hook that git cannot run is skipped by it: then nobody would be asked. @throws GitUnavailable */
async function checkHookIsExecutable(): Promise<void> {
  await access(join(HOOKS_FOLDER, "pre-receive"), constants.X_OK).catch((error: unknown) => {
    throw new GitUnavailable(`the hook of the repositories cannot be run: ${String(error)}`)
  })
}

const folderOf = (codeDir: string, companyId: CompanyId): string =>
  join(codeDir, repositoryFolderName(companyId))

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

async function create(place: RepositoriesRoot, companyId: CompanyId): Promise<void> {
  const folder = folderOf(place.codeDir, companyId)
  if (await exists(join(folder, "HEAD"))) return
  // Made beside it and put there at once: what is there is whole.
  const made = `${folder}.new-${randomUUID()}`
  await mkdir(made)
  const args = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", made]
  await gitOutput(place, { folder: made, args, isWrite: true })
  await writeFile(join(made, "config"), repositoryConfigFile())
  await mkdir(join(made, "info"), { recursive: true })
  await writeFile(join(made, "info", "attributes"), ARCHIVE_ATTRIBUTES)
  try {
    await rename(made, folder)
  } catch (error) {
    await rm(made, { recursive: true, force: true })
    // Somebody else has made it meanwhile.
    if (!(await exists(join(folder, "HEAD")))) throw error
  }
}

async function erase(codeDir: string, companyId: CompanyId): Promise<void> {
  const folder = folderOf(codeDir, companyId)
  const erased = `${folder}.erased`
  // What a crash left of an earlier time.
  await rm(erased, { recursive: true, force: true })
  if (!(await exists(folder))) return
  await rename(folder, erased)
  await rm(erased, { recursive: true, force: true })
}

/** @throws RangeError where it is no object's id, which git might take for an option or another name */
function parseObjectId(text: string): string {
  if (!/^[0-9a-f]{40}$/.test(text)) throw new RangeError(`${text} is no id of an object`)
  return text
}

/**
 * Takes a file's content, a folder, a commit or a tag out. Nobody may push meanwhile. @throws GitFailed
 *
 * What waits in a quarantine stays, which `git gc --prune=now` would take away under a push's feet.
 */
async function scrub({ runtime, folder }: RepositoryHandle, object: string): Promise<ScrubResult> {
  if ((await gitObjectType(runtime, folder, object)) === null) return { outcome: "missing" }
  const listing = { folder, args: ["rev-list", "--objects", "--all"] }
  for await (const line of gitOutputLines(runtime, listing)) {
    if (line.startsWith(object)) return { outcome: "reached", path: line.slice(object.length + 1) }
  }
  const objects = join(folder, "objects")
  // Git leaves packs beside such a file as they are: it guards a push whose refs are about to move, and
  // there is none now. So this one was left by who was killed.
  for (const name of (await listFileNames(join(objects, "pack"))).filter(isKeepFile)) {
    await rm(join(objects, "pack", name), { force: true })
  }
  const packing = ["repack", "-a", "-d", "-q"]
  await gitOutput(runtime, { folder, args: packing, isWrite: true })
  // All that is reached is packed by now: what lies alone beside packs is what `git gc` put there.
  for (const name of (await listFileNames(objects)).filter((one) => /^[0-9a-f]{2}$/.test(one))) {
    await rm(join(objects, name), { recursive: true, force: true })
  }
  if ((await gitObjectType(runtime, folder, object)) !== null) {
    throw new GitFailed(`${object} is in the repository still`)
  }
  return { outcome: "gone" }
}
