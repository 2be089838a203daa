/** The settings of every git command, independent of the machine's own settings. */
import { resolve } from "node:path"

/** The folder of the only hook. */
export const HOOKS_FOLDER = resolve(import.meta.dirname, "hooks")

const MAX_PACK_BYTES = 512 * 1024 * 1024

/**
 * Maximum allocation of git. A few hundred bytes of a pack can expand to a file of any size (a
 * delta that copies one piece repeatedly); files up to the size limit of a push fit or are
 * streamed.
 */
const MAX_ALLOCATION = "320m"

type GitSetting = readonly [name: string, value: string]

/** The order matters: for hidden refs the last match applies. */
const GIT_SETTINGS: readonly GitSetting[] = [
  ["core.hooksPath", HOOKS_FOLDER],
  // A ref in refs/replace that replaces itself would make every command fail.
  ["core.useReplaceRefs", "false"],
  // The default does not sync loose objects to disk.
  ["core.fsync", "objects,derived-metadata,reference"],
  ["core.bigFileThreshold", "1m"],
  ["transfer.fsckObjects", "true"],
  // Pushed objects stay in a pack, so that the quarantine lists them.
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
  // Protocols 0 and 1 request the objects of a partial clone by id; protocol 2 needs no setting.
  ["uploadpack.allowReachableSHA1InWant", "true"],
  ["pack.threads", "1"],
  ["pack.windowMemory", "64m"],
]

/** The file `info/attributes`: archives contain every file as committed. */
export const ARCHIVE_ATTRIBUTES = "* -export-ignore -export-subst\n"

/** The settings as a repository's config file, for a git that a person runs there. */
export function repositoryConfigFile(): string {
  const settings: readonly GitSetting[] = [
    ["core.repositoryFormatVersion", "0"],
    ["core.bare", "true"],
    ...GIT_SETTINGS,
  ]
  return settings
    .map(([name, value]) => {
      const [section = "", key = ""] = name.split(".")
      return `[${section}]\n\t${key} = "${value.replaceAll(/["\\]/g, "\\$&")}"\n`
    })
    .join("")
}

/** Tests need no protection against power loss. Everywhere else the sync is required. */
const FSYNC_OVERRIDE: Readonly<Record<string, string>> =
  process.env["NODE_ENV"] === "test" && process.env["TEST_FSYNC"] !== "on"
    ? { GIT_TEST_FSYNC: "false" }
    : {}

/**
 * The environment of a git command: no settings of the machine or a person, and no check of the
 * folder's owner.
 */
export function gitEnvironment(
  folder: string,
  extraSettings: readonly GitSetting[] = [],
): Readonly<Record<string, string>> {
  const settings = [...GIT_SETTINGS, ["safe.directory", folder] as const, ...extraSettings]
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
