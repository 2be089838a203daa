/** The worker thread that scans for secrets, with secretlint's rules and our own patterns. */
import { parentPort } from "node:worker_threads"
import { lintSource } from "@secretlint/core"
import { creator } from "@secretlint/secretlint-rule-preset-recommend"
import type { SecretMatch } from "./windows.ts"
import { isPlaceholder, matchSecretPatterns } from "./windows.ts"
import type { ScanRequest, ScanReply } from "./scanner.ts"

const PRESET = "@secretlint/secretlint-rule-preset-recommend"
const config = { rules: [{ id: PRESET, rule: creator }] }
/** Prefix of rule ids, removed from results. */
const PREFIX = "@secretlint/secretlint-rule-"

async function scanText(text: string): Promise<readonly SecretMatch[]> {
  // A comment that disables secretlint's rules would disable them for the whole window.
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
if (port === null)
  throw new Error("this file is a worker thread of the secret scanner and cannot run as a program")

port.on("message", ({ id, text }: ScanRequest) => {
  const reply = (message: ScanReply): void => port.postMessage(message)
  scanText(text).then(
    (matches) => reply({ id, matches }),
    (error: unknown) => reply({ id, error: String(error) }),
  )
})
