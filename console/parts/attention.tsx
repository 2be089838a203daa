import { Alert } from "@mantine/core"
import type { ReactNode } from "react"
import type { CompanyShown } from "../api/answers.ts"
import type { Schema } from "../api/company.ts"
import { useFound } from "../api/company.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { holds, useMe } from "../api/session.ts"
import type { DomainList } from "../api/work-answers.ts"
import { TextLink } from "./link.tsx"

/** What somebody must do something about; of that, what the reader may see. */
export function Attention() {
  const me = useMe()
  const [seesMoney, seesDomains] = [useMay("company-show"), useMay("domain-list")]
  return (
    <>
      {seesMoney ? <OfMoney /> : null}
      {seesDomains ? <OfDomains /> : null}
      {holds(me, "Manage phone") ? <OfRegistration /> : null}
    </>
  )
}

function Need({ children }: { readonly children: ReactNode }) {
  return (
    <Alert color="orange" variant="light">
      {children}
    </Alert>
  )
}

function OfMoney() {
  const { data: company } = useAnswer<CompanyShown>("company-show")
  if (company === undefined) return null
  const { locked, card, balanceMicros, noticeBelowMicros, creditLineMicros } = company
  const isLow = noticeBelowMicros !== null && balanceMicros < noticeBelowMicros
  return (
    <>
      {locked ? (
        <Need>
          The account is locked: a payment failed. Nothing can be spent until it is settled.{" "}
          <TextLink to="billing">Look at the card</TextLink>
        </Need>
      ) : null}
      {card?.failing === true ? (
        <Need>
          Payments by the card fail.{" "}
          <TextLink to="billing">Put another one on the account</TextLink>
        </Need>
      ) : null}
      {balanceMicros + creditLineMicros <= 0 ? (
        <Need>No funds are left: every charge is refused.</Need>
      ) : null}
      {isLow ? <Need>The balance is below the sum that you wanted to hear of.</Need> : null}
    </>
  )
}

const DOMAIN_NEEDS = {
  live: null,
  waiting: "waits for its registrar to name our name servers.",
  moved: "was moved away: its registrar names other name servers.",
} as const

function OfDomains() {
  const domains = useAnswer<DomainList>("domain-list").data?.domains ?? []
  return domains.map(({ id, domain, status }) => {
    const need = DOMAIN_NEEDS[status]
    return need === null ? null : (
      <Need key={id}>
        {domain} {need} <TextLink to={`domains/${id}`}>See what to do</TextLink>
      </Need>
    )
  })
}

function OfRegistration() {
  const { data } = useFound<Schema<"RegistrationStatus">>(["readRegistration"], (api) =>
    api.GET("/api/v1/phone/registration"),
  )
  if (data?.overall !== "action_needed" && data?.overall !== "rejected") return null
  return (
    <Need>
      Carriers stopped the registration for texts.{" "}
      <TextLink to="phone" search={{ tab: "registration" }}>
        See what they said
      </TextLink>
    </Need>
  )
}
