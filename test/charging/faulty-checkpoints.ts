/** Ledgers whose checkpoints forget something. */
import { type FaultyLedger, savingWithout } from "./faulting.ts"

/** What is forgotten, where a checkpoint keeps it, and what stands there instead. */
const FORGOTTEN: readonly (readonly [
  what: string,
  place: string,
  instead: unknown,
  among?: "crowded" | "rich",
])[] = [
  ["how far the stream was", "scalars.facts", 0],
  ["that it was opened", "scalars.opened", false],
  ["that it is closed", "scalars.closedAt", null],
  ["that it is being erased", "scalars.erasing", false],
  ["that it is locked", "scalars.locked", false],
  ["that it is prepaid only", "scalars.prepaidOnly", false],
  ["the credit line", "scalars.creditLineMicros", 0],
  ["the funds", "scalars.fundsMicros", 0],
  ["the sum of the notice", "scalars.noticeMicros", null],
  ["how much is open", "scalars.openMicros", 0, "rich"],
  ["the month", "scalars.month", null],
  ["the references", "references", []],
  ["the open charges", "open", []],
  ["its windows", "tallies.at", 0],
  ["the sums of the company", "tallies.company", [0, 0, 0, 0, 0, 0]],
  ["the sums of people", "tallies.people", []],
  ["the sums of keys", "tallies.keys", []],
  ["the limits", "limits", []],
  ["what was told", "reached", []],
  ["the calls to charge", "uncharged", []],
  ["which days are charged", "chargedThrough", -1],
  ["what keys may buy", "purchases.terms", []],
  ["the pending purchases", "purchases.pending", []],
  ["the ended purchases", "purchases.ended", []],
  ["the allowances that are taken", "purchases.taken", []],
  ["how much is being bought", "purchases.pendingMicros", 0, "rich"],
  ["the names that were used", "recent.names", [], "crowded"],
  ["that names were forgotten", "recent.forgottenTo", -1, "crowded"],
]

/** A ledger for each part of a checkpoint. */
export const FAULTY_CHECKPOINTS: readonly FaultyLedger[] = FORGOTTEN.map(
  ([what, place, instead, among]): FaultyLedger => ({
    fault: `a checkpoint forgets ${what}`,
    breaks: "checkpointsChangeNothing",
    subject: savingWithout(place, instead),
    ...(among === undefined ? {} : { among }),
  }),
)
