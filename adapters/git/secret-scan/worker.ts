/** The thread that looks for secrets: by the rules of secretlint, and by what they miss. */
import { parentPort } from "node:worker_threads"
import { lintSource } from "@secretlint/core"
import { creator } from "@secretlint/secretlint-rule-preset-recommend"
import type { SecretMatch } from "./windows.ts"
import { isPlaceholder, matchSecretPatterns } from "./windows.ts"
import type { ScanRequest, ScanReply } from "./scanner.ts"

const PRESET = "@secretlint/secretlint-rule-preset-recommend"
const config = { rules: [{ id: PRESET, rule: creator }] }
/** Rules named so are known by what they find. */
const PREFIX = "@secretlint/secretlint-rule-"

async function scanText(text: string): Promise<readonly SecretMatch[]> {
  // A comment that switches the rules off would switch them off for all that stands in the window.
  const content = text.replaceAll(/secretlint-/gi, "secretlint_")
  const { messages } = await lintSource({
    source: { filePath: "text", content, ext: "", contentType: "text" },
    options: { config, noPhysicFilePath: true },
  })
  const found = messages.map(({ ruleId, range: [start, end] }) => {
    return { rule: ruleId.replace(PREFIX, ""), start, end }
  })
  return [...found, ...matchSecretPatterns(text)].filter(
    ({ start, end }) => !isPlaceholder(text.slice(start, end)),
  )
}

const port = parentPort
if (port === null) throw new Error("this is the thread that looks for secrets, and no program")

port.on("message", ({ id, text }: ScanRequest) => {
  const say = (said: ScanReply): void => port.postMessage(said)
  scanText(text).then(
    (matches) => say({ id, matches }),
    (error: unknown) => say({ id, error: String(error) }),
  )
})
