import type { KeyObject } from "node:crypto"
import type { Pool } from "pg"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import { LRU } from "./lru.ts"
import { decrypt, deriveKey, encrypt, toKeyObject, newKey, keyedTag } from "./cipher.ts"
import type { Sealing, SealedContext } from "./port.ts"
import { CompanyErased, SealFault } from "./port.ts"
import { batchCalls } from "../machine/promises.ts"

const MAX_BATCH = 500

/** Loads the wrapped key of a subject, keeping `fresh` where there is none and `fresh` is given. */
type LoadSubjectKey = (
  companyId: CompanyId,
  subject: string,
  fresh: Buffer | null,
) => Promise<Buffer | null>

interface SubjectKeyRequest {
  readonly companyId: CompanyId
  readonly subject: string
  readonly fresh: Buffer | null
}

interface Row {
  readonly company_id: string
  readonly subject: string
  readonly wrapped: Buffer
}

/** The first key of a subject stays, and is answered: whoever comes second gets it from a select. */
const INSERT = `
  insert into ledger.subject_keys (company_id, subject, wrapped)
  select * from unnest($1::text[], $2::text[], $3::bytea[])
  on conflict do nothing
  returning company_id, subject, wrapped`

const SELECT = `
  select company_id, subject, wrapped from ledger.subject_keys
  join unnest($1::text[], $2::text[]) as asked (company_id, subject) using (company_id, subject)`

const MAX_CACHED_KEYS = 50_000

interface CompanyKeyRow {
  readonly wrapped: Buffer
}

/**
 * What is called out to all processes when keys were erased: the company's id, or nothing where it
 * may be any company.
 */
export const KEYS_ERASED_CHANNEL = "ledger_keys_erased"

/**
 * Sealing with the wrapped keys in PostgreSQL. Opened keys stay in memory, so an erasure must end the
 * cache of every process: `forgetKeys`. Its calls throw SealFault for text that does not open, and
 * CompanyErased where a key was destroyed.
 */
export function openPostgresSealing(
  pool: Pool,
  masterKey: Buffer,
): Sealing & {
  /** Forgets the keys of a company, or of all companies. */
  readonly forgetKeys: (companyId: CompanyId | null) => void
} {
  const wrapping = toKeyObject(deriveKey(masterKey, "company keys"))
  const companyKeys = new LRU<string, Promise<KeyObject | null>>(MAX_CACHED_KEYS)
  const loadSubjectKey = openSubjectKeyLoader(pool)
  const subjectKeys = new LRU<string, Promise<KeyObject | null>>(MAX_CACHED_KEYS)

  const companyKey = (companyId: CompanyId, make: boolean) =>
    cachedKey(companyKeys, companyId, make, async () => {
      const fresh = make ? encrypt(wrapping, newKey(), companyId) : null
      const wrapped = await loadCompanyKey(pool, companyId, fresh)
      return wrapped === null ? null : toKeyObject(decrypt(wrapping, wrapped, companyId))
    })

  const subjectKey = (companyId: CompanyId, subject: string, make: boolean) =>
    cachedKey(subjectKeys, `${companyId}/${subject}`, make, async () => {
      const parent = await companyKey(companyId, make)
      if (parent === null) return null
      const context = `${companyId}/${subject}`
      const own = make ? newKey() : null
      const fresh = own === null ? null : encrypt(parent, own, context)
      const wrapped = await loadSubjectKey(companyId, subject, fresh)
      // An empty one stands where a key was destroyed, so that no other is made in its place.
      if (wrapped === null || wrapped.length === 0) return null
      // Mostly it is the one just made, which need not be opened to be known.
      const isOwn = own !== null && fresh?.equals(wrapped) === true
      return toKeyObject(isOwn ? own : decrypt(parent, wrapped, context))
    })

  return {
    ...createSealing(masterKey, { company: companyKey, subject: subjectKey }),
    forgetKeys: (companyId) => {
      companyKeys.deleteWhere((place) => companyId === null || place === companyId)
      subjectKeys.deleteWhere((place) => companyId === null || place.startsWith(`${companyId}/`))
    },
  }
}

/** The key from memory, or loaded once for all who ask at the same time. */
async function cachedKey(
  cache: LRU<string, Promise<KeyObject | null>>,
  place: string,
  make: boolean,
  load: () => Promise<KeyObject | null>,
): Promise<KeyObject | null> {
  const known = cache.get(place)
  if (known !== undefined && !make) return known
  // That there is no key must not keep somebody from making one.
  const loading = known === undefined ? load() : known.then((key) => key ?? load())
  cache.set(place, loading)
  // Only keys are kept: another process may make the one that is not there.
  const forget = () => {
    if (cache.get(place) === loading) cache.delete(place)
  }
  try {
    const key = await loading
    if (key === null) forget()
    return key
  } catch (error) {
    forget()
    throw error
  }
}

