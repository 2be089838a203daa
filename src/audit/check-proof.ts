/** Checking a proof with the public key alone. */
import { z } from "zod"
import type { SignedHead } from "../../adapters/postgres/tree-heads/port.ts"
import { expectedHash } from "../frame/kernel/envelope.ts"
import { inWords } from "../frame/routes/checks/7-values.ts"
import { FileFault, Head, isSigned } from "./check-history.ts"
import { isConsistent, rootByInclusion } from "./merkle.ts"
import type { DecisionInputs } from "./proof-inputs.ts"
import { STATED_OF_CHARGE, STATED_OF_REFUSAL, inputsFault } from "./proof-inputs.ts"

/** An event: all that its hash is made of, and the way from it to the root. */
const Event = z.object({
  stream: z.string(),
  revision: z.int(),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  metadata: z.string(),
  /** The hash of its stream's event before it. */
  previousHash: z.string(),
  /** Its place in the tree, from 0. */
  index: z.int().nonnegative(),
  inclusion: z.array(z.string()).readonly(),
})

/** An event of a proof. */
export type ProvenEvent = Readonly<z.infer<typeof Event>>

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

const Inputs = z.object({
  ledgerRevision: z.int(),
  fundsMicros: z.int(),
  creditLineMicros: z.int(),
  prepaidOnly: z.boolean(),
  locked: z.boolean(),
  limits: z.array(Limit).readonly(),
  /** The facts that set the limits and the terms, and the ledger's fact before the decision. */
  events: z.array(Event).readonly(),
})

/** A proof, with every field that it has to have. */
const Checked = z.object({
  companyLedger: z.literal("proof"),
  form: z.literal(1),
  company: z.string(),
  chargeId: z.string(),
  /** What was decided: `Charged`, or `ChargeRefused`. */
  event: Event,
  inputs: Inputs,
  /** What became of the charge: its closing, or its giving back. */
  later: z.array(Event).readonly(),
  /** Former heads, and that this one only grew from each. */
  consistency: z.array(z.object({ from: Head, path: z.array(z.string()).readonly() })).readonly(),
  head: Head,
})

/** The proof of a decision. */
export type Proof = Readonly<z.infer<typeof Checked>>

/** What a proof says, once all of it was found right. */
export interface ProofSummary {
  readonly kind: "proof"
  readonly company: string
  readonly chargeId: string
  /** The event that was decided. */
  readonly decided: string
  /** How many events were found in the tree. */
  readonly events: number
  /** What the proof says besides and nothing in it proves, in words. */
  readonly statedOnly: string
  readonly head: SignedHead
  readonly publicKeys: readonly string[]
}

/**
 * Checks a proof: each event's hash, its way to the signed root, that former heads lead to it, and
 * that what was decided from is what these events say.
 *
 * @param publicKey the only key that may have signed it, base64; null for any
 * @throws FileFault at the first thing that does not hold
 */
export function checkProof(parsed: object, publicKey: string | null): ProofSummary {
  const read = Checked.safeParse(parsed, { error: inWords })
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
  const named = chargeOf(event)
  if (named !== chargeId) fault(`an event of charge ${chargeId}`, named, event)
  for (const one of later)
    if (!one.data.includes(JSON.stringify(chargeId))) {
      fault(`later events of charge ${chargeId}`, one.data, one)
    }
  const { events: facts, ...decidedFrom } = inputs
  const wrong = inputsFault(event, decidedFrom as DecisionInputs, facts)
  if (wrong !== null) fault(wrong.expected, wrong.found, event)
  for (const { from, path } of consistency) {
    checkHead(from, company, publicKey)
    if (!isConsistent(from, head, path)) {
      fault(`a way from the head of ${from.size} events to that of ${head.size}`, "none")
    }
  }
  const publicKeys = [...new Set([head, ...consistency.map(({ from }) => from)].map(keyOf))]
  const decided = `${event.stream} revision ${event.revision}: ${event.type}`
  const statedOnly = event.type === "ChargeRefused" ? STATED_OF_REFUSAL : STATED_OF_CHARGE
  const found = { company, chargeId, decided, events: events.length, statedOnly }
  return { kind: "proof", ...found, head, publicKeys }
}

/** The charge that an event is of, as its text says. */
function chargeOf({ data }: ProvenEvent): string {
  return String((JSON.parse(data) as { readonly chargeId?: unknown }).chargeId)
}

const keyOf = ({ publicKey }: SignedHead): string => publicKey

function checkHead(head: SignedHead, company: string, publicKey: string | null): void {
  if (head.tree !== company) fault(`a head of ${company}`, `one of ${head.tree}`)
  if (!isSigned(head)) fault("a signature by the key it names", "one that is none")
  if (publicKey !== null && head.publicKey !== publicKey) {
    fault(`a signature by ${publicKey}`, `one by ${head.publicKey}`)
  }
}

function checkEvent(event: ProvenEvent, head: SignedHead): void {
  const expected = expectedHash(event, event.previousHash)
  const found = /"hash":"([0-9a-f]{64})"/.exec(event.metadata)?.[1] ?? "none"
  if (found !== expected) fault(`the hash ${expected}`, found, event)
  const root = rootByInclusion(found, event.index, head.size, event.inclusion)
  if (root !== head.root) fault(`the root ${head.root}`, root ?? "no way to one", event)
}

function fault(
  expected: string,
  found: string,
  at?: { readonly stream: string; readonly revision: number },
): never {
  const place = at === undefined ? {} : { stream: at.stream, revision: at.revision }
  throw new FileFault({ line: 1, ...place, expected, found })
}
