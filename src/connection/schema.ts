/** Pieces that the requests of installed apps share. */
import { z } from "zod"
import { VERSION_CHARACTERS, versionOf } from "../../domain/connection/versions.ts"

/** The name of an installed app: 28 random bytes. */
export const installId = z
  .string({ error: "Must be 56 hexadecimal characters." })
  .regex(/^[0-9a-fA-F]{56}$/, "Must be 56 hexadecimal characters.")
  .transform((text) => text.toLowerCase())

/** A version as an app names its own, whatever it is called. */
export const versionName = z
  .string({ error: "Must be text." })
  .regex(
    new RegExp(`^[\\w.+-]{1,${VERSION_CHARACTERS}}$`),
    `Must be 1 to ${VERSION_CHARACTERS} letters, digits, dots, dashes or plus signs.`,
  )

/** One of a closed list of words. */
export function oneOf<const T extends readonly [string, ...string[]]>(words: T) {
  return z.enum(words, { error: `Must be one of ${words.join(", ")}.` })
}

/** A version that can be ordered among others. */
export const orderedVersion = z.string({ error: "Must be text." }).transform((text, context) => {
  const version = versionOf(text)
  if (version !== null) return version
  context.addIssue("Must be a version such as 2.1.0 or 2.1.0-rc.1.")
  return z.NEVER
})
