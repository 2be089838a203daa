/** The files that the program is deployed by, read for what they name. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { listSettings } from "../../src/bootstrap/settings/config.ts"
import { ROOT } from "../tidy/tree.ts"

// A test says what it expects of a document.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Document = any

/** A file of the project. */
export const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8")

/** Whether there is such a file or folder. */
export const isThere = (path: string): boolean => existsSync(join(ROOT, path))

/** A file of one YAML document, with what it merges. */
export const documentOf = (path: string): Document =>
  parse(textOf(path), { merge: true, version: "1.2" }) as unknown

/** A file of several. @throws where one cannot be read */
export function documentsOf(path: string): readonly Document[] {
  return parseAllDocuments(textOf(path)).map((document) => {
    if ("errors" in document && document.errors.length > 0) throw document.errors[0]
    return (document as { toJS: () => unknown }).toJS()
  })
}

/** The release, as package.json says. */
export const MANIFEST = JSON.parse(textOf("package.json")) as {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** The names of all settings. */
export const SETTINGS: ReadonlySet<string> = new Set(listSettings({}).map(({ name }) => name))

/** One instruction of a Dockerfile. */
export interface Instruction {
  readonly word: string
  readonly rest: string
}

/** The instructions of the Dockerfile, by stages; each begins with its FROM. */
export function stagesOf(path: string): readonly (readonly Instruction[])[] {
  const lines = textOf(path)
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() !== "")
  const stages: Instruction[][] = []
  for (const line of lines) {
    const [, word = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (word === "FROM") stages.push([])
    stages.at(-1)?.push({ word, rest: rest.replaceAll(/\s+/g, " ") })
  }
  return stages
}

/** What follows a word in a stage. */
export const saidOf = (stage: readonly Instruction[], word: string): readonly string[] =>
  stage.filter((one) => one.word === word).map(({ rest }) => rest)

/** A text in which `${NAME:-default}` stands for its default. */
export const byDefault = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1")
