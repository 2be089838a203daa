import { freeBytes } from "../../../adapters/machine/machine.ts"
import type { Measure } from "../../frame/http/metrics.ts"

/** Room on the disk of the data folder, as `doctor` looks at it. */
export function diskMeasure(dataDir: string): Measure {
  return {
    name: "ledger_disk_free_bytes",
    help: "What is free on the disk of the data folder, for this user.",
    read: async () => [{ value: await freeBytes(dataDir) }],
  }
}
