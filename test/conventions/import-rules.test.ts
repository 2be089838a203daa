/** Each import rule is tested on a small tree; `project-imports.outside.test.ts` applies the rules to the project. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative } from "node:path"
import { afterAll, expect, it } from "vitest"
import { checkImportRules } from "./import-rules.ts"

/**
 * Imports that break each rule (`no`) and similar imports that it allows (`yes`). The kind of import is in parentheses,
 * values by default. The files `a.ts`, `b.ts` and `c.ts` are different ones in each line.
 */
const IMPORTS = `
domain-pure
  no  domain/phone/a.ts → node:fs
  no  domain/phone/a.ts → kysely
  no  domain/phone/a.ts → src/b.ts (types)
  yes domain/phone/a.ts → domain/phone/b.ts
  yes domain/phone/a.ts → domain/kernel/b.ts
  yes src/b.ts → domain/phone/a.ts
domain-slices-apart
  no  domain/phone/a.ts → domain/boxes/b.ts (types)
  yes domain/phone/a.ts → domain/kernel/b.ts
domain-voice
  no  domain/voice/a.ts → domain/phone/phone.ts
  yes domain/voice/a.ts → domain/phone/ids.ts
domain-kernel-alone
  no  domain/kernel/a.ts → domain/charging/b.ts (types)
  yes domain/kernel/a.ts → domain/kernel/b.ts
domain-charging-types
  no  domain/phone/a.ts → domain/charging/b.ts
  no  domain/phone/a.ts → domain/charging/b.ts (export)
  yes domain/phone/a.ts → domain/charging/b.ts (types)
  yes domain/charging/a.ts → domain/charging/b.ts (export)
projections-imports
  no  projections/a.ts → pg
  no  projections/a.ts → adapters/x/port.ts
  yes projections/a.ts → kysely
  yes projections/a.ts → domain/b.ts
  yes projections/a.ts → projections/b.ts
adapter-vendor
  no  adapters/providers/simulators/a.ts → fastify
  yes adapters/postgres/locks/a.ts → pg
  yes adapters/postgres/locks/a.ts → node:net
adapter-eventstore-vendor
  no  adapters/eventstore/a.ts → fastify
  yes adapters/eventstore/a.ts → @eventstore/db-client
adapter-postgres-vendor
  no  adapters/postgres/a.ts → @eventstore/db-client
  yes adapters/postgres/a.ts → pg
  yes adapters/postgres/a.ts → kysely
adapter-providers-dns-vendor
  no  adapters/providers/dns/a.ts → fastify
  yes adapters/providers/dns/a.ts → dns-packet
  yes adapters/providers/dns/a.ts → tldts
adapter-providers-mailer-vendor
  no  adapters/providers/mailer/a.ts → fastify
  yes adapters/providers/mailer/a.ts → nodemailer
adapter-providers-addresses-vendor
  no  adapters/providers/addresses/a.ts → fastify
  yes adapters/providers/addresses/a.ts → ipaddr.js
adapter-providers-voice-vendor
  no  adapters/providers/voice/a.ts → fastify
  yes adapters/providers/voice/a.ts → zod
adapter-providers-places-vendor
  no  adapters/providers/places/a.ts → fastify
  yes adapters/providers/places/a.ts → zod
adapter-providers-carrier-vendor
  no  adapters/providers/carrier/a.ts → fastify
  yes adapters/providers/carrier/a.ts → zod
adapter-providers-registry-vendor
  no  adapters/providers/registry/a.ts → fastify
  yes adapters/providers/registry/a.ts → zod
adapter-providers-telnyx-vendor
  no  adapters/providers/telnyx/a.ts → fastify
  yes adapters/providers/telnyx/a.ts → zod
adapter-sandbox-boxhost-vendor
  no  adapters/sandbox/boxhost/a.ts → fastify
  yes adapters/sandbox/boxhost/a.ts → zod
adapter-sandbox-preview-host-vendor
  no  adapters/sandbox/preview-host/a.ts → fastify
  yes adapters/sandbox/preview-host/a.ts → tar-stream
box-agent-standalone
  no  adapters/sandbox/boxhost/bubblewrap/agent/a.ts → zod
  yes adapters/sandbox/boxhost/bubblewrap/agent/a.ts → node:fs
adapter-providers-cards-vendor
  no  adapters/providers/cards/a.ts → fastify
  yes adapters/providers/cards/a.ts → stripe
  yes adapters/providers/cards/a.ts → pg
adapter-machine-data-folder-vendor
  no  adapters/machine/data-folder/a.ts → fastify
  yes adapters/machine/data-folder/a.ts → zod
  yes adapters/machine/data-folder/a.ts → node:fs
adapter-telemetry-vendor
  no  adapters/telemetry/a.ts → fastify
  yes adapters/telemetry/a.ts → @opentelemetry/api
adapter-git-secret-scan-vendor
  no  adapters/git/secret-scan/a.ts → fastify
  yes adapters/git/secret-scan/a.ts → @secretlint/core
adapter-imports-no-src
  no  adapters/x/a.ts → src/b.ts (types)
  yes adapters/x/a.ts → adapters/x/b.ts
adapter-types-only
  no  adapters/x/a.ts → domain/phone/b.ts
  no  adapters/x/a.ts → domain/kernel/aggregate.ts
  no  adapters/x/a.ts → projections/b.ts
  yes adapters/x/a.ts → domain/phone/b.ts (types)
  yes adapters/x/a.ts → domain/kernel/ids.ts
  yes adapters/x/a.ts → projections/b.ts (types)
adapter-dns
  no  adapters/providers/dns/a.ts → domain/phone/b.ts
  yes adapters/providers/dns/a.ts → domain/domains/b.ts
adapter-apart
  no  adapters/x/a.ts → adapters/y/b.ts
  no  adapters/providers/x/a.ts → adapters/providers/y/b.ts
  yes adapters/x/a.ts → adapters/y/port.ts
  yes adapters/x/a.ts → adapters/postgres/c.ts
  yes adapters/providers/x/a.ts → adapters/providers/y/port.ts
  yes adapters/providers/x/a.ts → adapters/providers/x/b.ts
  yes adapters/providers/x/a.ts → adapters/providers/provider-errors.ts
src-ports-only
  no  src/a.ts → adapters/x/b.ts (types)
  yes src/a.ts → adapters/x/port.ts
  yes src/a.ts → adapters/providers/provider-errors.ts
  yes src/main.ts → adapters/x/b.ts
  yes src/bootstrap/c.ts → adapters/x/b.ts
src-providers-only
  no  src/phone/providers/a.ts → adapters/postgres/jobs/b.ts
  yes src/phone/slice.ts → src/phone/providers/a.ts
  yes src/phone/providers/a.ts → adapters/providers/x/b.ts
  yes src/phone/providers/a.ts → adapters/postgres/jobs/port.ts
src-providers-behind-slice
  no  src/phone/a.ts → src/phone/providers/a.ts
  yes src/phone/slice.ts → src/phone/providers/a.ts
  yes src/phone/providers/a.ts → src/phone/providers/b.ts
src-bootstrap-behind-main
  no  src/phone/a.ts → src/bootstrap/b.ts
  yes src/main.ts → src/bootstrap/b.ts
src-frame-below
  no  src/frame/a.ts → src/phone/b.ts (types)
  no  src/frame/routes/a.ts → src/audit/b.ts
  yes src/phone/b.ts → src/frame/a.ts
  yes src/frame/routes/a.ts → src/frame/kernel/b.ts
src-slices-apart
  no  src/registration/a.ts → src/phone/b.ts
  no  src/voice/reactions/a.ts → src/company/reactions/b.ts
  no  src/voice/a.ts → src/audit/b.ts (types)
  yes src/voice/a.ts → src/frame/b.ts
  yes src/voice/a.ts → src/voice/operate/c.ts
  no  src/mcp/a.ts → src/phone/a.ts
  yes src/voice/reactions/a.ts → src/voice/b.ts
  yes src/audit/b.ts → src/billing/c.ts
src-phone
  no  src/phone/a.ts → src/boxes/b.ts
  no  src/phone/a.ts → src/audit/b.ts (types)
  yes src/phone/a.ts → src/frame/b.ts
  yes src/phone/a.ts → src/phone/operate/c.ts
  yes src/phone/reactions/a.ts → src/phone/b.ts
  yes src/phone/a.ts → src/registration/b.ts
src-read-models-apart
  no  src/boxes/a.ts → projections/phone/b.ts
  yes src/phone/a.ts → projections/phone/b.ts
  yes src/credits/a.ts → projections/charging/b.ts
  yes src/audit/a.ts → projections/phone/b.ts
src-cross-cutting
  no  src/storage/a.ts → src/phone/b.ts
  yes src/storage/a.ts → src/frame/b.ts
bin-needs-nothing
  no  bin/a.mjs → kysely
  yes bin/a.mjs → node:fs
  yes bin/a.mjs → bin/b.mjs
not-to-test
  no  src/a.ts → test/b.ts
  no  bin/a.mjs → test/b.ts
  yes test/b.ts → src/a.ts
  yes bench/a.ts → test/b.ts
not-to-bench
  no  src/a.ts → bench/b.ts
  yes test/a.ts → bench/b.ts
not-to-dev-packages
  no  src/a.ts → fast-check
  yes src/a.ts → fastify
  yes test/b.ts → fast-check
resolvable
  no  src/a.ts → src/gone.ts
  yes src/a.ts → src/b.ts
no-cycles
  no  src/a.ts → src/b.ts → src/a.ts (types)
  yes src/a.ts → src/b.ts
mutual-folders
  no  src/frame/p/a.ts → src/frame/q/b.ts → src/frame/p/c.ts (types)
  no  src/frame/a.ts → src/frame/t/b.ts → src/frame/a.ts (types)
  no  adapters/p/x/a.ts → adapters/q/x/b.ts → adapters/p/y/c.ts
  yes src/frame/r/a.ts → src/frame/s/b.ts
  yes src/frame/p/a.ts → src/frame/p/b.ts
no-orphans
  no  src/a.ts
  yes src/a.ts → src/b.ts
src-console-decides-nothing
  no  src/console/a.ts → domain/charging/b.ts
  no  src/console/a.ts → kysely
  yes src/console/a.ts → domain/kernel/ids.ts
  yes src/charging/a.ts → kysely
console-apart
  no  console/a.ts → domain/kernel/b.ts
  yes console/a.ts → console/parts/b.ts
not-to-console
  no  src/console/a.ts → console/b.ts
  yes console/a.ts → console/b.ts
`

