/** Companies with personal data in every place, and a search for that data. */
import { readFile, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import pg from "pg"
import { queryRows } from "../support/embedded-postgres.ts"
import type { World } from "../support/world.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { addPerson, makeCompany } from "../support/company.ts"

/** A company and its personal data, which occurs nowhere else. */
export interface PlantedCompany {
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  readonly key: string
  readonly name: string
  /** The data that must be gone after an erasure, by its meaning. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Makes a company with personal data of every kind; `mark` makes the texts unique. */
export async function plantPersonalData(
  world: World,
  mark: string,
  numbers: string,
): Promise<PlantedCompany> {
  const secrets = {
    "company's name": `Zanzibar Trading ${mark}`,
    "owner's name": `Wilhelmina ${mark}`,
    "owner's email": `wilhelmina.${mark}@example.com`,
    "person's name": `Quincy ${mark}`,
    "person's email": `quincy.${mark}@example.com`,
    "invited email": `ingeborg.${mark}@example.com`,
    "second invited email": `irmgard.${mark}@example.com`,
    "key's label": `the laptop of ${mark}`,
    "recipient's phone": `415555${numbers}1`,
    "sender's phone": `415555${numbers}2`,
    "silent recipient's phone": `415555${numbers}3`,
    "text that was sent": `the parcel is under the ${mark} stone`,
    "text that came in": `please ring the ${mark} bell twice`,
    "text that hangs": `the ${mark} carrier says nothing`,
    "name of a request": `order of ${mark}`,
    "what was done": `looked behind the ${mark} curtain`,
  }
  const made = await makeCompany(world, {
    name: secrets["company's name"],
    ownerName: secrets["owner's name"],
    ownerEmail: secrets["owner's email"],
    key: { label: secrets["key's label"] },
    limits: [{ period: "week", dollars: "40", reminders: ["0.001"] }],
  })
  const { companyId, key } = made
  const company = { company: companyId }
  const [name, email] = [secrets["person's name"], secrets["person's email"]]
  const { personId } = await addPerson(world, made, { name, email })
  await world.operate("person seen", { personId, in: "app" })
  // Two invitations, so that the planner has statistics of a table that is empty afterwards.
  for (const invited of [secrets["invited email"], secrets["second invited email"]]) {
    await world.operate("person invite", { ...company, email: invited, role: "user" })
  }
  await world.operate("funds notice", { ...company, below: "1000" })
  await plantTexts(world, key, secrets)
  const visits = world.ports.activityLog.of({ slice: "company", kind: "visit", maxEntries: 1 })
  const at = world.ports.clock.now()
  await visits.add(companyId, "box", { at, content: { what: secrets["what was done"] } })
  await world.call(key, "POST", "/api/v1/checkin", {
    body: { installId: null, version: "2.0.0", platform: "linux" },
  })
  return { ...made, secrets: { ...secrets, key } }
}

async function plantTexts(world: World, key: string, secrets: Readonly<Record<string, string>>) {
  const url = "/api/v1/phone/messages"
  const to = `+1${secrets["recipient's phone"]}`
  const body = secrets["text that was sent"]
  const headers = { "idempotency-key": secrets["name of a request"] ?? "" }
  const sent = await world.call(key, "POST", url, { body: { to, body }, headers })
  const incoming = { from: `+1${secrets["sender's phone"]}`, to: sent.body.from }
  await world.operate("carrier text-in", { ...incoming, body: secrets["text that came in"] })
  await world.operate("carrier text-in", { ...incoming, body: "STOP" })
  await world.call(key, "POST", "/api/v1/phone/opt-outs", { body: { phone: to } })
  await world.operate("wait")
  await world.operate("simulator set", { name: "carrier", outcome: "silent" })
  const hanging = {
    to: `+1${secrets["silent recipient's phone"]}`,
    body: secrets["text that hangs"],
  }
  await world.call(key, "POST", url, { body: hanging })
  await world.operate("wait")
}

/** The encodings in which a text could be stored. */
function encodingsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const inside = bytes.toString("base64url").slice(0, -2)
  return [...new Set([secret, secret.toLowerCase(), bytes.toString("hex"), inside])]
}

/** The meanings of the secrets that are found in any of the texts. */
export function secretsFoundIn(
  texts: readonly string[],
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  const searched = Object.entries(secrets).map(
    ([what, secret]) => [what, encodingsOf(secret)] as const,
  )
  // One search for all secrets: the files are large, and most contain none.
  const literal = (form: string) => form.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const any = new RegExp(searched.flatMap(([, forms]) => forms.map(literal)).join("|"))
  const some = texts.filter((one) => any.test(one))
  return searched
    .filter(([, forms]) => forms.some((form) => some.some((one) => one.includes(form))))
    .map(([what]) => what)
    .toSorted()
}

/** Every row of every table that is not temporary, and the planner's statistics; one text per table. */
export async function dumpDatabase(world: World): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(TABLES)
    const texts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`)
      texts.push(rows.map(({ row }) => row).join("\n"))
    }
    return texts
  } finally {
    await client.end()
  }
}

const TABLES = `
  select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'm') and c.relpersistence <> 't' and n.nspname not in ('information_schema', 'pg_toast')
    and (n.nspname <> 'pg_catalog' or c.relname = 'pg_statistic')`

/** Every stream as an auditor reads it, unsealed if possible. */
export async function readUnsealedStreams(world: World): Promise<string> {
  const streams = new Set<string>()
  for await (const page of world.ports.store.readAll()) {
    for (const { stream } of page) streams.add(stream)
  }
  const shown: unknown[] = []
  for (const stream of streams) {
    shown.push(await world.operate("audit show", { stream, unseal: true }))
  }
  return JSON.stringify(shown)
}

/** A file, with one character per byte. */
interface FileContent {
  readonly name: string
  readonly content: string
}

/**
 * The bytes of every file of the database, of PostgreSQL's log, and of its write-ahead log.
 */
export async function databaseFiles(world: World): Promise<readonly FileContent[]> {
  const ask = (sql: string) => queryRows<{ value: string }>(world.databaseUrl, sql)
  // The next checkpoint removes rewritten data from the disk.
  await ask("checkpoint")
  const [folder] = await ask(
    "select setting as value from pg_settings where name = 'data_directory'",
  )
  const [oid] = await ask(
    "select oid::text as value from pg_database where datname = current_database()",
  )
  const dataFolder = folder?.value ?? ""
  const base = join(dataFolder, "base", oid?.value ?? "")
  const names = (await readdir(base)).map((name) => join(base, name))
  const logs = (await readdir(dirname(dataFolder))).filter((name) => name.includes("log"))
  const walSegments = (await readdir(join(dataFolder, "pg_wal"))).filter((name) =>
    /^[0-9A-F]{24}$/.test(name),
  )
  const paths = [
    ...names,
    ...logs.map((name) => join(dirname(dataFolder), name)),
    ...walSegments.map((name) => join(dataFolder, "pg_wal", name)),
  ]
  const read = async (path: string) => {
    const content = await readFile(path, "latin1").catch(nullIfMissing)
    return content === null ? [] : [{ name: path.slice(dirname(dataFolder).length), content }]
  }
  return (await Promise.all(paths.map(read))).flat()
}

/** Files of the write-ahead log may be removed meanwhile. @throws every other error */
function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null
  throw error
}
