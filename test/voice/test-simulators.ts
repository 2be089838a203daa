/** The records and settings of simulators, in memory. */
import type {
  SimulatedRecords,
  SimulatorStore,
  SimulatorSetting,
  Simulators,
} from "../../adapters/providers/simulators/port.ts"
import { COMMON_OUTCOMES } from "../../adapters/providers/simulators/port.ts"

/** A record store and settings of simulators for one test. */
export function newTestSimulators(): {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
} {
  const records = new Map<string, object>()
  const settings = new Map<string, SimulatorSetting>()
  const simulatorMemory: SimulatorStore = {
    recordsOf: <T extends object>({ provider, kind }: { provider: string; kind: string }) => {
      const keyOf = (name: string) => `${provider} ${kind} ${name}`
      const find = (name: string) => (records.get(keyOf(name)) ?? null) as T | null
      const put = (name: string, content: T) => {
        records.set(keyOf(name), content)
        return content
      }
      const all: SimulatedRecords<T> = {
        insertIfAbsent: async (name, _companyId, content) => find(name) ?? put(name, content),
        find: async (name) => find(name),
        update: async (name, _companyId, change) => put(name, change(find(name))),
        remove: async (name) => void records.delete(keyOf(name)),
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
