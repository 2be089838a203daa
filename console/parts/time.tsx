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

/** Formats a time in the reader's time zone. */
export function timeText(at: string, isWhole = false): string {
  const date = new Date(at)
  const isLongAgo = Math.abs(serverTime() - date.getTime()) > 300 * DAY_MS
  return (isWhole || isLongAgo ? long : short).format(date)
}

/** Formats the time until or since an instant: `4 days`, `3 h`, `12 min`. */
export function durationUntilText(at: string, now: number): string {
  const ms = Math.abs(new Date(at).getTime() - now)
  if (ms >= 2 * DAY_MS) return `${Math.round(ms / DAY_MS)} days`
  if (ms >= 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.max(1, Math.round(ms / 60_000))} min`
}

interface TimeProps {
  /** ISO time; null shows a dash. */
  readonly at: string | null
  /** Whether to show the year and seconds. */
  readonly isWhole?: boolean
}

/** A time in the reader's zone, with UTC on hover. */
export function Time({ at, isWhole = false }: TimeProps) {
  if (at === null) return <>–</>
  return (
    <time className={styles.time} dateTime={at} title={utcText(at)}>
      {timeText(at, isWhole)}
    </time>
  )
}

/** The time until an instant, with the instant on hover. */
export function TimeUntil({ at }: { readonly at: string }) {
  return (
    <time className={styles.time} dateTime={at} title={utcText(at)}>
      {durationUntilText(at, useNow())}
    </time>
  )
}

const utcText = (at: string): string =>
  `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`
