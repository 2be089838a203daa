/** Readers of the deployment files. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { listSettings } from "../../src/bootstrap/settings/config.ts"
import { ROOT } from "../conventions/source-tree.ts"

// Each test asserts the shape that it expects.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type YamlDocument = any

/** Reads a file of the project. */
export const projectText = (path: string): string => readFileSync(join(ROOT, path), "utf8")

/** Whether a file or folder exists in the project. */
export const hasProjectPath = (path: string): boolean => existsSync(join(ROOT, path))

/** Parses a file with one YAML document, including merge keys. */
export const yamlDocumentOf = (path: string): YamlDocument =>
  parse(projectText(path), { merge: true, version: "1.2" }) as unknown

/** Parses a file with several YAML documents. @throws if one is invalid */
export function yamlDocumentsOf(path: string): readonly YamlDocument[] {
  return parseAllDocuments(projectText(path)).map((document) => {
    if ("errors" in document && document.errors.length > 0) throw document.errors[0]
    return (document as { toJS: () => unknown }).toJS()
  })
}

export const PACKAGE_MANIFEST = JSON.parse(projectText("package.json")) as {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** The names of all settings. */
export const SETTING_NAMES: ReadonlySet<string> = new Set(listSettings({}).map(({ name }) => name))

export interface DockerInstruction {
  readonly keyword: string
  readonly rest: string
}

/** The instructions of a Dockerfile by stage; each stage begins with its FROM. */
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

/** The arguments of all instructions of a kind in a stage. */
export const instructionArguments = (
  stage: readonly DockerInstruction[],
  word: string,
): readonly string[] => stage.filter((one) => one.keyword === word).map(({ rest }) => rest)

/** Replaces each `${NAME:-default}` by its default. */
export const resolveDefaults = (text: string): string =>
  text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1")
