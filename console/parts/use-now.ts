import { useInterval } from "@mantine/hooks"
import { useState } from "react"
import { serverTime } from "../api/clock.ts"

const EVERY_MS = 30_000

/** The server's time, ms; goes on while a page is looked at. */
export function useNow(): number {
  const [now, setNow] = useState(serverTime)
  useInterval(() => setNow(serverTime()), EVERY_MS, { autoInvoke: true })
  return now
}
