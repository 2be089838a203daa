import type { KeyObject } from "node:crypto"
import type { Pool } from "pg"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import { LRU } from "./lru.ts"
import { decrypt, deriveKey, encrypt, toKeyObject, newKey, keyedTag } from "./cipher.ts"
import type { Sealing, SealedContext } from "./port.ts"
import { CompanyErased, erasedMessage, SealFault } from "./port.ts"
import { batchCalls } from "../machine/promises.ts"

const MAX_BATCH = 500

/** Loads the wrapped key of a subject; stores `newWrapped` first if it is given and there is none. */
type LoadSubjectKey = (
  companyId: CompanyId,
  subject: string,
  newWrapped: Buffer | null,
) => Promise<Buffer | null>

interface SubjectKeyRequest {
  readonly companyId: CompanyId
  readonly subject: string
  readonly newWrapped: Buffer | null
}

interface Row {
  readonly company_id: string
  readonly subject: string
  readonly wrapped: Buffer
}

/** An existing key of a subject stays; later callers select it. */
const INSERT = `
  insert into ledger.subject_keys (company_id, subject, wrapped)
  select * from unnest($1::text[], $2::text[], $3::bytea[])
  on conflict do nothing
  returning company_id, subject, wrapped`

const SELECT = `
  select company_id, subject, wrapped from ledger.subject_keys
  join unnest($1::text[], $2::text[]) as request (company_id, subject) using (company_id, subject)`

const MAX_CACHED_KEYS = 50_000

interface CompanyKeyRow {
  readonly wrapped: Buffer
}

/**
 * Notified to all processes when keys were erased, with the company's id, or an empty text if it
 * may be any company.
 */
export const KEYS_ERASED_CHANNEL = "ledger_keys_erased"

/**
 * Opens sealing with the wrapped keys in PostgreSQL. Unwrapped keys are cached in memory, so an
 * erasure must call `forgetKeys` in every process. Its calls throw SealFault for text that cannot
 * be unsealed, and CompanyErased for a destroyed key.
 */
export function openPostgresSealing(
  pool: Pool,
  masterKey: Buffer,
): Sealing & {
  readonly forgetKeys: (companyId: CompanyId | null) => void
} {
  const wrapping = toKeyObject(deriveKey(masterKey, "company keys"))
  const companyKeys = new LRU<string, Promise<KeyObject | null>>(MAX_CACHED_KEYS)
  const loadSubjectKey = openSubjectKeyLoader(pool)
  const subjectKeys = new LRU<string, Promise<KeyObject | null>>(MAX_CACHED_KEYS)

  const companyKey = (companyId: CompanyId, create: boolean) =>
    cachedKey(companyKeys, companyId, create, async () => {
      const newWrapped = create ? encrypt(wrapping, newKey(), companyId) : null
      const wrapped = await loadCompanyKey(pool, companyId, newWrapped)
      return wrapped === null ? null : toKeyObject(decrypt(wrapping, wrapped, companyId))
    })

  const subjectKey = (companyId: CompanyId, subject: string, create: boolean) =>
    cachedKey(subjectKeys, `${companyId}/${subject}`, create, async () => {
      const parent = await companyKey(companyId, create)
      if (parent === null) return null
      const context = `${companyId}/${subject}`
      const newPlain = create ? newKey() : null
      const newWrapped = newPlain === null ? null : encrypt(parent, newPlain, context)
      const wrapped = await loadSubjectKey(companyId, subject, newWrapped)
      // An empty row marks a destroyed key, so that no new one is created.
      if (wrapped === null || wrapped.length === 0) return null
      // Usually it is the key just created, which need not be unwrapped.
      const isNew = newPlain !== null && newWrapped?.equals(wrapped) === true
      return toKeyObject(isNew ? newPlain : decrypt(parent, wrapped, context))
    })

  return {
    ...createSealing(masterKey, { company: companyKey, subject: subjectKey }),
    forgetKeys: (companyId) => {
      companyKeys.deleteWhere((cacheKey) => companyId === null || cacheKey === companyId)
      subjectKeys.deleteWhere(
        (cacheKey) => companyId === null || cacheKey.startsWith(`${companyId}/`),
      )
    },
  }
}

