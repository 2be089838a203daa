/** Commands for the program itself, the built-in carrier, the clock, work and read models. */
import { COMMON_OUTCOMES, STAND_INS } from "../../../../adapters/providers/simulators/port.ts"
import type { Tried } from "../tried.ts"
import type { CommandSpec, Input } from "../cli/command.ts"
import { countingNumber, digits, durationText, isoTime } from "../cli/option-values.ts"
import { isRow, renderFields, renderResult, renderTable, rowsOf } from "../cli/render.ts"
import { harmless } from "../cli/terminal.ts"

const start: CommandSpec = {
  does: "start",
  name: "start",
  summary: "run the server until it is stopped",
  notes: ["HOST, PORT, DATABASE_URL and the other settings come from the environment; see config."],
  example: "start --demo",
  options: [{ flags: "--demo", description: 'make the company "acme" where the store is empty' }],
}

const config: CommandSpec = {
  does: "config",
  name: "config",
  summary: "show the effective settings, secrets masked",
  notes: [
    "Beside a running server also those that it was started with: it does not read them again.",
  ],
  example: "config --json",
}

const doctor: CommandSpec = {
  does: "doctor",
  name: "doctor",
  summary: "look at everything that the program stands on, and say how to mend what is wrong",
  notes: [
    "A line each: settings, Node, programs, port, disk, stores, read models. What is missing is for some of the work only; exit code 1 where something is wrong.",
  ],
  example: "doctor",
}

const textIn: CommandSpec = {
  does: "operation",
  name: "carrier text-in",
  summary: "let the built-in carrier receive a text",
  notes: ["Phone numbers are in full, such as +15555550123."],
  example: "carrier text-in --company acme --from +15555550123 --to +15555550100 --body STOP",
  changes: true,
  options: [
    { flags: "--company <company>", description: "the company, by id or name" },
    { flags: "--from <number>", description: "who sent it", isRequired: true },
    { flags: "--to <number>", description: "the company's number", isRequired: true },
    { flags: "--body <text>", description: "what it says", isRequired: true },
  ],
}

const deliver: CommandSpec = {
  does: "operation",
  name: "carrier deliver",
  summary: "let the built-in carrier report what became of a text",
  example: "carrier deliver msg_4Zb0x7 --status failed --code 30003",
  changes: true,
  arguments: [{ name: "MESSAGE_ID", description: "the text, by id", field: "messageId" }],
  options: [
    {
      flags: "--status <status>",
      description: "what became of it",
      isRequired: true,
      choices: ["delivered", "failed"],
    },
    { flags: "--code <number>", description: "the carrier's code of a failure", parse: digits },
  ],
  check: ({ status, code }) =>
    status === "delivered" && code !== undefined ? "--code is for --status failed" : null,
}

const listStandIns: CommandSpec = {
  does: "operation",
  name: "stand-in list",
  summary: "list the built-in stand-ins for outside things and what they do next",
  example: "stand-in list",
}

const setStandIn: CommandSpec = {
  does: "operation",
  name: "stand-in set",
  summary: "set what a built-in stand-in does next",
  notes: [
    `Every one knows ${COMMON_OUTCOMES.join(", ")}.`,
    ...Object.entries(STAND_INS).map(([name, outcomes]) => `${name}: ${outcomes.join(", ")}.`),
  ],
  example: "stand-in set carrier reject --times 1",
  changes: true,
  arguments: [
    {
      name: "NAME",
      description: "the stand-in",
      field: "name",
      choices: Object.keys(STAND_INS),
    },
    { name: "OUTCOME", description: "what it does", field: "outcome" },
  ],
  options: [
    {
      flags: "--times <times>",
      description: "how many times, then ok again; default for ever",
      parse: countingNumber,
    },
  ],
  check: checkOutcome,
}

function checkOutcome({ name, outcome }: Input): string | null {
  const own = Object.entries(STAND_INS).find(([known]) => known === name)?.[1] ?? []
  const known: readonly unknown[] = [...COMMON_OUTCOMES, ...own]
  return known.includes(outcome) ? null : `${String(name)} knows ${known.join(", ")}`
}

const showClock: CommandSpec = {
  does: "operation",
  name: "clock show",
  summary: "show the ledger's time",
  notes: ["Times are ISO 8601 in UTC."],
  example: "clock show --json",
}

