/** What `doctor` says of Telnyx. */
import { isOutside } from "../../../adapters/providers/outside.ts"
import { openTelnyx } from "../../../adapters/providers/telnyx/client.ts"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import { telnyxSettings } from "../../frame/telnyx-settings.ts"

const CHECK = "carrier"

/** Whether Telnyx takes the key; nothing where texts go to the built-in carrier. */
export async function examineCarrier({ settings }: Examined): Promise<readonly Finding[]> {
  const { TELNYX_KEY: key, TELNYX_URL: url } = settings(telnyxSettings)
  if (key === undefined) return []
  const wrong = (says: string, fix: string): Finding => ({
    check: CHECK,
    state: "wrong",
    says,
    fix,
  })
  try {
    const query = { "page[size]": "1" }
    const call = { method: "GET", path: "/messaging_profiles", query } as const
    const asked = await openTelnyx({ key, url }).ask(call)
    if (asked.is === "done") return [well(CHECK, "Telnyx takes the key")]
    return [wrong(`Telnyx answers ${asked.status} to the key`, "check TELNYX_KEY and TELNYX_URL")]
  } catch (error) {
    if (!isOutside(error)) throw error
    return [wrong(error.message, "check TELNYX_URL, and that this machine reaches it")]
  }
}
