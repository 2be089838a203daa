import { useInterval } from "@mantine/hooks"
import { useState } from "react"
import { serverTime } from "../api/clock.ts"

const EVERY_MS = 30_000

/** The server's time in ms, updated while the page is open. */
export function useNow(): number {
  const [now, setNow] = useState(serverTime)
  useInterval(() => setNow(serverTime()), EVERY_MS, { autoInvoke: true })
  return now
}
