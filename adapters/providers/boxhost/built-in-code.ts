/** Git in a built-in box: the scripts of `code-scripts.ts` played over its files. */
import { posix } from "node:path"
import type { Command, FixedScript, MemoryCode, MemoryObject } from "./built-in-command.ts"
import { inputOf } from "./built-in-command.ts"
import { inFolder, makeFolder, putFile } from "./built-in-files.ts"
import { idOf, objectsIn, packOf } from "./built-in-pack.ts"
import { BRING, DROP, PACK, PIECE, RECORD } from "./code-scripts.ts"
import { WORKSPACE } from "./port.ts"

const FATAL = 128

function fail({ err }: Command, says: string): number {
  err(Buffer.from(`fatal: ${says}\n`))
  return FATAL
}

const bring: FixedScript = async (command, [branch = "", tip = ""]) => {
  const { code } = command
  const pack = await inputOf(command)
  if (code.branch !== null) return 0
  if (tip !== "") {
    try {
      for (const [id, object] of objectsIn(pack)) code.objects.set(id, object)
    } catch (error) {
      return fail(command, String(error))
    }
    const commit = code.objects.get(tip)
    if (commit?.type !== "commit") return fail(command, `${tip} is no commit`)
    checkOut(command, treeIn(commit), WORKSPACE)
    code.tip = tip
  }
  code.branch = branch
  return 0
}

interface TreeEntry {
  readonly mode: string
  readonly name: string
  readonly id: string
}

const treeIn = ({ bytes }: MemoryObject): string => bytes.toString("latin1", 5, 45)

/** The commits before one. */
function parentsIn({ bytes }: MemoryObject): readonly string[] {
  const [head = ""] = bytes.toString("utf8").split("\n\n", 1)
  return [...head.matchAll(/^parent (.{40})$/gm)].flatMap(([, id]) => id ?? [])
}

/** The entries of a tree: `<mode> <name>\0<20 bytes>`, one behind the other. */
function entriesIn(tree: Buffer): readonly TreeEntry[] {
  const entries: TreeEntry[] = []
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at)
    const end = tree.indexOf(0, space)
    const [mode, name] = [tree.toString("latin1", at, space), tree.toString("utf8", space + 1, end)]
    entries.push({ mode, name, id: tree.toString("hex", end + 1, end + 21) })
    at = end + 21
  }
  return entries
}

function checkOut(command: Command, tree: string, folder: string): void {
  const { files, code, now } = command
  const at = now()
  makeFolder(files, folder, at)
  for (const { mode, name, id } of entriesIn(code.objects.get(tree)?.bytes ?? Buffer.alloc(0))) {
    const path = posix.join(folder, name)
    const object = code.objects.get(id)
    if (object?.type === "tree") checkOut(command, id, path)
    else if (object?.type === "blob") {
      const isExecutable = mode === "100755"
      files.set(path, { type: "file", bytes: object.bytes, isExecutable, modifiedAt: at })
    }
  }
}

const record: FixedScript = async (command, [branch = "", message = ""]) => {
  const { code, environment, now, out } = command
  if (code.branch !== branch) return fail(command, `the branch ${branch} is not checked out`)
  const tree = writeTree(command, WORKSPACE)
  const known = code.tip === null ? undefined : code.objects.get(code.tip)
  if (known === undefined && tree === EMPTY_TREE) return 0
  if (known === undefined || treeIn(known) !== tree) {
    const at = Math.floor(now() / 1_000)
    const who = (role: "AUTHOR" | "COMMITTER") =>
      `${environment[`GIT_${role}_NAME`]} <${environment[`GIT_${role}_EMAIL`]}> ${at} +0000`
    const lines = [
      ...[`tree ${tree}`, ...(code.tip === null ? [] : [`parent ${code.tip}`])],
      ...[`author ${who("AUTHOR")}`, `committer ${who("COMMITTER")}`, "", `${message}\n`],
    ]
    code.tip = keep(code, "commit", Buffer.from(lines.join("\n")))
  }
  out(Buffer.from(`${code.tip}\n`))
  return 0
}

const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

function keep({ objects }: MemoryCode, type: MemoryObject["type"], bytes: Buffer): string {
  const object = { type, bytes }
  const id = idOf(object)
  objects.set(id, object)
  return id
}

/** Makes the tree of a folder; folders without a file are in none. */
function writeTree(command: Pick<Command, "files" | "code">, folder: string): string {
  const { files, code } = command
  const entries: (TreeEntry & { readonly key: Buffer })[] = []
  for (const [name, { type, bytes, isExecutable }] of inFolder(files, folder)) {
    if (type === "file") {
      const mode = isExecutable ? "100755" : "100644"
      entries.push({ mode, name, id: keep(code, "blob", bytes), key: Buffer.from(name) })
      continue
    }
    const id = writeTree(command, posix.join(folder, name))
    // Git sorts folders as if their names ended in a slash.
    if (id !== EMPTY_TREE) entries.push({ mode: "40000", name, id, key: Buffer.from(`${name}/`) })
  }
  const rows = entries
    .toSorted((a, b) => Buffer.compare(a.key, b.key))
    .flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")])
  return keep(code, "tree", Buffer.concat(rows))
}

/** Everything that a commit reaches. */
function reachedBy({ objects }: MemoryCode, commit: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const left = [commit]
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    const object = objects.get(id)
    if (object === undefined || reached.has(id)) continue
    reached.add(id)
    if (object.type === "commit") left.push(treeIn(object), ...parentsIn(object))
    if (object.type === "tree") left.push(...entriesIn(object.bytes).map((entry) => entry.id))
  }
  return reached
}

const pack: FixedScript = async (command, [tip = "", base = ""]) => {
  const { code, files, now, out } = command
  if (base !== "" && !code.objects.has(base)) return fail(command, `bad object ${base}`)
  const before = reachedBy(code, base)
  const fresh = [...reachedBy(code, tip)].filter((id) => !before.has(id))
  const bytes = packOf(fresh.flatMap((id) => code.objects.get(id) ?? []))
  const path = `/tmp/${tip}.pack`
  putFile(files, path, bytes, now())
  out(Buffer.from(`${bytes.length} ${path}`))
  return 0
}

const piece: FixedScript = async ({ files, out }, [path = "", from, most]) => {
  const found = files.get(path)
  if (found === undefined) return 1
  out(found.bytes.subarray(Number(from), Number(from) + Number(most)))
  return 0
}

const drop: FixedScript = async ({ files }, [path = ""]) => {
  files.delete(path)
  return 0
}

/** The scripts of code, by their text. */
export const CODE_SCRIPTS: readonly (readonly [script: string, played: FixedScript])[] = [
  [BRING, bring],
  [RECORD, record],
  [PACK, pack],
  [PIECE, piece],
  [DROP, drop],
]
