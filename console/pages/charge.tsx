import { Button, Stack } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import type { ChargeWithRefunds } from "../api/answers.ts"
import { itemText, useNames } from "../api/names.ts"
import { callOperation, useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { ChargeStateBadge } from "../parts/charge-state.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { Id } from "../parts/id.tsx"
import type { LimitStatus } from "../parts/limit-bar.tsx"
import { LimitBar } from "../parts/limit-bar.tsx"
import { TextLink } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { Time } from "../parts/time.tsx"
import { useDownload } from "../parts/use-download.ts"

/** A charge: price, person, limits at the time, refunds and proof. */
export default function ChargePage() {
  const { chargeId = "" } = useParams({ strict: false })
  const found = useOperationQuery<ChargeWithRefunds>("charge-show", { chargeId })
  return <QueryView query={found}>{(charge) => <ChargeContent charge={charge} />}</QueryView>
}

function ChargeContent({ charge }: { readonly charge: ChargeWithRefunds }) {
  const { chargeId, amountMicros, refunds } = charge
  const isRefunded = charge.refundedMicros > 0 || amountMicros === 0
  return (
    <PageLayout
      title={itemText(charge.item)}
      description={<Id id={chargeId} />}
      actions={
        isRefunded ? undefined : (
          <ActionButton
            operation="charge-refund"
            input={{ chargeId }}
            label="Refund"
            description="Refunds the whole charge to the funds and to every limit, once. The ledger stores the reason."
            successMessage="The charge was refunded."
            isDangerous
          />
        )
      }
    >
      <About charge={charge} />
      <LimitsAtCharge chargeId={chargeId} />
      {refunds.length === 0 ? null : (
        <Section title="Refunds">
          <DataTable
            label="Refunds of the charge"
            rows={refunds}
            rowKey={({ revision }) => String(revision)}
            columns={[
              { title: "When", cell: ({ at }) => <Time at={at} /> },
              { title: "Reason", cell: ({ reason }) => reason ?? "–" },
              {
                title: "Amount",
                isNumber: true,
                cell: ({ amountMicros: back }) => <Money micros={back} />,
              },
            ]}
            empty={null}
          />
        </Section>
      )}
    </PageLayout>
  )
}

function About({ charge }: { readonly charge: ChargeWithRefunds }) {
  const { person, key } = useNames()
  const { keyId, personId, resource, priceVersion } = charge
  return (
    <DetailList
      items={[
        ["Amount", <Money key="amount" micros={charge.amountMicros} />],
        ["State", <ChargeStateBadge key="state" state={charge.state} />],
        ["When", <Time key="when" at={charge.at} isWhole />],
        ["Quantity", charge.quantity],
        ["Unit price", <Money key="price" micros={charge.unitPriceMicros} />],
        ["Price book", priceVersion === 0 ? "Price set by the caller" : `Version ${priceVersion}`],
        [
          "Person",
          personId === null ? null : (
            <TextLink key="person" to="spending" search={{ person: personId }}>
              {person(personId)}
            </TextLink>
          ),
        ],
        [
          "Key",
          keyId === null ? null : (
            <TextLink key="key" to={`keys/${keyId}`}>
              {key(keyId)}
            </TextLink>
          ),
        ],
        ["Resource", resource === null ? null : <Id key="resource" id={resource} />],
        ["Ledger revision", charge.revision],
      ]}
    />
  )
}

interface Proof {
  readonly inputs: { readonly fundsMicros: number; readonly limits: readonly LimitStatus[] }
}

/** The limits at the time of the charge, from its proof, which is created on demand. */
function LimitsAtCharge({ chargeId }: { readonly chargeId: string }) {
  const { companyId } = useMe()
  const may = useCanRun("audit-proof")
  const [isRequested, setAsked] = useState(false)
  const proof = useQuery({
    queryKey: ["proof", companyId, chargeId],
    queryFn: () => callOperation<Proof>(companyId, "audit-proof", { chargeId }),
    enabled: isRequested,
    // A proof never changes, and its rate is limited.
    staleTime: Infinity,
  })
  const { save, isBusy, error } = useDownload()
  if (!may) return null
  return (
    <Section
      title="Decision"
      description="Funds and limits right before this charge, from its proof."
      actions={
        <Button
          variant="default"
          size="xs"
          loading={isBusy}
          onClick={() => save("audit-proof", { chargeId }, `proof-${chargeId}.json`)}
        >
          Download the proof
        </Button>
      }
    >
      {error === null ? null : <ErrorAlert error={error} />}
      {isRequested ? (
        <QueryView query={proof}>{({ inputs }) => <ProofInputs {...inputs} />}</QueryView>
      ) : (
        <Button variant="default" size="xs" onClick={() => setAsked(true)}>
          Show the limits at that time
        </Button>
      )}
    </Section>
  )
}

function ProofInputs({ fundsMicros, limits }: Proof["inputs"]) {
  const { holder } = useNames()
  return (
    <Stack gap="lg" maw={560}>
      <DetailList items={[["Funds", <Money key="funds" micros={fundsMicros} />]]} />
      {limits.length === 0 ? (
        <EmptyState title="No limits" description="No limit applied to this charge." />
      ) : null}
      {limits.map((limit) => (
        <LimitBar
          key={`${limit.holder} ${limit.holderId} ${limit.class}`}
          limit={limit}
          whose={holder(limit)}
        />
      ))}
    </Stack>
  )
}
