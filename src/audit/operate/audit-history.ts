/** Operations on histories: export, signed heads, proofs and replay. */
import { z } from "zod"
import { comparePositions } from "../../../adapters/eventstore/port.ts"
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companiesOfCharge } from "../../../projections/charging/charges.ts"
import { companiesOfRefusal } from "../../../projections/charging/refusals.ts"
import type { CorruptStreamEntry } from "../../../adapters/postgres/corrupt-streams/port.ts"
import { corruptStreamsOf } from "../../frame/writer/corrupt-list.ts"
import type { HistoryExportResult } from "../history-file.ts"
import { eventLine, eventsUpTo, orderedHeadFields, writeHistory } from "../history-file.ts"
import { withProgress, openProgressMeter } from "../findings.ts"
import { proveCharge } from "../proof.ts"
import { replayHistory } from "../replay-history.ts"
import { COMPANY_OPTION } from "./history-inputs.ts"
import { signHead, signTrees } from "../trees.ts"
import { parsePositionToken } from "../../frame/routes/checks/6-position.ts"
import type { SignedTreeHead } from "../../../adapters/postgres/tree-heads/port.ts"
import type { OutputPage } from "../../frame/operator/cli/render.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import { findCompany, waitForOwnWrites, idInput } from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import {
  CONSOLE_FILE_RATE_LIMIT,
  operation,
  OperatorRefused,
} from "../../frame/operator/operation.ts"

/** How many earlier heads a proof includes: about a month. */
const MAX_FORMER_HEADS = 31

const Scope = z.object({ company: COMPANY_OPTION })

async function companyInScope(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  company: string | undefined,
): Promise<CompanyId | null> {
  return company === undefined ? null : findCompany(ports, company)
}

/**
 * Parses the end position, which must be in this store; default the store's head.
 *
 * @throws OperatorRefused for an invalid position
 */
async function parseEndPosition(
  ports: Pick<AdminPorts, "store" | "storeGeneration">,
  named: string | undefined,
): Promise<Position> {
  const head = await ports.store.head()
  if (named === undefined) return head
  const token = parsePositionToken(named)
  if (token === null)
    throw new OperatorRefused(
      "validation",
      `Position "${named}" is malformed. Use a Ledger-Position.`,
    )
  const isHere = token.generation === ports.storeGeneration
  if (isHere && comparePositions(token.position, head) <= 0) return token.position
  throw new OperatorRefused("validation", `Position ${named} is not in this event store.`)
}

