/** The few words of a shell that the built-in boxes know. */
import type { Command, FixedScript } from "./built-in-command.ts"
import { inputOf } from "./built-in-command.ts"
import { FILE_SCRIPTS, inFolder, isFolder, makeFolder, pathIn, putFile } from "./built-in-files.ts"
import { CODE_SCRIPTS } from "./built-in-code.ts"
import { SHELL } from "./bubblewrap/keeper/shell.ts"
import { posix } from "node:path"

const shell: FixedScript = (command, [text = ""]) => playText(command, text)

const FIXED = new Map<string, FixedScript>([...FILE_SCRIPTS, ...CODE_SCRIPTS, [SHELL, shell]])

/** Plays a command; answers its exit code. @throws Ended where it was ended */
export async function play(command: Command): Promise<number> {
  const [program = "", flag = "", script = "", , ...args] = command.argv
  if (!/^(?:ba)?sh$/.test(posix.basename(program))) return playProgram(command, command.argv)
  if (!/^-l?c$/.test(flag)) return refuse(command, 2, "only -c is known here")
  const fixed = FIXED.get(script)
  return fixed === undefined ? playText(command, script) : fixed(command, args)
}

interface Step {
  /** What stands before it. */
  readonly after: string
  readonly words: readonly string[]
  /** The file that its output goes to, where it does. */
  readonly to: { readonly path: string; readonly isAdded: boolean } | null
}

async function playText(command: Command, text: string): Promise<number> {
  const steps = stepsIn(text, command.environment)
  if (typeof steps === "string") return refuse(command, 2, `"${steps}" is not known here`)
  let code = 0
  for (const { after, words, to } of steps) {
    const [program, status = String(code)] = words
    if ((after === "&&" && code !== 0) || (after === "||" && code === 0)) continue
    if (program === "exit") return Number(status) & 255
    code = to === null ? await playProgram(command, words) : await playInto(command, words, to)
  }
  return code
}

/** Plays a program whose output goes to a file. */
async function playInto(
  command: Command,
  words: readonly string[],
  { path, isAdded }: NonNullable<Step["to"]>,
): Promise<number> {
  const { files, cwd, now } = command
  const whole = pathIn(cwd, path)
  if (isFolder(files, whole) || !isFolder(files, posix.dirname(whole))) {
    return refuse(command, 2, `cannot create ${path}`)
  }
  const pieces: Uint8Array[] = isAdded ? [files.get(whole)?.bytes ?? Buffer.alloc(0)] : []
  const out = (bytes: Uint8Array) => {
    pieces.push(bytes)
  }
  const code = await playProgram({ ...command, out }, words)
  putFile(files, whole, Buffer.concat(pieces), now())
  return code
}

function refuse({ err }: Command, code: number, says: string): number {
  err(Buffer.from(`sh: ${says}\n`))
  return code
}

/** The steps of a script; else the first character that is not known. */
function stepsIn(text: string, environment: Command["environment"]): readonly Step[] | string {
  const steps: Step[] = []
  let [after, into, words]: [string, string, string[]] = [";", "", []]
  let to: Step["to"] = null
  const end = (next: string) => {
    if (words.length > 0) steps.push({ after, words, to })
    ;[after, into, words, to] = [next, "", [], null]
  }
  const tokens = /[ \t]*(?:(&&|\|\||>>|[;\n>])|((?:'[^']*'|"[^"]*"|\\.|[^\s;&|<>"'\\`()])+)|(\S))/gs
  for (const [, sign, word, other] of text.matchAll(tokens)) {
    if (other !== undefined) return other
    if (sign?.startsWith(">") === true) into = sign
    else if (sign !== undefined) end(sign)
    else if (word !== undefined) {
      const plain = plainOf(word, environment)
      if (into === "") words.push(plain)
      else to = { path: plain, isAdded: into === ">>" }
      into = ""
    }
  }
  end(";")
  return steps
}

/** A word without its quotes, with the values of its variables. */
function plainOf(word: string, environment: Command["environment"]): string {
  const filled = (text: string) =>
    text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_all, a?: string, b?: string) => {
      return environment[a ?? b ?? ""] ?? ""
    })
  const parts = /'([^']*)'|"([^"]*)"|\\(.)|([^'"\\]+)/gs
  return word.replaceAll(
    parts,
    (_all, single?: string, double?: string, escaped?: string, plain?: string) =>
      single ?? escaped ?? filled(double ?? plain ?? ""),
  )
}

type Program = (command: Command, args: readonly string[]) => Promise<number>

const SERVING = "Serving on port"

const PROGRAMS: Readonly<Record<string, Program>> = {
  true: async () => 0,
  false: async () => 1,
  pwd: async ({ out, cwd }) => say(out, `${cwd}\n`),
  echo: async ({ out }, args) => say(out, `${args.join(" ")}\n`),
  // Only `\NNN`: a byte by its octal digits.
  printf: async ({ out }, [format = ""]) => {
    const bytes = format.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 8)),
    )
    out(Buffer.from(bytes, "latin1"))
    return 0
  },
  sleep: async ({ pause, err }, [seconds]) => {
    const ms = seconds === "infinity" ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000
    if (!(ms >= 0)) return say(err, `sleep: ${seconds}: no time\n`, 1)
    await pause(ms)
    return 0
  },
  cat: async (command, paths) => {
    if (paths.length === 0) command.out(await inputOf(command))
    for (const path of paths) {
      const found = command.files.get(pathIn(command.cwd, path))
      if (found?.type !== "file") return say(command.err, `cat: ${path}: no such file\n`, 1)
      command.out(found.bytes)
    }
    return 0
  },
  ls: async (command, [path = "."]) => {
    const folder = pathIn(command.cwd, path)
    if (!isFolder(command.files, folder)) return say(command.err, `ls: ${path}: no folder\n`, 2)
    const names = [...inFolder(command.files, folder)].map(([name]) => name)
    const shown = names.filter((name) => !name.startsWith(".")).toSorted()
    return say(command.out, shown.map((name) => `${name}\n`).join(""))
  },
  mkdir: async ({ files, cwd, now }, paths) => {
    for (const path of paths.filter((one) => one !== "-p")) {
      if (!makeFolder(files, pathIn(cwd, path), now())) return 1
    }
    return 0
  },
  serve: async (command, [port]) => {
    command.listen(Number(port))
    say(command.out, `${SERVING} ${port}\n`)
    await command.pause(Number.POSITIVE_INFINITY)
    return 0
  },
}

function say(to: Command["out"], text: string, code = 0): number {
  to(Buffer.from(text))
  return code
}

async function playProgram(command: Command, words: readonly string[]): Promise<number> {
  const [name = "", ...args] = words
  const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined
  return program === undefined ? refuse(command, 127, `${name}: not found`) : program(command, args)
}
