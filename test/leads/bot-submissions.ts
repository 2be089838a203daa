/** Bot submissions as the metrics count them. */
import type { World } from "../support/world.ts"

/** Number of forms sent by bots so far, by reason. */
export async function countBotSubmissions({
  app,
}: World): Promise<Readonly<Record<string, number>>> {
  const { body } = await app.inject({ method: "GET", url: "/metrics" })
  const lines = body.matchAll(/^ledger_form_robots_total\{reason="(\w+)"\} (\d+)$/gm)
  return Object.fromEntries([...lines].map(([, reason = "", count]) => [reason, Number(count)]))
}
