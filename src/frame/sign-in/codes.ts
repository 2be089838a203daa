/**
 * Codes by which people sign in: mailed to them, of use for ten minutes, once, and in the browser alone that
 * asked. For somebody who is nobody there, too, a code is kept that nobody is told: so asking, and trying,
 * take the same steps for everybody.
 */
import { randomInt, timingSafeEqual } from "node:crypto"
import type { KeptThing, KeptThings } from "../../../adapters/kept/port.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"

/** So long a code is of use. */
export const CODE_LASTS_MS = 10 * 60_000
/** So often a code may be tried. */
export const MOST_TRIES = 5

const DIGITS = 6

/** Where nobody is, such as at a name that is no company's: what is kept there is kept for nobody. */
const NOBODYS: CompanyId = "co_nobody"

interface Code {
  readonly codeTag: string
  /** Null: nobody was told it. */
  readonly personId: PersonId | null
  readonly triesLeft: number
}

/** Codes for one purpose. */
export interface Codes {
  /** Makes a code for a browser, in place of a former one. @param personId null for nobody */
  readonly make: (
    companyId: CompanyId | null,
    browser: string,
    personId: PersonId | null,
  ) => Promise<string>
  /** Whom a code signs in, once; null where it is not that, was tried too often, or is over. */
  readonly use: (
    companyId: CompanyId | null,
    browser: string,
    code: string,
  ) => Promise<PersonId | null>
}

/** Opens them. */
export function openCodes(
  { kept, clock, sealing }: Pick<Ports, "kept" | "clock" | "sealing">,
  purpose: string,
): Codes {
  const codes: KeptThings<Code> = kept.of({ slice: "sign-in", kind: `${purpose} code` })
  const nameOf = (browser: string) =>
    sealing.installationTag(JSON.stringify(["sign-in browser", purpose, browser]))
  const tagOf = (browser: string, code: string) =>
    sealing.installationTag(JSON.stringify(["sign-in code", purpose, browser, code]))
  return {
    make: async (companyId, browser, personId) => {
      const code = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0")
      const content = { codeTag: tagOf(browser, code), personId, triesLeft: MOST_TRIES }
      const until = clock.now() + CODE_LASTS_MS
      await codes.change(companyId ?? NOBODYS, nameOf(browser), () => ({ content, until }))
      return code
    },
    use: async (companyId, browser, code) => {
      const [at, name] = [companyId ?? NOBODYS, nameOf(browser)]
      const found = await codes.find(at, name)
      if (found === null) return null
      const tag = tagOf(browser, code)
      let person: PersonId | null = null
      await codes.change(at, name, (known) => {
        const tried = triedWith(known ?? { ...found, until: 0 }, tag)
        person = tried.person
        return tried.code
      })
      return person
    },
  }
}

/** A code once it was tried: by the right one it is used up, by another one try is gone. */
function triedWith(
  known: KeptThing<Code>,
  tag: string,
): { readonly code: KeptThing<Code>; readonly person: PersonId | null } {
  const { codeTag, personId, triesLeft } = known.content
  if (triesLeft === 0 || known.until === 0) return { code: known, person: null }
  const isRight = timingSafeEqual(Buffer.from(tag), Buffer.from(codeTag))
  const content = { ...known.content, triesLeft: isRight ? 0 : triesLeft - 1 }
  return { code: { ...known, content }, person: isRight ? personId : null }
}
