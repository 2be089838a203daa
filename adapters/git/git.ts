/** Repositories as subfolders of one folder, served by the machine's git. */
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

export interface GitOptions {
  /** The folder of the repositories; created if missing. */
  readonly codeDir: string
  readonly timeouts?: GitSessionTimeouts
  /** Default: use the sandbox if the machine supports it. */
  readonly sandbox?: "never"
}

/** The folder of the repositories and how git runs. */
interface RepositoriesRoot extends GitRuntime {
  /** Absolute and without symbolic links: git compares folder names literally. */
  readonly codeDir: string
}

/**
 * Opens the repositories; git is checked on the first call. Calls throw RepositoryNotFound,
 * GitUnavailable and GitFailed, as the port says.
 */
export function openGit(options: GitOptions): Repositories {
  const { timeouts = DEFAULT_SESSION_TIMEOUTS } = options
  let opened: Promise<RepositoriesRoot> | null = null
  const root = (): Promise<RepositoriesRoot> => {
    // Retried on the next call, in case the problem was fixed.
    opened ??= prepareRoot(options).catch((error: unknown) => {
      opened = null
      throw error
    })
    return opened
  }
  const findRepository = async (companyId: CompanyId) => {
    const runtime = await root()
    const folder = folderOf(runtime.codeDir, companyId)
    if (!(await exists(join(folder, "HEAD"))))
      throw new RepositoryNotFound(`${companyId} has no repository`)
    return { runtime, folder, timeouts }
  }
  const serve = {
    advertiseRefs: advertiseRefsWith(findRepository),
    uploadPack: uploadPackWith(findRepository),
  }
  return {
    ...serve,
    create: async (companyId) => create(await root(), companyId),
    has: async (companyId) => exists(join(folderOf((await root()).codeDir, companyId), "HEAD")),
    receivePush: async (session, judge) => {
      await checkHookIsExecutable()
      const env = protocolOf(session.protocol)
      await runReceivePack({ ...(await findRepository(session.companyId)), env }, session, judge)
    },
    applyPack: async (pack, judge) => {
      await checkHookIsExecutable()
      return applyPack(await findRepository(pack.companyId), pack, judge)
    },
    packCommit: async (companyId, commit) =>
      streamPack(await findRepository(companyId), parseObjectId(commit)),
    listRefs: async (companyId) => readRefs(await findRepository(companyId)),
    readHead: async (companyId) => readHead(await findRepository(companyId)),
    setHead: async (companyId, ref) => writeHead(await findRepository(companyId), ref),
    readFile: async (companyId, commit, path, mostBytes) =>
      readFileAt(await findRepository(companyId), commit, path, mostBytes),
    isReachable: async (companyId, commit) => isReachable(await findRepository(companyId), commit),
    archive: async (companyId, commit, format, send) => {
      const { runtime, folder } = await findRepository(companyId)
      const args = ["archive", `--format=${format}`, parseObjectId(commit)]
      await streamGitOutput(runtime, { folder, args }, send)
    },
    bundle: async (companyId, send) => {
      const { runtime, folder } = await findRepository(companyId)
      if (!(await hasRefs({ runtime, folder }))) return false
      const args = ["bundle", "create", "--quiet", "-", "--all"]
      await streamGitOutput(runtime, { folder, args }, send)
      return true
    },
    importBundle: async (companyId, bundle, judge) => {
      await checkHookIsExecutable()
      const found = await findRepository(companyId)
      // A bundle contains what many pushes brought, so it may be larger than one push.
      const settings = [["receive.maxInputSize", "0"]] as const
      return applyBundle({ ...found, settings }, bundle, await readRefs(found), judge)
    },
    maintain: async (companyId) => {
      const { runtime, folder } = await findRepository(companyId)
      await removeStaleFiles(folder)
      await gitOutput(runtime, { folder, args: ["gc", "--quiet"], isWrite: true })
    },
    scrub: async (companyId, object) =>
      scrub(await findRepository(companyId), parseObjectId(object)),
    // These need no git process.
    sweep: () => sweepStaleFiles(options.codeDir),
    erase: (companyId) => erase(options.codeDir, companyId),
  }
}

