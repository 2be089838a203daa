/**
 * Codes by which people sign in: mailed to them, of use for ten minutes, once, and in the browser alone that
 * asked. For somebody who is nobody there, too, a code is kept that nobody is told: so asking, and trying,
 * take the same steps for everybody.
 */
import { randomInt, timingSafeEqual } from "node:crypto"
import type { KeptThing, KeptThings } from "../../../adapters/kept/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"
import { NOBODYS } from "./tokens.ts"

/** So long a code is of use. */
export const CODE_LASTS_MS = 10 * 60_000
/** So often a code may be tried. */
export const MOST_TRIES = 5

const DIGITS = 6

interface Code<T> {
  readonly codeTag: string
  /** Null: nobody was told it. */
  readonly whom: T | null
  readonly triesLeft: number
}

/** Codes for one purpose; each signs in whom it was made for. */
export interface Codes<T> {
  /** Makes a code for a browser, in place of a former one. @param whom null for nobody */
  readonly make: (companyId: CompanyId | null, browser: string, whom: T | null) => Promise<string>
  /** Whom a code signs in, once; null where it is not that, was tried too often, or is over. */
  readonly use: (companyId: CompanyId | null, browser: string, code: string) => Promise<T | null>
}

/** Opens them. */
export function openCodes<T>(
  { kept, clock, sealing }: Pick<Ports, "kept" | "clock" | "sealing">,
  purpose: string,
): Codes<T> {
  const codes: KeptThings<Code<T>> = kept.of({ slice: "sign-in", kind: `${purpose} code` })
  const nameOf = (browser: string) =>
    sealing.installationTag(JSON.stringify(["sign-in browser", purpose, browser]))
  const tagOf = (browser: string, code: string) =>
    sealing.installationTag(JSON.stringify(["sign-in code", purpose, browser, code]))
  return {
    make: async (companyId, browser, whom) => {
      const code = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0")
      const content = { codeTag: tagOf(browser, code), whom, triesLeft: MOST_TRIES }
      const until = clock.now() + CODE_LASTS_MS
      await codes.change(companyId ?? NOBODYS, nameOf(browser), () => ({ content, until }))
      return code
    },
    use: async (companyId, browser, code) => {
      const [at, name] = [companyId ?? NOBODYS, nameOf(browser)]
      const found = await codes.find(at, name)
      if (found === null) return null
      const tag = tagOf(browser, code)
      let whom: T | null = null
      await codes.change(at, name, (known) => {
        const tried = triedWith(known ?? { ...found, until: 0 }, tag)
        whom = tried.whom
        return tried.code
      })
      return whom
    },
  }
}

/** A code once it was tried: by the right one it is used up, by another one try is gone. */
function triedWith<T>(
  known: KeptThing<Code<T>>,
  tag: string,
): { readonly code: KeptThing<Code<T>>; readonly whom: T | null } {
  const { codeTag, whom, triesLeft } = known.content
  if (triesLeft === 0 || known.until === 0) return { code: known, whom: null }
  const isRight = timingSafeEqual(Buffer.from(tag), Buffer.from(codeTag))
  const content = { ...known.content, triesLeft: isRight ? 0 : triesLeft - 1 }
  return { code: { ...known, content }, whom: isRight ? whom : null }
}
