import { Alert } from "@mantine/core"
import type { ReactNode } from "react"
import type { CompanyDetails } from "../api/answers.ts"
import type { Schema } from "../api/api-client.ts"
import { useApiQuery } from "../api/api-client.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { hasPermission, useMe } from "../api/session.ts"
import type { DomainList } from "../api/outreach-answers.ts"
import { TextLink } from "./link.tsx"

/** Alerts about problems that need action, as far as the reader may see them. */
export function AttentionAlerts() {
  const me = useMe()
  const [seesMoney, seesDomains] = [useCanRun("company-show"), useCanRun("domain-list")]
  return (
    <>
      {seesMoney ? <MoneyAlerts /> : null}
      {seesDomains ? <DomainAlerts /> : null}
      {hasPermission(me, "Manage phone") ? <RegistrationAlerts /> : null}
    </>
  )
}

function AttentionAlert({ children }: { readonly children: ReactNode }) {
  return (
    <Alert color="orange" variant="light">
      {children}
    </Alert>
  )
}

function MoneyAlerts() {
  const { data: company } = useOperationQuery<CompanyDetails>("company-show")
  if (company === undefined) return null
  const { locked, card, balanceMicros, noticeBelowMicros, creditLineMicros } = company
  const isLow = noticeBelowMicros !== null && balanceMicros < noticeBelowMicros
  return (
    <>
      {locked ? (
        <AttentionAlert>
          The account is locked: a payment failed. Spending is blocked until the payment succeeds.{" "}
          <TextLink to="billing">Check the card</TextLink>
        </AttentionAlert>
      ) : null}
      {card?.failing === true ? (
        <AttentionAlert>
          Payments from the card fail. <TextLink to="billing">Use another card</TextLink>
        </AttentionAlert>
      ) : null}
      {balanceMicros + creditLineMicros <= 0 ? (
        <AttentionAlert>No funds are left. Every charge is refused.</AttentionAlert>
      ) : null}
      {isLow ? <AttentionAlert>The balance is below your alert threshold.</AttentionAlert> : null}
    </>
  )
}

const DOMAIN_ALERTS = {
  live: null,
  waiting: "does not use our name servers yet. Set them at its registrar.",
  moved: "no longer uses our name servers. Its registrar names other ones.",
} as const

function DomainAlerts() {
  const domains = useOperationQuery<DomainList>("domain-list").data?.domains ?? []
  return domains.map(({ id, domain, status }) => {
    const need = DOMAIN_ALERTS[status]
    return need === null ? null : (
      <AttentionAlert key={id}>
        {domain} {need} <TextLink to={`domains/${id}`}>See what to do</TextLink>
      </AttentionAlert>
    )
  })
}

function RegistrationAlerts() {
  const { data } = useApiQuery<Schema<"RegistrationStatus">>(["readRegistration"], (api) =>
    api.GET("/api/v1/phone/registration"),
  )
  if (data?.overall !== "action_needed" && data?.overall !== "rejected") return null
  return (
    <AttentionAlert>
      Carriers rejected the registration for texts.{" "}
      <TextLink to="phone" search={{ tab: "registration" }}>
        Read their answer
      </TextLink>
    </AttentionAlert>
  )
}
