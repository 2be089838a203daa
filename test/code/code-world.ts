/** A world whose repositories are real ones, in a folder of its own; and git as a person has it. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Repositories } from "../../adapters/git/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { World, WorldOptions } from "../support/world.ts"
import { openWorld } from "../support/world.ts"

/** A world with repositories, and a folder for files. */
export interface CodeWorld {
  readonly world: World
  readonly folder: string
  readonly repositories: Repositories
  readonly close: () => Promise<void>
}

/** Opens one. */
export async function openCodeWorld(options: WorldOptions = {}): Promise<CodeWorld> {
  const folder = mkdtempSync(join(tmpdir(), "ledger-code-"))
  const settings = { ...options.settings, CODE_DIR: join(folder, "code") }
  const world = await openWorld("settings", { ...options, settings })
  return {
    world,
    folder,
    repositories: world.ports.repositories,
    close: async () => {
      await world.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Runs git in a folder, as somebody with a name; answers what it says. */
export function git(folder: string, ...args: readonly string[]): string {
  return gitWith({}, folder, args)
}

/** The same at a time: what is committed is then the same commit each time. */
export function gitAt(when: string, folder: string, ...args: readonly string[]): string {
  return gitWith({ GIT_AUTHOR_DATE: when, GIT_COMMITTER_DATE: when }, folder, args)
}

function gitWith(more: NodeJS.ProcessEnv, folder: string, args: readonly string[]): string {
  const env = {
    ...more,
    PATH: process.env["PATH"],
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TEST_FSYNC: "false",
    GIT_AUTHOR_NAME: "Ada",
    GIT_AUTHOR_EMAIL: "ada@example.com",
    GIT_COMMITTER_NAME: "Ada",
    GIT_COMMITTER_EMAIL: "ada@example.com",
  }
  return execFileSync("git", args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" }).trim()
}

/** A working copy with one commit on `main`. */
export function workingCopy(folder: string, files: Readonly<Record<string, string>>): string {
  const copy = mkdtempSync(join(folder, "copy-"))
  git(copy, "init", "-q", "--initial-branch=main")
  commit(copy, files)
  return copy
}

/** Commits files in a working copy; answers the commit. */
export function commit(copy: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(copy, name), text)
  git(copy, "add", "-A")
  git(copy, "commit", "-q", "-m", "more")
  return git(copy, "rev-parse", "HEAD")
}

/** All of a working copy as a bundle; answers its file. */
export function bundleOf(copy: string): string {
  const file = join(copy, "..", `${Math.random().toString(36).slice(2)}.bundle`)
  git(copy, "bundle", "create", "-q", file, "--all")
  return file
}

/** Has `repository export` send its file; answers that file. */
export async function exportedFrom(
  code: CodeWorld,
  companyId: CompanyId,
  input: object,
): Promise<string> {
  const found = PROGRAM.operations.find(({ name }) => name === "repository export")
  if (found === undefined) throw new Error("there is no such operation")
  const pieces: Uint8Array[] = []
  const cause = { command: "test", actor: "test", keyId: null, personId: null, reason: null }
  const context = {
    ports: code.world.ports,
    cause,
    progress: () => undefined,
    send: async (piece: string | Uint8Array) => void pieces.push(Buffer.from(piece as string)),
    signal: new AbortController().signal,
  }
  const given = found.input.parse({ company: companyId, ...input })
  await found.run(context, given)
  const file = join(code.folder, `${companyId}.out`)
  writeFileSync(file, Buffer.concat(pieces))
  return file
}
