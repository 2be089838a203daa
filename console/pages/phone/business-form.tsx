import { Select, SimpleGrid, TextInput } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { numberFault } from "./phone-state.ts"

type Business = Schema<"SaveBusinessRequest">

export type SavedBusiness = Partial<Business>

const ENTITIES: Readonly<Record<Business["entityType"], string>> = {
  llc: "LLC",
  corporation: "Corporation",
  partnership: "Partnership",
  cooperative: "Cooperative",
  nonprofit: "Non-profit",
  sole_proprietor: "Sole proprietor",
}

const INDUSTRIES: readonly Business["industry"][] = [
  ...(["AGRICULTURE", "COMMUNICATION", "CONSTRUCTION", "EDUCATION", "ENERGY"] as const),
  ...(["ENTERTAINMENT", "FINANCIAL", "GAMBLING", "GOVERNMENT", "HEALTHCARE"] as const),
  ...(["HOSPITALITY", "HUMAN_RESOURCES", "INSURANCE", "LEGAL", "MANUFACTURING"] as const),
  ...(["NGO", "POLITICAL", "POSTAL", "PROFESSIONAL", "REAL_ESTATE", "RETAIL"] as const),
  ...(["TECHNOLOGY", "TRANSPORTATION"] as const),
]

const FIELDS = {
  legalName: "Legal name",
  brandName: "Known as",
  ein: "Tax number (EIN)",
  website: "Website",
  street: "Street and number",
  street2: "Street, second line",
  city: "Town",
  region: "State",
  postalCode: "ZIP code",
  country: "Country",
  repFirstName: "First name",
  repLastName: "Last name",
  repEmail: "Email",
  repPhone: "Phone",
  repTitle: "Title",
  stockExchange: "Stock exchange",
  stockTicker: "Ticker",
} as const

type FieldName = keyof typeof FIELDS

type Values = Record<FieldName, string> & {
  readonly entityType: string
  readonly industry: string
  readonly repPosition: string
}

const MAY_BE_EMPTY: ReadonlySet<string> = new Set<FieldName>([
  ...(["brandName", "ein", "website", "street2", "repTitle"] as const),
  ...(["stockExchange", "stockTicker"] as const),
])

const NAMES = Object.keys(FIELDS) as readonly FieldName[]

function valuesOf(saved: SavedBusiness | null): Values {
  const texts = NAMES.map((name) => [name, saved?.[name] ?? (name === "country" ? "US" : "")])
  return {
    ...(Object.fromEntries(texts) as Record<FieldName, string>),
    entityType: saved?.entityType ?? "llc",
    industry: saved?.industry ?? "RETAIL",
    repPosition: saved?.repPosition ?? "",
  }
}

/** The body without empty fields. */
function bodyOf(values: Values): object {
  const given = Object.entries(values).map(([name, value]) => [name, value.trim()] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== ""))
}

/** A button with a form for the business. */
export function BusinessForm({ saved }: { readonly saved: SavedBusiness | null }) {
  const requiredFault = (text: string): string | null => (text.trim() === "" ? "Required" : null)
  const required = NAMES.filter((name) => !MAY_BE_EMPTY.has(name))
  return (
    <ApiCallButton<Values>
      label={saved === null ? "Fill in" : "Change"}
      title="The business"
      description="Carriers compare the business with public registers: enter it as registered."
      initialValues={valuesOf(saved)}
      validators={{
        ...Object.fromEntries(required.map((name) => [name, requiredFault])),
        repPhone: numberFault,
        ein: (text, { entityType }) =>
          entityType === "sole_proprietor" || /^\d{2}-?\d{7}$/.test(text.trim())
            ? null
            : "Must be nine digits, except for sole proprietors",
      }}
      changeOf={(values) => ({
        method: "PUT",
        path: "/api/v1/phone/business",
        body: bodyOf(values),
      })}
      fields={(form) => <Fields form={form} />}
      submitLabel="Save"
      successMessage="The business was saved. Send it for review next."
    />
  )
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  const input = (name: FieldName) => (
    <TextInput key={name} label={FIELDS[name]} {...form.getInputProps(name)} />
  )
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
      {(["legalName", "brandName"] as const).map(input)}
      <Select
        label="Legal form"
        allowDeselect={false}
        data={Object.entries(ENTITIES).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps("entityType")}
      />
      {input("ein")}
      <Select
        label="Industry"
        allowDeselect={false}
        searchable
        data={INDUSTRIES.map((value) => ({ value, label: industryText(value) }))}
        {...form.getInputProps("industry")}
      />
      {(["website", "street", "street2", "city", "region"] as const).map(input)}
      {(["postalCode", "country", "repFirstName", "repLastName"] as const).map(input)}
      {(["repEmail", "repPhone", "repTitle"] as const).map(input)}
      <Select
        label="Position"
        clearable
        clearButtonProps={{ "aria-label": "No position" }}
        data={["CEO", "CFO", "GM", "VP", "Director", "General Counsel", "Other"]}
        value={form.values.repPosition === "" ? null : form.values.repPosition}
        onChange={(value) => form.setFieldValue("repPosition", value ?? "")}
        error={form.errors["repPosition"]}
      />
      {(["stockExchange", "stockTicker"] as const).map(input)}
    </SimpleGrid>
  )
}

function industryText(industry: string): string {
  if (industry === "NGO") return industry
  const words = industry.toLowerCase().replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
