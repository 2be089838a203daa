/** Checks a proof with the public key alone. */
import { z } from "zod"
import type { SignedTreeHead } from "../../adapters/postgres/tree-heads/port.ts"
import { expectedHash } from "../frame/kernel/envelope.ts"
import { formatIssue } from "../frame/routes/checks/7-values.ts"
import { HistoryFileFault, SignedHeadSchema, hasValidSignature } from "./check-history.ts"
import { isConsistent, rootFromInclusion } from "./merkle.ts"
import type { DecisionInputs } from "./proof-inputs.ts"
import { UNPROVEN_FOR_CHARGE, UNPROVEN_FOR_REFUSAL, decisionInputsFault } from "./proof-inputs.ts"

/** An event of a proof: the inputs of its hash, and its path to the root. */
const ProvenEventSchema = z.object({
  stream: z.string(),
  revision: z.int(),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  metadata: z.string(),
  /** Hash of the event before it in its stream. */
  previousHash: z.string(),
  /** Its index in the tree, from 0. */
  index: z.int().nonnegative(),
  inclusion: z.array(z.string()).readonly(),
})

export type ProvenEvent = Readonly<z.infer<typeof ProvenEventSchema>>

const Limit = z.object({
  holder: z.enum(["company", "person", "key"]),
  holderId: z.string().nullable(),
  class: z.enum(["ai", "general", "all"]),
  period: z.enum(["day", "week", "month"]),
  amountMicros: z.int(),
  usedMicros: z.int(),
  unrecordedMicros: z.int(),
  remainingMicros: z.int(),
  askedMicros: z.int(),
  windowStart: z.int(),
  resetsAt: z.int(),
})

const DecisionInputsSchema = z.object({
  ledgerRevision: z.int(),
  fundsMicros: z.int(),
  creditLineMicros: z.int(),
  prepaidOnly: z.boolean(),
  locked: z.boolean(),
  limits: z.array(Limit).readonly(),
  /** The facts that set the limits and the terms, and the ledger's fact before the decision. */
  events: z.array(ProvenEventSchema).readonly(),
})

const ProofSchema = z.object({
  companyLedger: z.literal("proof"),
  form: z.literal(1),
  company: z.string(),
  chargeId: z.string(),
  /** The decision: `Charged` or `ChargeRefused`. */
  event: ProvenEventSchema,
  inputs: DecisionInputsSchema,
  /** Later facts of the charge: its settlement and refunds. */
  later: z.array(ProvenEventSchema).readonly(),
  /** Earlier heads, each with the proof that the tree only grew from it. */
  consistency: z
    .array(z.object({ from: SignedHeadSchema, path: z.array(z.string()).readonly() }))
    .readonly(),
  head: SignedHeadSchema,
})

export type Proof = Readonly<z.infer<typeof ProofSchema>>

export interface ProofSummary {
  readonly kind: "proof"
  readonly company: string
  readonly chargeId: string
  /** The event of the decision. */
  readonly decided: string
  /** Number of events found in the tree. */
  readonly events: number
  /** What the proof states and no event in it proves, in words. */
  readonly unproven: string
  readonly head: SignedTreeHead
  readonly publicKeys: readonly string[]
}

/**
 * Checks a proof: each event's hash, its path to the signed root, that earlier heads lead to it,
 * and that the inputs match the events.
 *
 * @param publicKey the only key that may have signed it, base64; null for any
 * @throws FileFault at the first discrepancy
 */
export function checkProof(parsed: object, publicKey: string | null): ProofSummary {
  const read = ProofSchema.safeParse(parsed, { error: formatIssue })
  if (!read.success) {
    const [issue] = read.error.issues
    return fault("a proof of form 1", `${issue?.path.join(".")}: ${issue?.message}`)
  }
  const { head, event, inputs, later, consistency, company, chargeId } = read.data
  checkHead(head, company, publicKey)
  const events = [event, ...inputs.events, ...later]
  for (const one of events) checkEvent(one, head)
  if (event.type !== "Charged" && event.type !== "ChargeRefused") {
    fault("a decision: Charged or ChargeRefused", event.type, event)
  }
  const named = chargeIdOf(event)
  if (named !== chargeId) fault(`an event of charge ${chargeId}`, named, event)
  for (const one of later)
    if (!one.data.includes(JSON.stringify(chargeId))) {
      fault(`later events of charge ${chargeId}`, one.data, one)
    }
  const { events: facts, ...statedInputs } = inputs
  const discrepancy = decisionInputsFault(event, statedInputs as DecisionInputs, facts)
  if (discrepancy !== null) fault(discrepancy.expected, discrepancy.found, event)
  for (const { from, path } of consistency) {
    checkHead(from, company, publicKey)
    if (!isConsistent(from, head, path)) {
      fault(`a path from the head of ${from.size} events to that of ${head.size}`, "none")
    }
  }
  const publicKeys = [...new Set([head, ...consistency.map(({ from }) => from)].map(publicKeyOf))]
  const decided = `${event.stream} revision ${event.revision}: ${event.type}`
  const unproven = event.type === "ChargeRefused" ? UNPROVEN_FOR_REFUSAL : UNPROVEN_FOR_CHARGE
  const found = { company, chargeId, decided, events: events.length, unproven }
  return { kind: "proof", ...found, head, publicKeys }
}

/** The charge that an event's text names. */
function chargeIdOf({ data }: ProvenEvent): string {
  return String((JSON.parse(data) as { readonly chargeId?: unknown }).chargeId)
}

const publicKeyOf = ({ publicKey }: SignedTreeHead): string => publicKey

function checkHead(head: SignedTreeHead, company: string, publicKey: string | null): void {
  if (head.tree !== company) fault(`a head of ${company}`, `one of ${head.tree}`)
  if (!hasValidSignature(head)) fault("a signature by the key it names", "an invalid signature")
  if (publicKey !== null && head.publicKey !== publicKey) {
    fault(`a signature by ${publicKey}`, `one by ${head.publicKey}`)
  }
}

function checkEvent(event: ProvenEvent, head: SignedTreeHead): void {
  const expected = expectedHash(event, event.previousHash)
  const found = /"hash":"([0-9a-f]{64})"/.exec(event.metadata)?.[1] ?? "none"
  if (found !== expected) fault(`the hash ${expected}`, found, event)
  const root = rootFromInclusion(found, event.index, head.size, event.inclusion)
  if (root !== head.root) fault(`the root ${head.root}`, root ?? "no path to a root", event)
}

function fault(
  expected: string,
  found: string,
  at?: { readonly stream: string; readonly revision: number },
): never {
  const location = at === undefined ? {} : { stream: at.stream, revision: at.revision }
  throw new HistoryFileFault({ line: 1, ...location, expected, found })
}