type FindRepository = (companyId: CompanyId) => Promise<{
  readonly runtime: GitRuntime
  readonly folder: string
  readonly timeouts: GitSessionTimeouts
}>

function advertiseRefsWith(findRepository: FindRepository): Repositories["advertiseRefs"] {
  let capabilities: Promise<Buffer> | null = null
  return async (companyId, service, protocol, send) => {
    const { runtime, folder } = await findRepository(companyId)
    const env = protocolOf(protocol)
    const args = [commandOf(service), "--stateless-rpc", "--http-backend-info-refs", folder]
    // At most 5,000 refs fit in memory, and a slow client cannot keep a git process alive.
    const advertised = () => gitOutput(runtime, { folder, args, env })
    if (service === "git-upload-pack" && env.GIT_PROTOCOL === "version=2") {
      // The answer for protocol 2 lists git's capabilities and nothing of this repository. Caching
      // it saves one of a clone's three processes.
      capabilities ??= advertised().catch((error: unknown) => {
        capabilities = null
        throw error
      })
      return send(await capabilities)
    }
    // In protocol 2 git itself names the service.
    const includesService =
      service === "git-upload-pack" && /^version=2\b/.test(env.GIT_PROTOCOL ?? "")
    if (!includesService)
      await send(Buffer.concat([pktLine(`# service=${service}\n`), FLUSH_PACKET]))
    await send(await advertised())
  }
}

function uploadPackWith(findRepository: FindRepository): Repositories["uploadPack"] {
  return async (session: GitSession) => {
    const { runtime, folder, timeouts } = await findRepository(session.companyId)
    const args = ["upload-pack", "--stateless-rpc", folder]
    const running = startGit(runtime, { folder, args, env: protocolOf(session.protocol) })
    let hasLeft = false
    const leave = () => {
      hasLeft = true
      // It only reads, so killing it loses nothing.
      running.kill()
    }
    const ended = await relaySession(running, session, timeouts, leave).catch((error: unknown) => {
      const isProtocolError = error instanceof GitFailed && PROTOCOL_ERRORS.test(error.message)
      throw isProtocolError ? new InvalidGitRequest(error.message, { cause: error }) : error
    })
    return ended.code === 0 || hasLeft ? null : gitExitError({ args }, ended)
  }
}

/** Git's errors for clients that violate the protocol, in either version. */
const PROTOCOL_ERRORS =
  /protocol error|hung up unexpectedly|unknown capability|invalid command|no command requested|requested after already|unexpected line|expected flush|object format/

const commandOf = (service: PackCommand): string => service.slice("git-".length)

/** The client's protocol, if the header is valid. */
function protocolOf(protocol: string | null): { readonly GIT_PROTOCOL?: string } {
  const isValid = protocol !== null && /^version=[012](:[a-z0-9=:-]{0,200})?$/.test(protocol)
  return isValid ? { GIT_PROTOCOL: protocol } : {}
}

/** @throws GitUnavailable if git is missing or too old, or the folder cannot be created */
async function prepareRoot({ codeDir, sandbox }: GitOptions): Promise<RepositoriesRoot> {
  try {
    await mkdir(codeDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const { message } = error as Error
    throw new GitUnavailable(
      `the folder ${codeDir} cannot be created; set CODE_DIR to a folder that this user may create and write (${message})`,
    )
  }
  const folder = await realpath(codeDir)
  const env = gitEnvironment(folder)
  const version = await exec("git", ["--version"], { env }).catch((error: unknown) => {
    throw new GitUnavailable(`git cannot be run; install git 2.34 or newer: ${String(error)}`)
  })
  const [, major = "", minor = ""] = /(\d+)\.(\d+)/.exec(version.stdout) ?? []
  if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 34)) {
    throw new GitUnavailable(`git ${major}.${minor} is too old; install 2.34 or newer`)
  }
  const testArguments = [...sandboxArguments([HOOKS_FOLDER], folder), "git", "--version"]
  const isSandboxed =
    sandbox !== "never" &&
    (await exec(SANDBOX_PROGRAM, testArguments, { env }).then(
      () => true,
      () => false,
    ))
  return { codeDir: folder, isSandboxed }
}

