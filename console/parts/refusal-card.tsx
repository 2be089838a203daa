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

export interface RefusalDetails {
  readonly code: string
  /** Description of the requested charge; null if unknown. */
  readonly requested: string | null
  readonly requestedMicros: number
  readonly limit: LimitStatus | null
  readonly fundsMicros: number | null
}

/** A limit in an API answer, which names only the kind of its holder. */
type LimitInAnswer = Omit<LimitStatus, "holderId"> &
  Partial<Pick<LimitStatus, "holderId">> & { readonly askedMicros?: number }

/** The refusal of a charge in an error; null if it has none. */
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
  // A refusal for funds has amounts in dollars; that of a locked account has none.
  const { needed, balance } = body as Record<string, number | undefined>
  if (code !== "payment_required" || needed === undefined || balance === undefined) return null
  const [requestedMicros, fundsMicros] = [Math.round(needed * MICROS), Math.round(balance * MICROS)]
  return { code, requested: null, requestedMicros, limit: null, fundsMicros }
}

const HOLDERS = { company: "The company", person: "A person", key: "A key" } as const

interface RefusalCardProps {
  readonly refusal: RefusalDetails
  /** The server's message, if there is one. */
  readonly message?: string
  /** Name of the limit's holder, if the page knows it. */
  readonly whose?: string
  /** For a price check without a refusal: how many would fit. */
  readonly wouldFit?: AffordableCount
  readonly children?: ReactNode
}

/** How many units fit into the rest. */
export interface AffordableCount {
  /** Null if money is not the reason. */
  readonly count: number | null
  readonly unitPriceMicros: number
}

/** A refusal: request, limit or funds, what would fit, reset time, and who can change the limit. */
export function RefusalCard({ refusal, message, whose, wouldFit, children }: RefusalCardProps) {
  const { limit, requested, requestedMicros, fundsMicros } = refusal
  return (
    <Stack className={styles.card} gap="sm" role="group" aria-label="Refused charge">
      {message === undefined ? null : <Text size="sm">{message}</Text>}
      <Text size="sm">
        {requested === null ? "Requested" : `${requested}, which costs`}{" "}
        <Money micros={requestedMicros} />
      </Text>
      {limit === null ? (
        <FundsBar fundsMicros={fundsMicros} requestedMicros={requestedMicros} wouldFit={wouldFit} />
      ) : (
        <ExceededLimit
          limit={limit}
          requestedMicros={requestedMicros}
          wouldFit={wouldFit}
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
        label={`${whose}: ${dollarsText(requestedMicros)} requested, ${dollarsText(remainingMicros)} left`}
        usedMicros={usedMicros}
        amountMicros={amountMicros}
        requestedMicros={requestedMicros}
      />
      <Text size="sm">
        <Money micros={Math.max(0, remainingMicros)} />{" "}
        {wouldFit === undefined ? "would have fit" : "would fit"}
        <AffordableText {...wouldFit} />. <ResetTime at={resetsAt} />{" "}
        <ChangeLimitHint holderId={limit.holderId} />
      </Text>
    </>
  )
}

function AffordableText({ count = null, unitPriceMicros = 0 }: Partial<AffordableCount>) {
  if (count === null) return null
  return (
    <>
      , enough for {count === 0 ? "none" : count.toLocaleString("en-US")} at{" "}
      <Money micros={unitPriceMicros} /> each
    </>
  )
}

/** When the limit resets; for an old refusal, when it did. */
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
        label={`Funds of ${dollarsText(fundsMicros)}, ${dollarsText(requestedMicros)} requested`}
        usedMicros={0}
        amountMicros={Math.max(0, fundsMicros)}
        requestedMicros={requestedMicros}
      />
      <Text size="sm">
        Funds {wouldFit === undefined ? "were" : "are"} <Money micros={fundsMicros} />
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
