import { Checkbox, Select, Text } from "@mantine/core"
import type { PriceList } from "../../api/answers.ts"
import type { ApiChange } from "../../api/api-change.ts"
import { useOperationQuery } from "../../api/operations.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { curlOfChange } from "../../parts/copy-command.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { Money } from "../../parts/money.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { WebLink } from "../../parts/web-link.tsx"
import type { SavedBusiness } from "./business-form.tsx"
import { BusinessForm } from "./business-form.tsx"
import type { RegistrationPart } from "./part-status.tsx"

interface BusinessProps {
  readonly business: Readonly<Record<string, unknown>> | null
  readonly part: RegistrationPart
  readonly mayPrepare: boolean
  readonly maySubmit: boolean
}

/** The API call that saves the business. */
const EXAMPLE: ApiChange = {
  method: "PUT",
  path: "/api/v1/phone/business",
  body: {
    legalName: "Acme Bakery LLC",
    brandName: "Acme Bakery",
    entityType: "llc",
    ein: "123456789",
    industry: "RETAIL",
    website: "https://acme.example",
    street: "1 Main St",
    city: "Austin",
    region: "TX",
    postalCode: "78701",
    repFirstName: "Ada",
    repLastName: "Lane",
    repEmail: "ada@acme.example",
    repPhone: "+15125550123",
  },
}

/** The first step: the business that sends texts. */
export function BusinessSection({ business, part, mayPrepare, maySubmit }: BusinessProps) {
  const saved = business as SavedBusiness | null
  const isOpen = part.status !== "waiting" && part.status !== "approved"
  const isSoleProprietor = saved?.entityType === "sole_proprietor"
  return (
    <Section
      title="1. Business"
      description="The business that sends texts, as registered."
      actions={
        <>
          {mayPrepare && isOpen ? <BusinessForm saved={saved} /> : null}
          {maySubmit && isOpen && saved !== null ? (
            <SubmitBusiness isSoleProprietor={isSoleProprietor} />
          ) : null}
        </>
      }
    >
      {saved === null ? (
        <EmptyState
          title="No business saved"
          description="Its name, tax number, address and contact appear here. Programs save them with:"
          command={curlOfChange(EXAMPLE)}
        />
      ) : (
        <SavedBusinessDetails saved={saved} />
      )}
    </Section>
  )
}

function SavedBusinessDetails({ saved }: { readonly saved: SavedBusiness }) {
  const { street, street2, city, region, postalCode, country } = saved
  const address = [street, street2, city, region, postalCode, country]
  return (
    <DetailList
      items={[
        ["Legal name", saved.legalName],
        ["Known as", saved.brandName ?? saved.legalName],
        ["Tax number", saved.ein],
        ["Website", <WebLink key="website" address={saved.website ?? null} />],
        ["Address", address.filter((one) => typeof one === "string" && one !== "").join(", ")],
        [
          "Contact for carriers",
          `${saved.repFirstName} ${saved.repLastName}, ${saved.repEmail}, ${phoneText(saved.repPhone ?? null)}`,
        ],
      ]}
    />
  )
}

type Submit = { readonly brandType: string; readonly live: boolean }

function SubmitBusiness({ isSoleProprietor }: { readonly isSoleProprietor: boolean }) {
  return (
    <ApiCallButton<Submit>
      label="Send for review"
      title="Send the business for review"
      variant="filled"
      initialValues={{
        brandType: isSoleProprietor ? "sole_proprietor" : "low_volume",
        live: false,
      }}
      changeOf={(body) => ({
        method: "POST",
        path: "/api/v1/phone/registration/business",
        body,
      })}
      fields={(form) => (
        <>
          <Select
            label="Text volume"
            allowDeselect={false}
            data={[
              { value: "low_volume", label: "Low volume" },
              { value: "standard", label: "Standard" },
              { value: "sole_proprietor", label: "Sole proprietor" },
            ]}
            {...form.getInputProps("brandType")}
          />
          <Checkbox
            label="Real review"
            description="A paid review, which ends test mode and removes test data. Leave it off for a test review."
            {...form.getInputProps("live", { type: "checkbox" })}
          />
          <Fee brandType={form.values.brandType} isLive={form.values.live} />
        </>
      )}
      submitLabel="Send for review"
      successMessage="The business was sent to the carriers."
    />
  )
}

function Fee({ brandType, isLive }: { readonly brandType: string; readonly isLive: boolean }) {
  const prices = useOperationQuery<PriceList>("price-list").data?.prices ?? []
  const price = prices.find(({ item }) => item === `brand_fee_${brandType}`)
  return (
    <Text size="sm">
      A review costs <Money micros={price?.unitPriceMicros ?? null} />
      {isLive ? ", charged now. " : "; it is free in test mode. "}
      Later questions of carriers in the same review are free.
    </Text>
  )
}
