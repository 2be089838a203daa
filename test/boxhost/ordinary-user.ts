/** A program of an ordinary user, who may not mount, make groups, or be another. */
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { absent, isRoot } from "./machine.ts"

/** A user that is nobody else's. */
const UID = 1_999_990

/** Why there can be none here; null where there can. */
export const noOrdinary: string | null =
  absent ?? (isRoot ? null : "the other tests run as an ordinary user already")

const PROJECT = join(import.meta.dirname, "../..")

interface Answer {
  readonly number: number
  readonly answered?: unknown
  readonly failed?: string
}

/** The program, and the folders that it has. */
export interface Ordinary {
  readonly folder: string
  readonly runDir: string
  readonly ask: <T>(what: string, more?: object) => Promise<T>
  readonly close: () => void
}

/**
 * Sees the project, which may lie where only root looks, and a device to make networks with, which
 * others may not use on some machines; then it is an ordinary user for good.
 */
const BECOME =
  'mount --bind "$1" "$2" && if [ -e "$3" ]; then mount --bind "$3" /dev/net/tun; fi && cd "$2" && ' +
  'exec setpriv --reuid "$4" --regid "$4" --clear-groups --inh-caps=-all "$5" "$7" "$6"'

/** Runs a program of the project as an ordinary user, who is given a run folder. */
export async function ordinaryProgram(script: string): Promise<Ordinary> {
  const folder = mkdtempSync(join(tmpdir(), "user-"))
  chmodSync(folder, 0o755)
  const [project, tun, runDir] = [join(folder, "project"), join(folder, "tun"), join(folder, "run")]
  for (const path of [project, runDir]) mkdirSync(path)
  chownSync(runDir, UID, UID)
  const made = spawn("mknod", ["-m", "666", tun, "c", "10", "200"], { stdio: "ignore" })
  await new Promise((resolve) => made.once("exit", resolve))
  const node = join("node_modules", process.execPath.split("/node_modules/").at(-1) ?? "")
  const words = [PROJECT, project, tun, String(UID), node, runDir, script]
  const program: ChildProcess = spawn("unshare", ["-m", "sh", "-c", BECOME, "sh", ...words], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { PATH: process.env["PATH"] },
  })
  const answers = new Map<number, (message: Answer) => void>()
  const uid = await new Promise((resolve, reject) => {
    answers.set(0, ({ answered }) => resolve(answered))
    program.once("exit", () => reject(new Error("the ordinary user's program ended")))
    program.on("message", (message: Answer) => answers.get(message.number)?.(message))
  })
  if (uid !== UID) throw new Error(`the ordinary user is ${String(uid)}`)
  let asked = 0
  return {
    folder,
    runDir,
    ask: <T>(what: string, more: object = {}) => {
      const { promise, reject, resolve } = Promise.withResolvers<T>()
      asked += 1
      answers.set(asked, ({ answered, failed }) => {
        if (failed === undefined) resolve(answered as T)
        else reject(new Error(failed))
      })
      program.send({ timeoutMs: 20_000, ...more, number: asked, what })
      return promise
    },
    close: () => {
      program.disconnect()
      rmSync(folder, { recursive: true })
    },
  }
}
