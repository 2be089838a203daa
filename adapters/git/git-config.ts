/** What git is told to do in every repository, whatever stands in the machine's own settings. */
import { resolve } from "node:path"

/** The folder of the one hook. */
export const HOOKS_FOLDER = resolve(import.meta.dirname, "hooks")

const MAX_PACK_BYTES = 512 * 1024 * 1024

/**
 * So much memory git takes at once, at most. A few hundred bytes of a pack can stand for a file of any size
 * (a difference that copies the same piece over and over), which git would make in memory; files as large
 * as a push may have are read piece by piece, or fit.
 */
const MAX_ALLOCATION = "320m"

/** A setting of git, by its name. */
type GitSetting = readonly [name: string, value: string]

/** In their order: of the hidden refs the last word that fits counts. */
const GIT_SETTINGS: readonly GitSetting[] = [
  ["core.hooksPath", HOOKS_FOLDER],
  // A ref below refs/replace that stands for itself makes every command fail.
  ["core.useReplaceRefs", "false"],
  // The default flushes no loose objects to the disk.
  ["core.fsync", "objects,derived-metadata,reference"],
  ["core.bigFileThreshold", "1m"],
  ["transfer.fsckObjects", "true"],
  // What is pushed stays a pack, and its quarantine lists what it brought.
  ["transfer.unpackLimit", "1"],
  ["transfer.hideRefs", "refs/"],
  ["transfer.hideRefs", "!refs/heads"],
  ["transfer.hideRefs", "!refs/tags"],
  ["receive.maxInputSize", String(MAX_PACK_BYTES)],
  ["receive.denyDeleteCurrent", "true"],
  ["receive.denyNonFastForwards", "false"],
  ["receive.autogc", "false"],
  ["receive.advertisePushOptions", "false"],
  ["gc.auto", "0"],
  ["uploadpack.allowFilter", "true"],
  // Protocols 0 and 1 ask for the objects of a partial clone by their ids, as protocol 2 does without it.
  ["uploadpack.allowReachableSHA1InWant", "true"],
  ["pack.threads", "1"],
  ["pack.windowMemory", "64m"],
]

/** The file `info/attributes`: an archive has every file, as it was committed. */
export const ARCHIVE_ATTRIBUTES = "* -export-ignore -export-subst\n"

/** The settings as a repository's own file has them: for a git that somebody else runs there. */
export function repositoryConfigFile(): string {
  const own: readonly GitSetting[] = [
    ["core.repositoryFormatVersion", "0"],
    ["core.bare", "true"],
    ...GIT_SETTINGS,
  ]
  return own
    .map(([name, value]) => {
      const [section = "", key = ""] = name.split(".")
      return `[${section}]\n\t${key} = "${value.replaceAll(/["\\]/g, "\\$&")}"\n`
    })
    .join("")
}

/** Tests lose no power: their machine need not wait for its disk. Elsewhere nobody may leave that out. */
const FSYNC_OVERRIDE: Readonly<Record<string, string>> =
  process.env["NODE_ENV"] === "test" && process.env["TEST_FSYNC"] !== "on"
    ? { GIT_TEST_FSYNC: "false" }
    : {}

/**
 * The environment of a git, from nothing: no settings of the machine or of a person, and no folder of
 * another owner is refused but by us.
 */
export function gitEnvironment(
  folder: string,
  more: readonly GitSetting[] = [],
): Readonly<Record<string, string>> {
  const settings = [...GIT_SETTINGS, ["safe.directory", folder] as const, ...more]
  return {
    PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    HOME: "/nonexistent",
    LANG: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ALLOC_LIMIT: MAX_ALLOCATION,
    ...FSYNC_OVERRIDE,
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([name, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, name],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
  }
}