/** A line of the table: whether a rule forbids that each file imports the next one. */
interface Row {
  readonly rule: string
  readonly line: string
  readonly isForbidden: boolean
  readonly files: readonly string[]
  readonly statement: string
}

const STATEMENTS: Readonly<Record<string, string>> = {
  "": "import",
  types: "import type {} from",
  export: "export * from",
}

/** Whether a module is a package or part of Node, not a file of the tree. */
const isPackage = (name: string): boolean => !/\.m?ts$|\.mjs$/.test(name) || name === "ipaddr.js"

function rowsOf(table: string): readonly Row[] {
  let rule = ""
  return table.split("\n").flatMap((line, at) => {
    const [, mark, path = "", kind = ""] = /^ {2}(no|yes) +(.+?)(?: \((\w+)\))?$/.exec(line) ?? []
    if (mark === undefined) {
      rule = line
      return []
    }
    const files = path
      .split(" → ")
      .map((file) => file.replace(/(?<=\/[abc])(?=\.m?[jt]s$)/, String(at)))
    return [
      {
        rule,
        line: line.trim(),
        isForbidden: mark === "no",
        files,
        statement: STATEMENTS[kind] ?? "",
      },
    ]
  })
}

const ROWS = rowsOf(IMPORTS)
const folder = mkdtempSync(join(tmpdir(), "import-rules-"))
afterAll(() => rmSync(folder, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** Writes one tree with the files of all rows and the packages that they import. */
function writeTree(): void {
  const texts = new Map<string, string>()
  const packages = new Set<string>()
  for (const { files, statement } of ROWS) {
    for (const [index, file] of files.entries()) {
      if (isPackage(file)) {
        if (!file.startsWith("node:")) packages.add(file)
      } else if (file !== "src/gone.ts") {
        const to = files[index + 1]
        const text = texts.get(file) ?? ""
        const name = to === undefined || isPackage(to) ? to : `./${relative(dirname(file), to)}`
        texts.set(file, name === undefined ? text : `${text}${statement} ${JSON.stringify(name)}\n`)
      }
    }
  }
  for (const [path, text] of texts) write(path, text)
  for (const name of packages) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.js" }))
    write(`node_modules/${name}/index.js`, "")
  }
  const [devDependencies, dependencies] = [true, false].map((isDev) => {
    const names = [...packages].filter((name) => (name === "fast-check") === isDev)
    return Object.fromEntries(names.map((name) => [name, "1"]))
  })
  write("package.json", JSON.stringify({ type: "module", dependencies, devDependencies }))
}

writeTree()
const folders = new Set(ROWS.map(({ files: [file = ""] }) => file.split("/")[0] ?? ""))
const { violations } = await checkImportRules(folder, [...folders])

it.for(ROWS)("$rule: $line", ({ rule, files, isForbidden }) => {
  const [from = "", to = from] = files
  const name = isPackage(to) ? to.replace("node:", "") : basename(to)
  const broken = violations.filter(
    (one) => one.startsWith(`${rule}: ${from} → `) && one.includes(name),
  )
  expect(broken).toHaveLength(isForbidden ? 1 : 0)
})

it("every import rule has a case here", () => {
  const config = createRequire(import.meta.url)("../../.dependency-cruiser.cjs") as {
    readonly forbidden: readonly { readonly name: string }[]
  }
  const names = new Set(ROWS.flatMap(({ rule, isForbidden }) => (isForbidden ? [rule] : [])))
  expect(config.forbidden.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
})
