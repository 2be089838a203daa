/** Commands of the program itself. */
import { z } from "zod"
import { COMPLETION_SHELLS } from "../frame/operator/cli/completion.ts"
import type { ProgramCommand } from "../frame/operator/commands.ts"

const start: ProgramCommand = {
  does: "start",
  name: "start",
  summary: "run the server until it is stopped",
  notes: [
    "HOST, PORT, DATABASE_URL and the other settings come from the environment; see config.",
    "In a new data folder the demo's company has lived for a week, which takes some seconds to play; not with " +
      "DATABASE_URL, LEDGER_EVENTSTORE_URL, or a provider that is real.",
    "With --processes the calls of a company go to one process, which has its ledger in memory; the others may take them as well.",
  ],
  example: "start --demo",
  input: z.object({
    demo: z
      .boolean()
      .default(false)
      .meta({ description: 'make the company "acme" where the store is empty' }),
    week: z
      .boolean()
      .default(true)
      .meta({ description: "the demo's company has spent nothing yet", flag: "week" }),
    processes: z
      .union([z.literal("auto"), z.int()])
      .default(1)
      .meta({
        description:
          'how many processes serve; "auto": one for each core that its PostgreSQL leaves',
        takes: "number or auto",
        form: "processes",
      }),
  }),
}

const doctor: ProgramCommand = {
  does: "doctor",
  name: "doctor",
  summary: "look at everything that the program stands on, and say how to mend what is wrong",
  notes: [
    "A line each: settings, Node, programs, port, disk, stores, read models. What is missing is for some of the work only; exit code 1 where something is wrong.",
  ],
  example: "doctor",
  input: z.object({}),
}

const config: ProgramCommand = {
  does: "config",
  name: "config",
  summary: "show the effective settings, secrets masked",
  notes: [
    "Beside a running server also those that it was started with: it does not read them again.",
  ],
  example: "config --json",
  input: z.object({}),
}

const text = z.string().optional().meta({ form: "text" })

/** What its words may be is known to the benchmarks alone, which refuse what they do not know. */
const bench: ProgramCommand = {
  does: "bench",
  name: "bench",
  summary: "measure how fast the ledger is on this machine, as ratios taken side by side",
  notes: [
    "The same as npm run bench: it needs a checkout with what its developers install, and no server. A name that there is not is answered with those that there are.",
    "A JSON document and a page are written; exit code 1 where a measurement was not honest, never because a target was missed.",
  ],
  example: "bench decide --json decide.json",
  input: z.object({
    names: z.array(z.string()).optional().meta({
      description: 'what to measure; default all ratios; "growth": all curves',
      argument: "NAME",
      form: "text",
    }),
    json: text.meta({
      description: "write what was measured to this file, and the page beside it",
      takes: "file",
    }),
    folder: text.meta({
      description: "write both to a new file in this folder; default bench-results",
      flag: "out",
      takes: "folder",
    }),
    data: text.meta({
      description: "where data sets are kept from run to run; default bench-data",
      takes: "folder",
    }),
    most: text.meta({
      description: "leave out points of curves beyond it, such as 1e6",
      takes: "size",
    }),
    store: text.meta({ description: "where the events live; default postgres", takes: "name" }),
  }),
}

const completion: ProgramCommand = {
  does: "completion",
  name: "completion",
  summary: "print what makes a shell complete the words of commands",
  notes: ["Let the shell read it: source <(company-ledger completion bash)."],
  example: "completion bash",
  input: z.object({
    shell: z.enum(COMPLETION_SHELLS).meta({ description: "the shell", argument: "SHELL" }),
  }),
}

/** Commands of the program itself. */
export const programCommands: readonly ProgramCommand[] = [start, doctor, config, bench, completion]
