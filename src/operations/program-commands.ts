/** Commands of the program itself: `start`, `doctor`, `config`, `bench` and `completion`. */
import { z } from "zod"
import { COMPLETION_SHELLS } from "../frame/operator/cli/completion.ts"
import type { ProgramCommand } from "../frame/operator/commands.ts"

const start: ProgramCommand = {
  does: "start",
  name: "start",
  summary: "run the server until it is stopped",
  notes: [
    "HOST, PORT, DATABASE_URL and the other settings come from the environment; see config.",
    "In a new data folder the demo company gets a week of history, which takes some seconds; not with " +
      "DATABASE_URL, LEDGER_EVENTSTORE_URL or a real provider.",
    "With --processes, one process serves a company's calls from its memory; the others can serve them too.",
  ],
  example: "start --demo",
  input: z.object({
    demo: z
      .boolean()
      .default(false)
      .meta({ description: 'create the company "acme" if the store is empty' }),
    week: z
      .boolean()
      .default(true)
      .meta({ description: "start the demo company without a week of history", flag: "week" }),
    processes: z
      .union([z.literal("auto"), z.int()])
      .default(1)
      .meta({
        description:
          'number of processes that serve; "auto": one for each core that PostgreSQL leaves free',
        takes: "number or auto",
        form: "processes",
      }),
  }),
}

const doctor: ProgramCommand = {
  does: "doctor",
  name: "doctor",
  summary: "check everything the program depends on, and say how to fix what is wrong",
  notes: [
    "Prints a line for each check: settings, Node, programs, port, disk, stores, read models. A missing program affects only the features that need it; exit code 1 if something is wrong.",
  ],
  example: "doctor",
  input: z.object({}),
}

const config: ProgramCommand = {
  does: "config",
  name: "config",
  summary: "show the effective settings, secrets masked",
  notes: [
    "If a server is running, also shows the settings it was started with: a server reads its settings only at startup.",
  ],
  example: "config --json",
  input: z.object({}),
}

const text = z.string().optional().meta({ form: "text" })

/** The benchmarks validate their own options, so that the program need not know them. */
const bench: ProgramCommand = {
  does: "bench",
  name: "bench",
  summary:
    "measure how fast the ledger is on this machine, as ratios of measurements taken side by side",
  notes: [
    "The same as npm run bench: it needs a checkout with the development dependencies, and no server. For an unknown name it prints the known ones.",
    "Writes a JSON document and a page; exit code 1 if a measurement is invalid, never because a target was missed.",
  ],
  example: "bench decide --json decide.json",
  input: z.object({
    names: z.array(z.string()).optional().meta({
      description: 'what to measure; default all ratios; "growth": all curves',
      argument: "NAME",
      form: "text",
    }),
    json: text.meta({
      description: "write the results to this file, and the page next to it",
      takes: "file",
    }),
    folder: text.meta({
      description: "write both to a new file in this folder; default bench-results",
      flag: "out",
      takes: "folder",
    }),
    data: text.meta({
      description: "folder of the data sets, reused by later runs; default bench-data",
      takes: "folder",
    }),
    most: text.meta({
      description: "leave out points of curves beyond this size, such as 1e6",
      takes: "size",
    }),
    store: text.meta({
      description: "the event store to measure; default postgres",
      takes: "name",
    }),
  }),
}

const completion: ProgramCommand = {
  does: "completion",
  name: "completion",
  summary: "print a script that completes commands in a shell",
  notes: ["Load it in the shell: source <(company-ledger completion bash)."],
  example: "completion bash",
  input: z.object({
    shell: z.enum(COMPLETION_SHELLS).meta({ description: "the shell", argument: "SHELL" }),
  }),
}

export const programCommands: readonly ProgramCommand[] = [start, doctor, config, bench, completion]
