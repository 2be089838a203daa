/** Where boxes run: on this machine, by bubblewrap, or nowhere, in a simulator for tests. */
import { BOXHOST, failingBoxHost } from "../../../adapters/providers/boxhost/failing.ts"
import type { BoxCode, BoxFiles, BoxHost } from "../../../adapters/providers/boxhost/port.ts"
import { bringCode, takeCode } from "../../../adapters/providers/boxhost/code.ts"
import {
  listFiles,
  readFile,
  removeFile,
  writeFile,
} from "../../../adapters/providers/boxhost/files.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly boxHost: BoxHost
    readonly boxCode: BoxCode
    readonly boxFiles: BoxFiles
  }
}

/** Runs boxes. */
export const boxHostProvider: Provider = {
  from: import.meta.url,
  name: "boxhost",
  ofMachine: ({ BOX_HOST }) => BOX_HOST !== "simulator",
  simulator: BOXHOST,
  open: async ({ clock, pacer, simulators }) => {
    const { openBuiltInBoxHost } = await import("../../../adapters/providers/boxhost/built-in.ts")
    const host = openBuiltInBoxHost({ clock, pacer })
    return {
      boxHost: failingBoxHost(host, { simulators, pacer }),
      boxCode: { bring: bringCode, take: takeCode },
      boxFiles: { list: listFiles, read: readFile, write: writeFile, remove: removeFile },
    }
  },
}
