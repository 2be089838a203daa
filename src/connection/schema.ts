/** Pieces that the requests of installed apps share. */
import { z } from "zod"
import { VERSION_CHARACTERS, VERSION_FORM, versionOf } from "../../domain/connection/releases.ts"

/** The name of an installed app: 28 random bytes. */
export const installId = z
  .string({ error: "Must be 56 hexadecimal characters." })
  .regex(/^[0-9a-fA-F]{56}$/, "Must be 56 hexadecimal characters.")
  .transform((text) => text.toLowerCase())

const VERSION_WORDS = "Must be a version such as 2.1.0 or 2.1.0-rc.1."

/** A version of the app as it is written: what an app says of itself is what it may ask about. */
export const versionName = z
  .string({ error: "Must be text." })
  .max(VERSION_CHARACTERS, VERSION_WORDS)
  .regex(VERSION_FORM, VERSION_WORDS)

/** The newest version, as answers give it. */
export const latestName = z
  .string()
  .nullable()
  .describe("The newest version in the channel; null where there is none")

/** The release channel of the company. */
export const channelName = z.string().describe("The release channel that the company follows")

/** The same, to be ordered among others. */
export const orderedVersion = versionName.transform((text) => versionOf(text) ?? z.NEVER)

/** One of a closed list of words. */
export function oneOf<const T extends readonly [string, ...string[]]>(words: T) {
  return z.enum(words, { error: `Must be one of ${words.join(", ")}.` })
}