async function cachedKey(
  cache: LRU<string, Promise<KeyObject | null>>,
  cacheKey: string,
  create: boolean,
  load: () => Promise<KeyObject | null>,
): Promise<KeyObject | null> {
  const known = cache.get(cacheKey)
  if (known !== undefined && !create) return known
  // A cached null must not prevent creating a key.
  const loading = known === undefined ? load() : known.then((key) => key ?? load())
  cache.set(cacheKey, loading)
  // A missing key is not cached, because another process may create it.
  const forget = () => {
    if (cache.get(cacheKey) === loading) cache.delete(cacheKey)
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
  newWrapped: Buffer | null,
): Promise<Buffer | null> {
  if (newWrapped !== null) {
    const insert = "insert into ledger.company_keys values ($1, $2) on conflict do nothing"
    await pool.query(insert, [companyId, newWrapped])
  }
  const select = "select wrapped from ledger.company_keys where company_id = $1"
  const { rows } = await pool.query<CompanyKeyRow>(select, [companyId])
  const wrapped = rows[0]?.wrapped ?? null
  // An empty row marks a destroyed key, so that no new one is created.
  return wrapped?.length === 0 ? null : wrapped
}

/** Opens a loader of wrapped keys in the table `ledger.subject_keys`. Returned keys are committed. */
function openSubjectKeyLoader(pool: Pool): LoadSubjectKey {
  const query = batchCalls<SubjectKeyRequest, Buffer | null>(MAX_BATCH, (batch) =>
    loadSubjectKeys(pool, batch),
  )
  return (companyId, subject, newWrapped) => query({ companyId, subject, newWrapped })
}

async function loadSubjectKeys(
  pool: Pool,
  batch: readonly SubjectKeyRequest[],
): Promise<readonly (Buffer | null)[]> {
  const found = new Map<string, Buffer>()
  const query = async (name: string, text: string, values: unknown[]): Promise<void> => {
    const { rows } = await pool.query<Row>({ name, text, values })
    for (const row of rows) found.set(subjectPath(row.company_id, row.subject), row.wrapped)
  }
  const newWrapped = batch.filter((request) => request.newWrapped !== null)
  if (newWrapped.length > 0) await query("make-subject-keys", INSERT, toColumns(newWrapped, true))
  const rest = batch.filter(({ companyId, subject }) => !found.has(subjectPath(companyId, subject)))
  if (rest.length > 0) await query("find-subject-keys", SELECT, toColumns(rest, false))
  return batch.map(({ companyId, subject }) => found.get(subjectPath(companyId, subject)) ?? null)
}

function toColumns(batch: readonly SubjectKeyRequest[], withKeys: boolean): unknown[] {
  const names = [batch.map((request) => request.companyId), batch.map((request) => request.subject)]
  return withKeys ? [...names, batch.map((request) => request.newWrapped)] : names
}

function subjectPath(companyId: string, subject: string): string {
  return `${companyId}/${subject}`
}

/** The keys of companies and their subjects. Null: it was destroyed, or does not exist and must not be created. */
interface KeyLoaders {
  readonly company: (companyId: CompanyId, create: boolean) => Promise<KeyObject | null>
  readonly subject: (
    companyId: CompanyId,
    subject: string,
    create: boolean,
  ) => Promise<KeyObject | null>
}

function createSealing(masterKey: Buffer, keys: KeyLoaders): Sealing {
  const tagging = toKeyObject(deriveKey(masterKey, "installation tags"))
  const signing = deriveKey(masterKey, "app secrets")
  const requireKey = async (companyId: CompanyId, subject: string): Promise<KeyObject> => {
    const key = await keys.subject(companyId, subject, true)
    if (key !== null) return key
    const isGone = (await keys.company(companyId, false)) === null
    throw companyErasedError(
      isGone ? `The company ${companyId}` : `${subject} of the company ${companyId}`,
    )
  }
  return {
    seal: async (companyId, subject, text) => {
      const key = await requireKey(companyId, subject)
      const box = encrypt(key, Buffer.from(text), `${companyId}/${subject}`)
      return `s1.${subject}.${box.toString("base64url")}`
    },
    unseal: async (companyId, sealed) => {
      const { subject, box } = parseSealed(sealed)
      const key = await keys.subject(companyId, subject, false)
      return key === null ? null : decrypt(key, box, `${companyId}/${subject}`).toString()
    },
    sealBytes: async (companyId, subject, bytes, context) =>
      encrypt(
        await requireKey(companyId, subject),
        bytes,
        bytesContext(companyId, subject, context),
      ),
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

/** The authenticated context of sealed bytes: unique per context, and different from that of texts. */
function bytesContext(companyId: CompanyId, subject: string, context: SealedContext): string {
  return `bytes ${JSON.stringify([companyId, subject, ...context])}`
}

function companyErasedError(subject: string): CompanyErased {
  return new CompanyErased(erasedMessage(subject))
}

const tagKeys = new WeakMap<KeyObject, KeyObject>()

/** The key for a company's tags, derived once while the company's key is cached. */
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
    throw new SealFault("The text is not sealed")
  }
  return { subject, box: Buffer.from(body, "base64url") }
}

/** Opens sealing with keys in the memory of this process, for tests; the format is the same. */
export function openMemorySealing(): Sealing & {
  /** Destroys a company's key and those of its subjects; new ones are never created for it. */
  readonly destroyKeys: (companyId: CompanyId) => void
} {
  const keys = new Map<string, KeyObject>()
  const destroyed = new Set<string>()
  const keyAt = async (companyId: CompanyId, cacheKey: string, create: boolean) => {
    if (destroyed.has(companyId)) return null
    const known = keys.get(cacheKey)
    if (known !== undefined || !create) return known ?? null
    const createdKey = toKeyObject(newKey())
    keys.set(cacheKey, createdKey)
    return createdKey
  }
  return {
    ...createSealing(newKey(), {
      company: (companyId, create) => keyAt(companyId, companyId, create),
      subject: (companyId, subject, create) => keyAt(companyId, `${companyId}/${subject}`, create),
    }),
    destroyKeys: (companyId) => void destroyed.add(companyId),
  }
}
