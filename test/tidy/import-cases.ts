export type Case = { readonly rule: string } & Readonly<
  Record<"wrong" | "right", Readonly<Record<string, string>>>
>

/** The case of a folder of adapters that has packages of its own. */
function vendorsOf(folder: string, own: string): Case {
  const [file, rule] = [`adapters/${folder}/a.ts`, `adapter-${folder.replace("/", "-")}-vendor`]
  return { rule, wrong: { [file]: 'import "fastify"' }, right: { [file]: own } }
}

/** For each rule the imports that break it, and imports like them that are right. */
export const CASES: readonly Case[] = [
  {
    rule: "domain-pure",
    wrong: { "domain/phone/a.ts": 'import "node:fs"' },
    right: { "domain/phone/a.ts": 'import "./b.ts"', "domain/phone/b.ts": "" },
  },
  {
    rule: "domain-pure",
    wrong: { "domain/phone/a.ts": 'import "kysely"' },
    right: { "domain/phone/a.ts": 'import "../kernel/b.ts"', "domain/kernel/b.ts": "" },
  },
  {
    rule: "domain-pure",
    wrong: { "domain/phone/a.ts": 'import type { B } from "../../src/b.ts"', "src/b.ts": "" },
    right: { "src/b.ts": 'import "../domain/phone/a.ts"', "domain/phone/a.ts": "" },
  },
  {
    rule: "domain-slices-apart",
    wrong: {
      "domain/phone/a.ts": 'import type { B } from "../boxes/b.ts"',
      "domain/boxes/b.ts": "",
    },
    right: { "domain/phone/a.ts": 'import "../kernel/b.ts"', "domain/kernel/b.ts": "" },
  },
  {
    rule: "domain-voice",
    wrong: { "domain/voice/a.ts": 'import "../phone/phone.ts"', "domain/phone/phone.ts": "" },
    right: { "domain/voice/a.ts": 'import "../phone/ids.ts"', "domain/phone/ids.ts": "" },
  },
  {
    rule: "domain-kernel-alone",
    wrong: {
      "domain/kernel/a.ts": 'import type { B } from "../charging/b.ts"',
      "domain/charging/b.ts": "",
    },
    right: { "domain/kernel/a.ts": 'import "./b.ts"', "domain/kernel/b.ts": "" },
  },
  {
    rule: "domain-charging-types",
    wrong: { "domain/phone/a.ts": 'import "../charging/b.ts"', "domain/charging/b.ts": "" },
    right: {
      "domain/phone/a.ts": 'import type { B } from "../charging/b.ts"',
      "domain/charging/b.ts": "",
    },
  },
  {
    rule: "domain-charging-types",
    wrong: { "domain/phone/a.ts": 'export * from "../charging/b.ts"', "domain/charging/b.ts": "" },
    right: { "domain/charging/a.ts": 'export * from "./b.ts"', "domain/charging/b.ts": "" },
  },
  {
    rule: "projections-rooms",
    wrong: { "projections/a.ts": 'import "pg"' },
    right: { "projections/a.ts": 'import "kysely"\nimport "../domain/b.ts"', "domain/b.ts": "" },
  },
  {
    rule: "projections-rooms",
    wrong: { "projections/a.ts": 'import "../adapters/x/port.ts"', "adapters/x/port.ts": "" },
    right: { "projections/a.ts": 'import "./b.ts"', "projections/b.ts": "" },
  },
  {
    rule: "adapter-vendor",
    wrong: { "adapters/providers/simulators/a.ts": 'import "fastify"' },
    right: { "adapters/locks/a.ts": 'import "pg"\nimport "node:net"' },
  },
  vendorsOf("eventstore", 'import "@eventstore/db-client"'),
  {
    rule: "adapter-postgres-vendor",
    wrong: { "adapters/postgres/a.ts": 'import "@eventstore/db-client"' },
    right: { "adapters/postgres/a.ts": 'import "pg"\nimport "kysely"' },
  },
  vendorsOf("providers/dns", 'import "dns-packet"\nimport "tldts"'),
  vendorsOf("providers/mailer", 'import "nodemailer"'),
  vendorsOf("providers/addresses", 'import "ipaddr.js"'),
  ...["voice", "places", "carrier", "registry", "telnyx", "boxhost"].map((folder) =>
    vendorsOf(`providers/${folder}`, 'import "zod"'),
  ),
  vendorsOf("providers/preview-host", 'import "tar-stream"'),
  {
    rule: "adapter-keeper-alone",
    wrong: { "adapters/providers/boxhost/bubblewrap/keeper/a.ts": 'import "zod"' },
    right: { "adapters/providers/boxhost/bubblewrap/keeper/a.ts": 'import "node:fs"' },
  },
  vendorsOf("providers/cards", 'import "stripe"\nimport "pg"'),
  vendorsOf("data-folder", 'import "zod"\nimport "node:fs"'),
  vendorsOf("tracing", 'import "@opentelemetry/api"'),
  vendorsOf("secret-scan", 'import "@secretlint/core"'),
  {
    rule: "adapter-rooms",
    wrong: { "adapters/x/a.ts": 'import type { B } from "../../src/b.ts"', "src/b.ts": "" },
    right: { "adapters/x/a.ts": 'import "./b.ts"', "adapters/x/b.ts": "" },
  },
  {
    rule: "adapter-types-only",
    wrong: {
      "adapters/x/a.ts": 'import { b } from "../../domain/phone/b.ts"',
      "domain/phone/b.ts": "",
    },
    right: {
      "adapters/x/a.ts": 'import type { B } from "../../domain/phone/b.ts"',
      "domain/phone/b.ts": "",
    },
  },
  {
    rule: "adapter-types-only",
    wrong: {
      "adapters/x/a.ts": 'import { b } from "../../domain/kernel/streams.ts"',
      "domain/kernel/streams.ts": "",
    },
    right: {
      "adapters/x/a.ts": 'import { b } from "../../domain/kernel/ids.ts"',
      "domain/kernel/ids.ts": "",
    },
  },
  {
    rule: "adapter-types-only",
    wrong: {
      "adapters/x/a.ts": 'import { b } from "../../projections/b.ts"',
      "projections/b.ts": "",
    },
    right: {
      "adapters/x/a.ts": 'import type { B } from "../../projections/b.ts"',
      "projections/b.ts": "",
    },
  },
  {
    rule: "adapter-names",
    wrong: {
      "adapters/providers/dns/a.ts": 'import { b } from "../../../domain/phone/b.ts"',
      "domain/phone/b.ts": "",
    },
    right: {
      "adapters/providers/dns/a.ts": 'import { b } from "../../../domain/domains/b.ts"',
      "domain/domains/b.ts": "",
    },
  },
  {
    rule: "adapter-apart",
    wrong: { "adapters/x/a.ts": 'import "../y/b.ts"', "adapters/y/b.ts": "" },
    right: {
      "adapters/x/a.ts": 'import "../y/port.ts"\nimport "../postgres/c.ts"',
      "adapters/y/port.ts": "",
      "adapters/postgres/c.ts": "",
    },
  },
  {
    rule: "adapter-apart",
    wrong: { "adapters/providers/x/a.ts": 'import "../y/b.ts"', "adapters/providers/y/b.ts": "" },
    right: {
      "adapters/providers/x/a.ts": 'import "../y/port.ts"\nimport "./b.ts"\nimport "../outside.ts"',
      "adapters/providers/outside.ts": "",
      "adapters/providers/x/b.ts": "",
      "adapters/providers/y/port.ts": "",
    },
  },
  {
    rule: "src-ports-only",
    wrong: { "src/a.ts": 'import type { B } from "../adapters/x/b.ts"', "adapters/x/b.ts": "" },
    right: {
      "src/a.ts": 'import "../adapters/x/port.ts"\nimport "../adapters/providers/outside.ts"',
      "adapters/providers/outside.ts": "",
      "src/main.ts": 'import "../adapters/x/b.ts"',
      "src/compose/c.ts": 'import "../../adapters/x/b.ts"',
      "adapters/x/port.ts": "",
      "adapters/x/b.ts": "",
    },
  },
  {
    rule: "src-providers-only",
    wrong: {
      "src/phone/providers/a.ts": 'import "../../../adapters/work/b.ts"',
      "adapters/work/b.ts": "",
    },
    right: {
      "src/phone/slice.ts": 'import "./providers/a.ts"',
      "src/phone/providers/a.ts":
        'import "../../../adapters/providers/x/b.ts"\nimport "../../../adapters/work/port.ts"',
      "adapters/providers/x/b.ts": "",
      "adapters/work/port.ts": "",
    },
  },
  {
    rule: "src-providers-behind-slice",
    wrong: { "src/phone/send.ts": 'import "./providers/a.ts"', "src/phone/providers/a.ts": "" },
    right: {
      "src/phone/slice.ts": 'import "./providers/a.ts"',
      "src/phone/registration/slice.ts": 'import "../providers/a.ts"',
      "src/phone/providers/a.ts": 'import "./b.ts"',
      "src/phone/providers/b.ts": "",
    },
  },
  {
    rule: "src-compose-behind-main",
    wrong: { "src/phone/a.ts": 'import "../compose/b.ts"', "src/compose/b.ts": "" },
    right: { "src/main.ts": 'import "./compose/b.ts"', "src/compose/b.ts": "" },
  },
  {
    rule: "src-frame-below",
    wrong: { "src/frame/a.ts": 'import type { B } from "../phone/b.ts"', "src/phone/b.ts": "" },
    right: { "src/phone/b.ts": 'import "../frame/a.ts"', "src/frame/a.ts": "" },
  },
  {
    rule: "src-frame-below",
    wrong: { "src/frame/calls/a.ts": 'import "../../audit/b.ts"', "src/audit/b.ts": "" },
    right: { "src/frame/calls/a.ts": 'import "../kernel/b.ts"', "src/frame/kernel/b.ts": "" },
  },
  {
    rule: "src-slices-apart",
    wrong: { "src/phone/a.ts": 'import "../boxes/b.ts"', "src/boxes/b.ts": "" },
    right: {
      "src/phone/a.ts": 'import "../frame/b.ts"\nimport "./operate/c.ts"',
      "src/phone/operate/c.ts": "",
      "src/mcp/a.ts": 'import "../phone/a.ts"',
      "src/frame/b.ts": "",
    },
  },
  {
    rule: "src-slices-apart",
    wrong: {
      "src/phone/reactions/a.ts": 'import "../../company/reactions/b.ts"',
      "src/company/reactions/b.ts": "",
    },
    right: { "src/phone/reactions/a.ts": 'import "../b.ts"', "src/phone/b.ts": "" },
  },
  {
    rule: "src-slices-apart",
    wrong: { "src/phone/a.ts": 'import type { B } from "../audit/b.ts"', "src/audit/b.ts": "" },
    right: { "src/audit/b.ts": 'import "../exports/c.ts"', "src/exports/c.ts": "" },
  },
  {
    rule: "src-read-models-apart",
    wrong: {
      "src/boxes/a.ts": 'import "../../projections/phone/b.ts"',
      "projections/phone/b.ts": "",
    },
    right: {
      "src/phone/a.ts": 'import "../../projections/phone/b.ts"',
      "src/credits/a.ts": 'import "../../projections/charging/b.ts"',
      "src/audit/a.ts": 'import "../../projections/phone/b.ts"',
      "projections/phone/b.ts": "",
      "projections/charging/b.ts": "",
    },
  },
  {
    rule: "src-above-frame",
    wrong: { "src/moving/a.ts": 'import "../phone/b.ts"', "src/phone/b.ts": "" },
    right: { "src/moving/a.ts": 'import "../frame/b.ts"', "src/frame/b.ts": "" },
  },
  {
    rule: "bin-needs-nothing",
    wrong: { "bin/a.mjs": 'import "kysely"' },
    right: { "bin/a.mjs": 'import "node:fs"\nimport "./b.mjs"', "bin/b.mjs": "" },
  },
  {
    rule: "not-to-test",
    wrong: { "src/a.ts": 'import "../test/b.ts"', "test/b.ts": "" },
    right: { "test/b.ts": 'import "../src/a.ts"', "src/a.ts": "" },
  },
  {
    rule: "not-to-test",
    wrong: { "bin/a.mjs": 'import "../test/b.ts"', "test/b.ts": "" },
    right: { "bench/a.ts": 'import "../test/b.ts"', "test/b.ts": "" },
  },
  {
    rule: "not-to-bench",
    wrong: { "src/a.ts": 'import "../bench/b.ts"', "bench/b.ts": "" },
    right: { "test/a.ts": 'import "../bench/b.ts"', "bench/b.ts": "" },
  },
  {
    rule: "not-to-dev-packages",
    wrong: { "src/a.ts": 'import "fast-check"' },
    right: { "src/a.ts": 'import "fastify"', "test/b.ts": 'import "fast-check"' },
  },
  {
    rule: "resolvable",
    wrong: { "src/a.ts": 'import "./gone.ts"' },
    right: { "src/a.ts": 'import "./b.ts"', "src/b.ts": "" },
  },
  {
    rule: "no-cycles",
    wrong: { "src/a.ts": 'import type { B } from "./b.ts"', "src/b.ts": 'import "./a.ts"' },
    right: { "src/a.ts": 'import "./b.ts"', "src/b.ts": "" },
  },
  {
    rule: "no-orphans",
    wrong: { "src/a.ts": "" },
    right: { "src/a.ts": 'import "./b.ts"', "src/b.ts": "" },
  },
]
