/** What simulators remember and do next, in memory. */
import type {
  SimulatedRecords,
  SimulatorStore,
  SimulatorSetting,
  Simulators,
} from "../../adapters/providers/simulators/port.ts"
import { COMMON_OUTCOMES } from "../../adapters/providers/simulators/port.ts"

/** Both, for one test. */
export function newTestSimulators(): {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
} {
  const things = new Map<string, object>()
  const settings = new Map<string, SimulatorSetting>()
  const simulatorMemory: SimulatorStore = {
    recordsOf: <T extends object>({ provider, kind }: { provider: string; kind: string }) => {
      const place = (name: string) => `${provider} ${kind} ${name}`
      const find = (name: string) => (things.get(place(name)) ?? null) as T | null
      const put = (name: string, content: T) => {
        things.set(place(name), content)
        return content
      }
      const all: SimulatedRecords<T> = {
        insertIfAbsent: async (name, _companyId, content) => find(name) ?? put(name, content),
        find: async (name) => find(name),
        update: async (name, _companyId, change) => put(name, change(find(name))),
        remove: async (name) => void things.delete(place(name)),
        listNewest: async () => [],
      }
      return all
    },
  }
  const simulators: Simulators = {
    nextOutcome: async ({ name, outcomes }) => {
      const found = settings.get(name)
      if (found?.times === 1) settings.delete(name)
      return [...COMMON_OUTCOMES, ...outcomes].find((one) => one === found?.outcome) ?? "ok"
    },
    set: async (setting) => void settings.set(setting.name, setting),
    list: async () => [...settings.values()],
  }
  return { simulatorMemory, simulators }
}
