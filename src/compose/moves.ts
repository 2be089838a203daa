/** The moves of a whole installation by the names of their commands. */
import type { Input } from "../frame/operator/cli/command.ts"
import type { Moved } from "../frame/operator/cli/host.ts"
import type { Log } from "../frame/ports.ts"
import type { Config } from "./config.ts"
import type { MoveTalk } from "./final-audit.ts"
import { restoreBackup } from "./restoring.ts"
import { copyStore } from "./store-copy.ts"

/** Carries a move out. What a move throws is an answer, as each says. */
export async function move(
  config: Config,
  name: string,
  input: Input,
  log: Log,
  talk: MoveTalk,
): Promise<Moved> {
  switch (name) {
    case "store copy":
      return copyStore(config, String(input["to"]), log, talk)
    case "restore":
      return restoreBackup(config, String(input["file"]), log, talk)
    default:
      throw new Error(`there is no move ${name}`)
  }
}