/**
 * Git skips a hook that is not executable, and pushes would not be checked. @throws GitUnavailable
 */
async function checkHookIsExecutable(): Promise<void> {
  await access(join(HOOKS_FOLDER, "pre-receive"), constants.X_OK).catch((error: unknown) => {
    throw new GitUnavailable(
      `the git hook adapters/git/hooks/pre-receive is not executable; set its executable bit: ${String(error)}`,
    )
  })
}

const folderOf = (codeDir: string, companyId: CompanyId): string =>
  join(codeDir, repositoryFolderName(companyId))

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

async function create(root: RepositoriesRoot, companyId: CompanyId): Promise<void> {
  const folder = folderOf(root.codeDir, companyId)
  if (await exists(join(folder, "HEAD"))) return
  // Created under a temporary name and renamed, so that an existing repository is complete.
  const temporary = `${folder}.new-${randomUUID()}`
  await mkdir(temporary)
  const args = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", temporary]
  await gitOutput(root, { folder: temporary, args, isWrite: true })
  await writeFile(join(temporary, "config"), repositoryConfigFile())
  await mkdir(join(temporary, "info"), { recursive: true })
  await writeFile(join(temporary, "info", "attributes"), ARCHIVE_ATTRIBUTES)
  try {
    await rename(temporary, folder)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    // Another process has created it meanwhile.
    if (!(await exists(join(folder, "HEAD")))) throw error
  }
}

async function erase(codeDir: string, companyId: CompanyId): Promise<void> {
  const folder = folderOf(codeDir, companyId)
  const erased = `${folder}.erased`
  // Left over from a crash.
  await rm(erased, { recursive: true, force: true })
  if (!(await exists(folder))) return
  await rename(folder, erased)
  await rm(erased, { recursive: true, force: true })
}

/** @throws RangeError if the text is not an object id; git could take it for an option or a name */
function parseObjectId(text: string): string {
  if (!/^[0-9a-f]{40}$/.test(text))
    throw new RangeError(`${text} is not an object id of 40 hexadecimal digits`)
  return text
}

/**
 * Removes an object of any type; no push may run meanwhile. Quarantines stay, unlike with `git gc
 * --prune=now`, which would remove them during a push. @throws GitFailed
 */
async function scrub({ runtime, folder }: RepositoryHandle, object: string): Promise<ScrubResult> {
  if ((await gitObjectType(runtime, folder, object)) === null) return { outcome: "missing" }
  const listing = { folder, args: ["rev-list", "--objects", "--all"] }
  for await (const line of gitOutputLines(runtime, listing)) {
    if (line.startsWith(object))
      return { outcome: "reachable", path: line.slice(object.length + 1) }
  }
  const objects = join(folder, "objects")
  // Git does not repack packs with a keep file, which protects a push while its refs move. No push
  // runs now, so these files were left by killed processes.
  for (const name of (await listFileNames(join(objects, "pack"))).filter(isKeepFile)) {
    await rm(join(objects, "pack", name), { force: true })
  }
  const packing = ["repack", "-a", "-d", "-q"]
  await gitOutput(runtime, { folder, args: packing, isWrite: true })
  // All reachable objects are packed now; loose objects are unreachable ones that `git gc`
  // unpacked.
  for (const name of (await listFileNames(objects)).filter((one) => /^[0-9a-f]{2}$/.test(one))) {
    await rm(join(objects, name), { recursive: true, force: true })
  }
  if ((await gitObjectType(runtime, folder, object)) !== null) {
    throw new GitFailed(`${object} is still in the repository after repacking`)
  }
  return { outcome: "removed" }
}
