/** What simulators remember and do next, in memory. */
import type {
  SimulatedThings,
  SimulatorMemory,
  SimulatorSetting,
  Simulators,
} from "../../adapters/providers/simulators/port.ts"
import { COMMON_OUTCOMES } from "../../adapters/providers/simulators/port.ts"

/** Both, for one test. */
export function simulatorsOfTests(): {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
} {
  const things = new Map<string, object>()
  const settings = new Map<string, SimulatorSetting>()
  const memory: SimulatorMemory = {
    of: <T extends object>({ provider, kind }: { provider: string; kind: string }) => {
      const place = (name: string) => `${provider} ${kind} ${name}`
      const find = (name: string) => (things.get(place(name)) ?? null) as T | null
      const put = (name: string, content: T) => {
        things.set(place(name), content)
        return content
      }
      const all: SimulatedThings<T> = {
        keep: async (name, _companyId, content) => find(name) ?? put(name, content),
        find: async (name) => find(name),
        change: async (name, _companyId, change) => put(name, change(find(name))),
        forget: async (name) => void things.delete(place(name)),
        newest: async () => [],
      }
      return all
    },
  }
  const simulators: Simulators = {
    next: async ({ name, outcomes }) => {
      const found = settings.get(name)
      if (found?.times === 1) settings.delete(name)
      return [...COMMON_OUTCOMES, ...outcomes].find((one) => one === found?.outcome) ?? "ok"
    },
    set: async (setting) => void settings.set(setting.name, setting),
    list: async () => [...settings.values()],
  }
  return { memory, simulators }
}
