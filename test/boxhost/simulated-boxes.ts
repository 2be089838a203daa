/** Simulated boxes with a clock that tests advance, and pauses that tests end. */
import { openSimulatedBoxHost } from "../../adapters/sandbox/boxhost/simulator.ts"
import type { SimulatedBoxes } from "../../adapters/sandbox/boxhost/simulator.ts"
import { simulateBoxHostFaults } from "../../adapters/sandbox/boxhost/simulated-faults.ts"
import type { BoxPlan, CommandOptions } from "../../adapters/sandbox/boxhost/port.ts"
import type { SimulatorSetting, Simulators } from "../../adapters/providers/simulators/port.ts"

/** The default plan of a box. */
export const SAMPLE_BOX_PLAN: BoxPlan = {
  boxId: "box_1",
  companyId: "co_abcdef",
  size: "small",
  leaseMs: 60_000,
  environment: { BOX_ID: "box_1" },
}

/** Default options of a command. */
export const SIMULATED_RUN_OPTIONS: CommandOptions = {
  timeoutMs: 10_000,
  maxOutputBytes: 10_000,
  isActivity: true,
}

/** Simulators in memory. */
export function memorySimulators(): Simulators {
  const settings = new Map<string, SimulatorSetting>()
  return {
    nextOutcome: async ({ name }) => {
      const set = settings.get(name)
      if (set === undefined) return "ok"
      const left = set.times === null ? null : set.times - 1
      if (left === 0) settings.delete(name)
      else settings.set(name, { ...set, times: left })
      return set.outcome as "ok"
    },
    set: async (setting) => {
      settings.set(setting.name, setting)
    },
    list: async () => [...settings.values()],
  }
}

/** Opens simulated boxes. Pauses of `sleep` and of `slow` end when the test ends them, or when they are aborted. */
export function openSimulatedBoxes(boxes: SimulatedBoxes = new Map()) {
  const time = { now: Date.UTC(2026, 0, 1) }
  const waiting: { readonly ms: number; readonly end: () => void }[] = []
  const paused: (() => void)[] = []
  const pacer = {
    elapsedMs: () => time.now,
    pause: (ms: number, signal?: AbortSignal) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      signal?.addEventListener("abort", () => resolve())
      if (signal?.aborted === true) resolve()
      waiting.push({ ms, end: resolve })
      paused.shift()?.()
      return promise
    },
  }
  const simulators = memorySimulators()
  const clock = { now: () => time.now }
  const host = simulateBoxHostFaults(openSimulatedBoxHost({ clock, pacer, boxes }), {
    simulators,
    pacer,
  })
  return {
    host,
    time,
    waiting,
    /** Resolves when the next command pauses. */
    nextPause: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      paused.push(resolve)
      return promise
    },
    setOutcome: (outcome: string, times: number | null = null) =>
      simulators.set({ name: "boxhost", outcome, times }),
  }
}

/** A command for the shell. */
export const shellCommand = (command: string): readonly string[] => ["sh", "-c", command]