async function loadCompanyKey(
  pool: Pool,
  companyId: CompanyId,
  fresh: Buffer | null,
): Promise<Buffer | null> {
  if (fresh !== null) {
    const insert = "insert into ledger.company_keys values ($1, $2) on conflict do nothing"
    await pool.query(insert, [companyId, fresh])
  }
  const select = "select wrapped from ledger.company_keys where company_id = $1"
  const { rows } = await pool.query<CompanyKeyRow>(select, [companyId])
  const wrapped = rows[0]?.wrapped ?? null
  // An empty one stands where a key was destroyed, so that no other is made in its place.
  return wrapped?.length === 0 ? null : wrapped
}

/** Wrapped keys in the table `ledger.subject_keys`. What is given was committed. */
function openSubjectKeyLoader(pool: Pool): LoadSubjectKey {
  const ask = batchCalls<SubjectKeyRequest, Buffer | null>(MAX_BATCH, (batch) =>
    loadSubjectKeys(pool, batch),
  )
  return (companyId, subject, fresh) => ask({ companyId, subject, fresh })
}

async function loadSubjectKeys(
  pool: Pool,
  batch: readonly SubjectKeyRequest[],
): Promise<readonly (Buffer | null)[]> {
  const found = new Map<string, Buffer>()
  const ask = async (name: string, text: string, values: unknown[]): Promise<void> => {
    const { rows } = await pool.query<Row>({ name, text, values })
    for (const row of rows) found.set(subjectPath(row.company_id, row.subject), row.wrapped)
  }
  const fresh = batch.filter((asked) => asked.fresh !== null)
  if (fresh.length > 0) await ask("make-subject-keys", INSERT, toColumns(fresh, true))
  const rest = batch.filter(({ companyId, subject }) => !found.has(subjectPath(companyId, subject)))
  if (rest.length > 0) await ask("find-subject-keys", SELECT, toColumns(rest, false))
  return batch.map(({ companyId, subject }) => found.get(subjectPath(companyId, subject)) ?? null)
}

function toColumns(batch: readonly SubjectKeyRequest[], withKeys: boolean): unknown[] {
  const names = [batch.map((asked) => asked.companyId), batch.map((asked) => asked.subject)]
  return withKeys ? [...names, batch.map((asked) => asked.fresh)] : names
}

function subjectPath(companyId: string, subject: string): string {
  return `${companyId}/${subject}`
}

/** The keys of companies and their subjects. Null: it was destroyed, or is not there and not to be made. */
interface KeyLoaders {
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
function createSealing(masterKey: Buffer, keys: KeyLoaders): Sealing {
  const tagging = toKeyObject(deriveKey(masterKey, "installation tags"))
  const signing = deriveKey(masterKey, "app secrets")
  const made = async (companyId: CompanyId, subject: string): Promise<KeyObject> => {
    const key = await keys.subject(companyId, subject, true)
    if (key !== null) return key
    const isGone = (await keys.company(companyId, false)) === null
    throw companyErasedError(
      isGone ? `The company ${companyId}` : `${subject} of the company ${companyId}`,
    )
  }
  return {
    seal: async (companyId, subject, text) => {
      const key = await made(companyId, subject)
      const box = encrypt(key, Buffer.from(text), `${companyId}/${subject}`)
      return `s1.${subject}.${box.toString("base64url")}`
    },
    unseal: async (companyId, sealed) => {
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
      if (key === null) throw companyErasedError(`The company ${companyId}`)
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

function companyErasedError(what: string): CompanyErased {
  return new CompanyErased(`${what} was erased: nothing is kept for it any more.`)
}

const tagKeys = new WeakMap<KeyObject, KeyObject>()

/** The key that a company's tags are made with, derived once for as long as its own is in memory. */
function tagKeyOf(companyKey: KeyObject): KeyObject {
  const known = tagKeys.get(companyKey)
  if (known !== undefined) return known
  const derived = toKeyObject(deriveKey(companyKey, "tags"))
  tagKeys.set(companyKey, derived)
  return derived
}

function parseSealed(sealed: SealedText): { subject: string; box: Buffer } {
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
    const made = toKeyObject(newKey())
    keys.set(place, made)
    return made
  }
  return {
    ...createSealing(newKey(), {
      company: (companyId, make) => keyAt(companyId, companyId, make),
      subject: (companyId, subject, make) => keyAt(companyId, `${companyId}/${subject}`, make),
    }),
    destroyKeys: (companyId) => void destroyed.add(companyId),
  }
}
