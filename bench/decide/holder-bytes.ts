/**
 * Run by node with --expose-gc in a process of its own: prints as JSON how many bytes a ledger needs for each idle
 * holder (a person or key without a limit that has spent once). Heap and array buffers count, ids included.
 */
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeCommand, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { readLimits } from "../../domain/charging/ledger-views.ts"
import { assertMeasurement } from "../benchmark.ts"
import { flatString, generateKeys, generatePeople } from "./generated-company.ts"
import { stampOf } from "./traffic.ts"

const SIZE = { people: 1_000, keys: 5_000 }
const MEASUREMENTS = 3
const AT = Date.UTC(2026, 10, 21, 12)
const SPENT_MICROS = 9_000

function decideAndFold(state: ReturnType<typeof ledgerDecider.initial>, command: LedgerCommand) {
  const answer = ledgerDecider.decide(command, state, stampOf(AT))
  assertMeasurement(!isRefusal(answer), `${command.type} was refused`)
  return answer.reduce(ledgerDecider.evolve, state)
}

/** A ledger with funds and without charges. */
function openedLedger() {
  const opening: readonly LedgerCommand[] = [
    { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 },
    { type: "AddFunds", amountMicros: 1_000_000_000_000, reference: null },
  ]
  return opening.reduce(decideAndFold, ledgerDecider.initial())
}

/** Spends once with every key, and so for every person. The ids come from the command. */
function spendOnce(before: ReturnType<typeof ledgerDecider.initial>) {
  const keys = generateKeys(SIZE, generatePeople(SIZE))
  return keys.reduce((state, { keyId, owner }, i) => {
    const command: ChargeCommand = {
      type: "Charge",
      chargeId: flatString(`chg_${String(i).padStart(22, "0")}`),
      via: owner === null ? "app_key" : "own_key",
      keyId,
      personId: owner,
      class: "general",
      item: "text_segment",
      quantity: 1,
      unitPriceMicros: SPENT_MICROS,
      priceVersion: 1,
      amountMicros: SPENT_MICROS,
      resource: null,
      requestedAt: AT,
      dueAt: null,
      servedFrom: null,
      exemption: null,
      searchedUpTo: null,
      isPending: false,
    }
    return decideAndFold(state, command)
  }, before)
}

/** Bytes in use after the collector has run. */
function bytesInUse(): number {
  const { gc } = globalThis
  if (gc === undefined) throw new Error("run this with --expose-gc")
  for (let i = 0; i < 3; i += 1) gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Checks that the sums exist: a limit set now includes earlier spending. */
function checkSums(before: ReturnType<typeof ledgerDecider.initial>): void {
  const state = generateKeys(SIZE, []).reduce((folded, { keyId }) => {
    return decideAndFold(folded, {
      type: "SetLimit",
      holder: "key",
      holderId: keyId,
      class: "all",
      period: "month",
      amountMicros: 1,
      remindersMicros: [],
      leaveKeysOut: false,
    })
  }, before)
  const used = readLimits(state, AT)
  const isKept = used.every(({ usedMicros }) => usedMicros === SPENT_MICROS)
  assertMeasurement(used.length === SIZE.keys && isKept, "a key's sum was not kept")
}

function measureOnce(): number {
  const opened = openedLedger()
  const before = bytesInUse()
  const spent = spendOnce(opened)
  const bytes = (bytesInUse() - before) / (SIZE.people + SIZE.keys)
  checkSums(spent)
  return bytes
}

// The first measurement also pays for compiled code and object shapes.
measureOnce()
console.log(JSON.stringify(Array.from({ length: MEASUREMENTS }, measureOnce)))
