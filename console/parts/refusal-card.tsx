import { Group, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import type { RequestError } from "../api/request-error.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { UsageBar, limitLabel } from "./limit-bar.tsx"
import type { LimitStatus } from "./limit-bar.tsx"
import { TextLink } from "./link.tsx"
import { Money, dollarsText } from "./money.tsx"
import { useNow } from "./use-now.ts"
import styles from "./parts.module.css"
import { Time, TimeUntil } from "./time.tsx"

const MICROS = 1_000_000

/** A no to a charge, with what stood against it. */
export interface RefusalDetails {
  readonly code: string
  /** What was asked, in words; null where that is not known. */
  readonly requested: string | null
  readonly requestedMicros: number
  readonly limit: LimitStatus | null
  readonly fundsMicros: number | null
}

/** Routes say of which kind the holder is; which one they leave to who is asked. */
type LimitInAnswer = Omit<LimitStatus, "holderId"> &
  Partial<Pick<LimitStatus, "holderId">> & { readonly askedMicros?: number }

/** The refusal of a charge that an answer holds; null where it holds none. */
export function refusalFromError({ code, body }: RequestError): RefusalDetails | null {
  const found = body["limit"] as LimitInAnswer | undefined
  if (found !== undefined) {
    const limit = { holderId: null, ...found }
    return {
      code,
      requested: null,
      requestedMicros: found.askedMicros ?? 0,
      limit,
      fundsMicros: null,
    }
  }
  // The sums of a refusal for funds are dollars; a locked account's has none.
  const { needed, balance } = body as Record<string, number | undefined>
  if (code !== "payment_required" || needed === undefined || balance === undefined) return null
  const [requestedMicros, fundsMicros] = [Math.round(needed * MICROS), Math.round(balance * MICROS)]
  return { code, requested: null, requestedMicros, limit: null, fundsMicros }
}

const HOLDERS = { company: "The company", person: "A person", key: "A key" } as const

interface RefusalCardProps {
  readonly refusal: RefusalDetails
  /** The server's own sentence, where there is one. */
  readonly message?: string
  /** Whose limit it is, where the page knows their name. */
  readonly whose?: string
  /** Of a question, by which nothing was refused: what of the same would fit. */
  readonly wouldFit?: AffordableCount
  readonly children?: ReactNode
}

/** How many of a thing fit, by what is left. */
export interface AffordableCount {
  /** Null where it is not for want of money. */
  readonly count: number | null
  readonly unitPriceMicros: number
}

/** A refusal: what was asked, what stood against it, what would fit, when it resets, who can change it. */
export function RefusalCard({ refusal, message, whose, wouldFit, children }: RefusalCardProps) {
  const { limit, requested, requestedMicros, fundsMicros } = refusal
  return (
    <Stack className={styles.card} gap="sm" role="group" aria-label="A refused charge">
      {message === undefined ? null : <Text size="sm">{message}</Text>}
      <Text size="sm">
        {requested === null ? "Asked for" : `${requested}, which costs`}{" "}
        <Money micros={requestedMicros} />
      </Text>
      {limit === null ? (
        <FundsBar {...{ fundsMicros, requestedMicros, wouldFit }} />
      ) : (
        <ExceededLimit
          {...{ limit, requestedMicros, wouldFit }}
          whose={whose ?? HOLDERS[limit.holder]}
        />
      )}
      {children}
    </Stack>
  )
}

interface AgainstProps {
  readonly limit: LimitStatus
  readonly requestedMicros: number
  readonly whose: string
  readonly wouldFit: AffordableCount | undefined
}

function ExceededLimit({ limit, requestedMicros, whose, wouldFit }: AgainstProps) {
  const { usedMicros, amountMicros, remainingMicros, resetsAt } = limit
  return (
    <>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {whose}: {limitLabel(limit)}
        </Text>
        <Text size="sm" c="dimmed">
          <Money micros={usedMicros} /> used of <Money micros={amountMicros} />
        </Text>
      </Group>
      <UsageBar
        label={`${whose}: ${dollarsText(requestedMicros)} asked beyond ${dollarsText(remainingMicros)} left`}
        {...{ usedMicros, amountMicros, requestedMicros }}
      />
      <Text size="sm">
        <Money micros={Math.max(0, remainingMicros)} />{" "}
        {wouldFit === undefined ? "would have fitted" : "would fit"}
        <AffordableText {...wouldFit} />. <ResetTime at={resetsAt} />{" "}
        <ChangeLimitHint holderId={limit.holderId} />
      </Text>
    </>
  )
}

/** For how many of what was asked that is enough. */
function AffordableText({ count = null, unitPriceMicros = 0 }: Partial<AffordableCount>) {
  if (count === null) return null
  return (
    <>
      , enough for {count === 0 ? "none" : count.toLocaleString("en-US")} at{" "}
      <Money micros={unitPriceMicros} /> each
    </>
  )
}

/** When the limit begins anew; of a refusal that was long ago, when it did. */
function ResetTime({ at }: { readonly at: string }) {
  if (new Date(at).getTime() <= useNow()) {
    return (
      <>
        It was reset on <Time at={at} />.
      </>
    )
  }
  return (
    <>
      It resets in <TimeUntil at={at} />, on <Time at={at} />.
    </>
  )
}

function ChangeLimitHint({ holderId }: Pick<LimitStatus, "holderId">) {
  const me = useMe()
  if (!isAdmin(me)) return <>An owner or admin can change it.</>
  return (
    <TextLink to="limits" search={holderId === null ? {} : { holder: holderId }}>
      Change the limit
    </TextLink>
  )
}

interface FundsProps {
  readonly fundsMicros: number | null
  readonly requestedMicros: number
  readonly wouldFit: AffordableCount | undefined
}

function FundsBar({ fundsMicros, requestedMicros, wouldFit }: FundsProps) {
  const { role } = useMe()
  if (fundsMicros === null) return null
  return (
    <>
      <UsageBar
        label={`Funds of ${dollarsText(fundsMicros)}, ${dollarsText(requestedMicros)} asked`}
        usedMicros={0}
        amountMicros={Math.max(0, fundsMicros)}
        requestedMicros={requestedMicros}
      />
      <Text size="sm">
        <Money micros={fundsMicros} /> of funds {wouldFit === undefined ? "were" : "are"} there
        <AffordableText {...wouldFit} />.{" "}
        {role === "owner" ? (
          <TextLink to="billing" search={{ add: "funds" }}>
            Add funds
          </TextLink>
        ) : (
          <>An owner can add funds.</>
        )}
      </Text>
    </>
  )
}
