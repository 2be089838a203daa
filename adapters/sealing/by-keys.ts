/** Sealing by keys, wherever those are kept. */
import type { KeyObject } from "node:crypto"
import type { CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import { decrypt, deriveKey, encrypt, keyOf, keyedTag, newKey } from "./cipher.ts"
import type { SealedContext, Sealing } from "./port.ts"
import { CompanyErased, SealFault } from "./port.ts"

/** The keys of companies and their subjects. Null: it was destroyed, or is not there and not to be made. */
interface Keys {
  readonly company: (companyId: CompanyId, make: boolean) => Promise<KeyObject | null>
  readonly subject: (
    companyId: CompanyId,
    subject: string,
    make: boolean,
  ) => Promise<KeyObject | null>
}

/**
 * Seals by these keys. Its calls throw SealFault for what does not open, and CompanyErased where a key
 * was destroyed.
 */
export function sealingBy(masterKey: Buffer, keys: Keys): Sealing {
  const tagging = keyOf(deriveKey(masterKey, "installation tags"))
  const signing = deriveKey(masterKey, "app secrets")
  const made = async (companyId: CompanyId, subject: string): Promise<KeyObject> => {
    const key = await keys.subject(companyId, subject, true)
    if (key !== null) return key
    const isGone = (await keys.company(companyId, false)) === null
    throw erased(isGone ? `The company ${companyId}` : `${subject} of the company ${companyId}`)
  }
  return {
    seal: async (companyId, subject, text) => {
      const key = await made(companyId, subject)
      const box = encrypt(key, Buffer.from(text), `${companyId}/${subject}`)
      return `s1.${subject}.${box.toString("base64url")}`
    },
    open: async (companyId, sealed) => {
      const { subject, box } = parseSealed(sealed)
      const key = await keys.subject(companyId, subject, false)
      return key === null ? null : decrypt(key, box, `${companyId}/${subject}`).toString()
    },
    sealBytes: async (companyId, subject, bytes, context) =>
      encrypt(await made(companyId, subject), bytes, bytesContext(companyId, subject, context)),
    openBytes: async (companyId, subject, box, context) => {
      const key = await keys.subject(companyId, subject, false)
      return key === null ? null : decrypt(key, box, bytesContext(companyId, subject, context))
    },
    tag: async (companyId, text) => {
      const key = await keys.company(companyId, true)
      if (key === null) throw erased(`The company ${companyId}`)
      return keyedTag(tagKeyOf(key), text)
    },
    installationTag: (text) => keyedTag(tagging, text),
    appSecret: (keyId) => `cps_${deriveKey(signing, keyId).toString("base64url")}`,
  }
}

/** What is authenticated with bytes: never the same for two contexts, nor for bytes and a text. */
function bytesContext(companyId: CompanyId, subject: string, context: SealedContext): string {
  return `bytes ${JSON.stringify([companyId, subject, ...context])}`
}

function erased(what: string): CompanyErased {
  return new CompanyErased(`${what} was erased: nothing is kept for it any more.`)
}

const tagKeys = new WeakMap<KeyObject, KeyObject>()

/** The key that a company's tags are made with, derived once for as long as its own is in memory. */
function tagKeyOf(companyKey: KeyObject): KeyObject {
  const known = tagKeys.get(companyKey)
  if (known !== undefined) return known
  const derived = keyOf(deriveKey(companyKey, "tags"))
  tagKeys.set(companyKey, derived)
  return derived
}

function parseSealed(sealed: Sealed): { subject: string; box: Buffer } {
  const [form, subject, body] = sealed.split(".")
  if (form !== "s1" || subject === undefined || body === undefined) {
    throw new SealFault("this is no sealed text")
  }
  return { subject, box: Buffer.from(body, "base64url") }
}

/** Sealing with keys in this process's memory: the memory twin, for tests. It seals as the other does. */
export function openMemorySealing(): Sealing & {
  /** Destroys a company's key and those of its subjects; none is ever made for it again. */
  readonly destroyKeys: (companyId: CompanyId) => void
} {
  const keys = new Map<string, KeyObject>()
  const destroyed = new Set<string>()
  const keyAt = async (companyId: CompanyId, place: string, make: boolean) => {
    if (destroyed.has(companyId)) return null
    const known = keys.get(place)
    if (known !== undefined || !make) return known ?? null
    const made = keyOf(newKey())
    keys.set(place, made)
    return made
  }
  return {
    ...sealingBy(newKey(), {
      company: (companyId, make) => keyAt(companyId, companyId, make),
      subject: (companyId, subject, make) => keyAt(companyId, `${companyId}/${subject}`, make),
    }),
    destroyKeys: (companyId) => void destroyed.add(companyId),
  }
}
