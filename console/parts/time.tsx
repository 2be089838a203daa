import { serverTime } from "../api/clock.ts"
import { useNow } from "./use-now.ts"
import styles from "./parts.module.css"

const DAY_MS = 86_400_000

const short = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
})
const long = new Intl.DateTimeFormat("en", {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
})

/** In the reader's own zone. */
export function timeText(at: string, isWhole = false): string {
  const date = new Date(at)
  const isLongAgo = Math.abs(serverTime() - date.getTime()) > 300 * DAY_MS
  return (isWhole || isLongAgo ? long : short).format(date)
}

/** How long until then, or since: `4 days`, `3 h`, `12 min`. */
export function durationUntilText(at: string, now: number): string {
  const ms = Math.abs(new Date(at).getTime() - now)
  if (ms >= 2 * DAY_MS) return `${Math.round(ms / DAY_MS)} days`
  if (ms >= 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.max(1, Math.round(ms / 60_000))} min`
}

interface TimeProps {
  /** ISO; null shows a dash. */
  readonly at: string | null
  /** With the year and seconds. */
  readonly isWhole?: boolean
}

/** A time: the reader's own, and UTC on hover. */
export function Time({ at, isWhole = false }: TimeProps) {
  if (at === null) return <>–</>
  return (
    <time className={styles.time} dateTime={at} title={utcText(at)}>
      {timeText(at, isWhole)}
    </time>
  )
}

/** How long until something, with the time itself on hover. */
export function TimeUntil({ at }: { readonly at: string }) {
  return (
    <time className={styles.time} dateTime={at} title={utcText(at)}>
      {durationUntilText(at, useNow())}
    </time>
  )
}

const utcText = (at: string): string =>
  `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`