const setClock: CommandSpec = {
  does: "operation",
  name: "clock set",
  summary: "move the test clock forward to a time; returns when everything due has been done",
  notes: ["Only where the program was started with LEDGER_CLOCK=test. Times are UTC."],
  example: "clock set 2026-12-01T00:00:00Z",
  changes: true,
  arguments: [{ name: "ISO", description: "the time", field: "to", parse: isoTime }],
}

const advanceClock: CommandSpec = {
  does: "operation",
  name: "clock advance",
  summary: "move the test clock forward by a duration; returns when everything due has been done",
  notes: [
    "Only where the program was started with LEDGER_CLOCK=test.",
    "Durations are 90s, 15m, 3h, 2d: seconds, minutes, hours, days.",
  ],
  example: "clock advance 15m",
  changes: true,
  arguments: [{ name: "DURATION", description: "how far", field: "duration", parse: durationText }],
}

const wait: CommandSpec = {
  does: "operation",
  name: "wait",
  summary: "return when everything stored before has been projected and reacted to",
  example: "wait",
}

const listWork: CommandSpec = {
  does: "operation",
  name: "work list",
  summary: "list the work that waits, runs or is parked",
  notes: ["Times are UTC, by the ledger's clock."],
  example: "work list",
}

const retryWork: CommandSpec = {
  does: "operation",
  name: "work retry",
  summary: "make a row of work due at once, parked or not",
  notes: [
    "Says what became of it: done, put_off until dueAt, failed (it is tried again by itself) or parked;",
    "running or due where that is not known within three seconds.",
  ],
  example: "work retry 42",
  changes: true,
  arguments: [
    { name: "WORK_ID", description: "the row's number", field: "workId", parse: countingNumber },
  ],
  render: (result) => renderTried(result as Tried & { readonly workId: number }),
}

function renderTried({ workId, state, dueAt, parked }: Tried & { readonly workId: number }) {
  const words: Record<Tried["state"], string> = {
    done: "was tried and is done",
    put_off: `was tried and put itself off until ${dueAt}`,
    failed: "was tried and failed; it is tried again by itself",
    parked: `is parked: ${harmless(parked ?? "")}`,
    running: "is being tried",
    due: "is due and not begun yet",
  }
  return `Work ${workId} ${words[state]}.\n`
}

const skipWork: CommandSpec = {
  does: "operation",
  name: "work skip",
  summary: "give a parked row of work up",
  notes: [
    "A text counts as failed from then on (given_up) and its charge is given back;",
    "a reminder is not sent. Work that is owed to a company or its bill cannot be given up.",
  ],
  example: 'work skip 42 --reason "the carrier lost it"',
  changes: true,
  arguments: [
    { name: "WORK_ID", description: "the row's number", field: "workId", parse: countingNumber },
  ],
}

const projectionStatus: CommandSpec = {
  does: "operation",
  name: "projections status",
  summary: "show how the read models stand",
  notes: [
    "behind: events handed over and not yet written; - where another process keeps the read model up.",
  ],
  example: "projections status",
}

const rebuildProjection: CommandSpec = {
  does: "operation",
  name: "projections rebuild",
  summary: "fold a read model anew beside the live one, then swap them",
  example: "projections rebuild charges",
  changes: true,
  arguments: [{ name: "NAME", description: "the read model", field: "name" }],
}

const verifyProjections: CommandSpec = {
  does: "operation",
  name: "projections verify",
  summary: "compare read models with a rebuild of each; exit code 1 where one differs",
  example: "projections verify charges",
  arguments: [
    { name: "NAME", description: "one read model; default all", field: "name", isOptional: true },
  ],
  isWell: (result) => isRow(result) && result["ok"] === true,
  render: (result, page) => {
    if (!isRow(result)) return renderResult(result, page)
    const { ok, projections } = result
    const rows = (rowsOf(projections) ?? []).flatMap((one) => {
      const { tables, ...whole } = one
      const compared = rowsOf(tables) ?? []
      // Where a rebuild stops at a fault, there are no tables to compare.
      return compared.length === 0 ? [whole] : compared.map((table) => ({ ...whole, ...table }))
    })
    return renderFields([["ok", ok]]) + renderTable(rows, page, "read models")
  },
}

/** Commands for the program itself, the built-in carrier, the clock, work and read models. */
export const SYSTEM_COMMANDS: readonly CommandSpec[] = [
  start,
  doctor,
  config,
  textIn,
  deliver,
  listStandIns,
  setStandIn,
  showClock,
  setClock,
  advanceClock,
  wait,
  listWork,
  retryWork,
  skipWork,
  projectionStatus,
  rebuildProjection,
  verifyProjections,
]
