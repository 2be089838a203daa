/** The files that the program is deployed by, read for what they name. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { listSettings } from "../../src/bootstrap/settings/config.ts"
import { ROOT } from "../conventions/source-tree.ts"

// A test says what it expects of a document.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type YamlDocument = any

/** A file of the project. */
export const projectText = (path: string): string => readFileSync(join(ROOT, path), "utf8")

/** Whether there is such a file or folder. */
export const hasProjectPath = (path: string): boolean => existsSync(join(ROOT, path))

/** A file of one YAML document, with what it merges. */
export const yamlDocumentOf = (path: string): YamlDocument =>
  parse(projectText(path), { merge: true, version: "1.2" }) as unknown

/** A file of several. @throws where one cannot be read */
export function yamlDocumentsOf(path: string): readonly YamlDocument[] {
  return parseAllDocuments(projectText(path)).map((document) => {
    if ("errors" in document && document.errors.length > 0) throw document.errors[0]
    return (document as { toJS: () => unknown }).toJS()
  })
}

/** The release, as package.json says. */
export const PACKAGE_MANIFEST = JSON.parse(projectText("package.json")) as {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** The names of all settings. */
export const SETTING_NAMES: ReadonlySet<string> = new Set(listSettings({}).map(({ name }) => name))

/** One instruction of a Dockerfile. */
export interface DockerInstruction {
  readonly keyword: string
  readonly rest: string
}

/** The instructions of the Dockerfile, by stages; each begins with its FROM. */
export function dockerStagesOf(path: string): readonly (readonly DockerInstruction[])[] {
  const lines = projectText(path)
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() !== "")
  const stages: DockerInstruction[][] = []
  for (const line of lines) {
    const [, keyword = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (keyword === "FROM") stages.push([])
    stages.at(-1)?.push({ keyword, rest: rest.replaceAll(/\s+/g, " ") })
  }
  return stages
}

/** What follows a word in a stage. */
export const instructionArguments = (
  stage: readonly DockerInstruction[],
  word: string,
): readonly string[] => stage.filter((one) => one.keyword === word).map(({ rest }) => rest)

/** A text in which `${NAME:-default}` stands for its default. */
export const resolveDefaults = (text: string): string =>
  text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1")