const exportHistory = operation({
  name: "audit export",
  summary: "write the raw streams into one file that can be checked on any machine",
  notes: [
    "NDJSON: every event with its stored texts, then the range of each stream, the signed head of " +
      "each tree, and a manifest. docs/verify.md describes every byte, with a script that checks a file.",
    "corruptStreams: the corrupt streams, and from which revision on they are not in the file.",
    "The same range gives the same bytes: pass the position of a head, such as that of an earlier export, " +
      "with --to. Personal fields stay sealed. The file is written completely or not at all.",
  ],
  example: "audit export --company acme --out acme.ndjson",
  hasFile: true,
  isLongRunning: true,
  input: Scope.extend({
    to: z
      .string()
      .optional()
      .meta({ description: "the last position; default all", takes: "position", form: "text" }),
  }),
  consoleAccess: { permission: "See billing", rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async ({ ports, send, progress, signal }, { company, to: named }) => {
    const companyId = await companyInScope(ports, company)
    // Buffered calls are stored first, so the export includes them.
    await ports.flush()
    const to = await parseEndPosition(ports, named)
    const { provenStore: store, streams, storeGeneration: generation, signing } = ports
    const written = await writeHistory({
      store,
      streams,
      companyId,
      to,
      generation,
      send,
      signal,
      sign: (head) => signHead(signing, head),
      meter: openProgressMeter(to, progress),
    })
    const corruptStreams = corruptStreamsOf(ports, companyId)
    return { ...written, heads: written.heads.map(orderedHeadFields), corruptStreams }
  },
  render: ({ heads, corruptStreams, ...written }: HistoryExportOutput, page) => {
    const { file, events, streams, sha256 } = written
    const fields = Object.entries({ file, events, streams, sha256 })
    return renderFields(fields) + renderHeads(heads, page) + renderCorrupt(corruptStreams, page)
  },
})

interface HistoryExportOutput extends HistoryExportResult {
  readonly file?: string
  /** The corrupt streams; the file holds their proven events only. */
  readonly corruptStreams: readonly CorruptStreamEntry[]
}

function renderCorrupt(corrupt: readonly CorruptStreamEntry[], page: OutputPage): string {
  return corrupt.length === 0 ? "" : `\nCorrupt streams:\n${renderTable(corrupt, page, "streams")}`
}

function renderHeads(heads: readonly SignedTreeHead[], page: OutputPage): string {
  const rows = heads.map(({ tree, size, root, position, at }) => ({
    tree,
    size,
    root,
    position,
    at,
  }))
  return renderTable(rows, page, "heads")
}

const head = operation({
  name: "audit head",
  summary: "sign and show the head of each company's tree over all its events",
  notes: [
    "Write down the public key and a head on another machine: `audit verify --head ROOT` and every later " +
      "export and proof then reveal any change. Heads are also signed automatically each UTC day.",
    "corruptStreams: the corrupt streams. Their companies keep their previous heads until the streams are released.",
  ],
  example: "audit head --company acme",
  isLongRunning: true,
  input: Scope,
  consoleAccess: { permission: "See billing" },
  run: async ({ ports, signal }, { company }) => {
    const companyId = await companyInScope(ports, company)
    await ports.flush()
    await signTrees(ports, signal)
    const heads = (await ports.treeHeads.newest(companyId)).map(orderedHeadFields)
    const corruptStreams = corruptStreamsOf(ports, companyId)
    return { publicKey: (await ports.signing.sign("")).publicKey, heads, corruptStreams }
  },
  render: ({ publicKey, heads, corruptStreams }, page) => {
    const rows = heads.map(({ tree, size, root, position, at, signature }) => ({
      tree,
      size,
      root,
      position,
      at,
      signature,
    }))
    const signed = renderFields([["publicKey", publicKey]]) + renderTable(rows, page, "heads")
    return signed + renderCorrupt(corruptStreams, page)
  },
})

const proof = operation({
  name: "audit proof",
  summary: "write the proof of one charge, or of its refusal",
  notes: [
    "The file has the event, the inputs of its decision, the path from each event to the signed root of " +
      "the company's tree, and the paths from earlier heads to it. The public key is enough to check it.",
  ],
  example: "audit proof chg_4gVq9sT1aZkW9pVv0Yy3xJ --out proof.json",
  hasFile: true,
  isLongRunning: true,
  input: Scope.extend({
    chargeId: idInput.meta({ description: "the charge", argument: "CHARGE_ID", form: "text" }),
  }),
  consoleAccess: { permission: "See billing" },
  run: async (context, { company, chargeId }) => {
    const { ports, send, progress, signal } = context
    await ports.flush()
    await waitForOwnWrites(ports)
    const companyId =
      (await companyInScope(ports, company)) ?? (await findChargeCompany(ports, chargeId))
    const { provenStore: store, streams, storeGeneration: generation, signing, treeHeads } = ports
    const formerHeads = (await treeHeads.list(companyId)).slice(-MAX_FORMER_HEADS)
    const to = await store.head()
    const made = await proveCharge({
      store,
      streams,
      companyId,
      chargeId,
      to,
      generation,
      formerHeads,
      signal,
      sign: (one) => signHead(signing, one),
      meter: openProgressMeter(to, progress),
    })
    if (made === null) throw chargeNotFound(chargeId)
    await send(`${JSON.stringify(made)}\n`)
    const { stream, revision, type } = made.event
    return { company: companyId, chargeId, stream, revision, type, head: made.head }
  },
})

function chargeNotFound(chargeId: string): OperatorRefused {
  const message =
    `No charge or stored refusal has the id ${chargeId}. Only the first refusal of a key, reason and period ` +
    "is stored; later ones are counted."
  return new OperatorRefused("not_found", message)
}

/**
 * Finds the only company with this charge or a refusal of it.
 *
 * @throws OperatorRefused if there is none, or several
 */
async function findChargeCompany(
  { readAll }: Pick<AdminPorts, "readAll">,
  chargeId: string,
): Promise<CompanyId> {
  const found = [
    ...(await companiesOfCharge(readAll, chargeId)),
    ...(await companiesOfRefusal(readAll, chargeId)),
  ]
  const [first, second] = new Set(found)
  if (first === undefined) throw chargeNotFound(chargeId)
  if (second === undefined) return first
  const message = `Several companies have a charge ${chargeId}. Choose one with --company.`
  throw new OperatorRefused("validation", message)
}

const streamPrefixes = (category: string, companyId: CompanyId | null): readonly string[] => [
  companyId === null ? `${category}-` : `${category}-${companyId}`,
]

const replay = operation({
  name: "audit replay",
  isLongRunning: true,
  input: Scope,
  run: async (context, { company }) => {
    const { ports, progress, signal } = context
    const companyId = await companyInScope(ports, company)
    await ports.flush()
    const { provenStore: store, streams } = ports
    const to = await store.head()
    const meter = openProgressMeter(to, progress)
    return replayHistory({
      rules: null,
      pages: async function* (category) {
        const range = { store, streams, companyId, to }
        for await (const page of eventsUpTo(range, streamPrefixes(category, companyId))) {
          signal.throwIfAborted()
          yield page
          if (category === "ledger") meter.advance(page.at(-1)?.position ?? null, page.length)
        }
      },
    })
  },
})

/** The events for a replay with other rules, which never runs in the server. */
const rawEvents = operation({
  name: "audit raw",
  isLongRunning: true,
  input: Scope.extend({ category: z.enum(["refusals", "ledger"]) }),
  run: async (context: AdminContext, { company, category }) => {
    const { ports, send, progress, signal } = context
    const companyId = await companyInScope(ports, company)
    await ports.flush()
    const { provenStore: store, streams } = ports
    const to = await store.head()
    const meter = openProgressMeter(to, progress)
    const range = { store, streams, companyId, to }
    const pages = eventsUpTo(range, streamPrefixes(category, companyId))
    for await (const page of withProgress(pages, meter, signal)) {
      if (page.length > 0) await send(page.map(eventLine).join(""))
    }
    return { company: companyId }
  },
})

export const historyOperations: readonly AdminOperation[] = [
  exportHistory,
  head,
  proof,
  replay,
  rawEvents,
]
