/** What the simulators do next: the built-in providers that can be told to fail. */
import { z } from "zod"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import { COMMON_OUTCOMES } from "../../adapters/providers/simulators/port.ts"
import { together } from "../frame/operator/inputs.ts"
import type { AdminOperation } from "../frame/operator/operation.ts"
import { operation } from "../frame/operator/operation.ts"

/** The operations on these simulators. */
export function simulatorOperations(simulators: readonly Simulator[]): readonly AdminOperation[] {
  return [listOf(simulators), setOf(simulators)]
}

function setOf(simulators: readonly Simulator[]): AdminOperation {
  const Setting = z.object({
    name: z
      .enum(simulators.map(({ name }) => name))
      .meta({ description: "the simulator", argument: "NAME" }),
    outcome: z.string().meta({ description: "what it does", argument: "OUTCOME" }),
    times: z
      .int()
      .positive()
      .optional()
      .meta({ description: "how many times, then ok again; default for ever", takes: "times" }),
  })
  const fault = ({ name, outcome }: z.infer<typeof Setting>): string | null => {
    const known = simulators.filter((one) => one.name === name).flatMap(outcomesOf)
    return known.includes(outcome) ? null : `${name} knows ${known.join(", ")}`
  }
  return operation({
    name: "simulator set",
    summary: "set what a simulator does next",
    notes: [
      `Every one knows ${COMMON_OUTCOMES.join(", ")}.`,
      ...simulators.flatMap(({ name, outcomes }) =>
        outcomes.length === 0 ? [] : `${name}: ${outcomes.join(", ")}.`,
      ),
    ],
    example: "simulator set carrier reject --times 1",
    changes: true,
    input: together(Setting, fault),
    run: async ({ ports }, { name, outcome, times }) => {
      const setting = { name, outcome, times: times ?? null }
      await ports.simulators.set(setting)
      return setting
    },
  })
}

function listOf(simulators: readonly Simulator[]): AdminOperation {
  return operation({
    name: "simulator list",
    summary: "list the simulators of outside things and what they do next",
    example: "simulator list",
    input: z.object({}),
    run: async ({ ports }) => {
      const set = await ports.simulators.list()
      const found = simulators.map((simulator) => {
        const { name } = simulator
        const { outcome, times } = set.find((one) => one.name === name) ?? {
          outcome: "ok",
          times: null,
        }
        return { name, outcome, times, knows: outcomesOf(simulator) }
      })
      return { simulators: found }
    },
  })
}

function outcomesOf({ outcomes }: Simulator): readonly string[] {
  return [...COMMON_OUTCOMES, ...outcomes]
}
