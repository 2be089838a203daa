import { Checkbox, NumberInput, Select, SimpleGrid, TextInput, Textarea } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { numberFault } from "./phone-state.ts"

type Pages = Schema<"TextingPages">

type Values = {
  readonly mode: string
  readonly hostname: string
  readonly services: string
  readonly offers: boolean
  readonly offersPerMonth: number | string
  readonly optinPhone: boolean
  readonly optinPaper: boolean
  readonly supportPhone: string
  readonly supportEmail: string
  readonly ownTextUrl: string
  readonly ownTermsUrl: string
  readonly ownPrivacyUrl: string
}

function valuesOf(pages: Pages): Values {
  return {
    mode: pages.mode ?? "hosted",
    hostname: pages.hostname ?? pages.suggestedHostname ?? "",
    services: pages.services ?? "",
    offers: pages.offers ?? false,
    offersPerMonth: pages.offersPerMonth ?? 4,
    optinPhone: pages.optinPhone ?? false,
    optinPaper: pages.optinPaper ?? false,
    supportPhone: pages.supportPhone ?? "",
    supportEmail: pages.supportEmail ?? "",
    ownTextUrl: pages.ownTextUrl ?? "",
    ownTermsUrl: pages.ownTermsUrl ?? "",
    ownPrivacyUrl: pages.ownPrivacyUrl ?? "",
  }
}

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim())

function bodyOf(values: Values): object {
  const { hostname, ownTextUrl, ownTermsUrl, ownPrivacyUrl, offersPerMonth, ...rest } = values
  return {
    ...rest,
    offersPerMonth: Number(offersPerMonth),
    hostname: orNull(hostname),
    ownTextUrl: orNull(ownTextUrl),
    ownTermsUrl: orNull(ownTermsUrl),
    ownPrivacyUrl: orNull(ownPrivacyUrl),
  }
}

const httpsFault = (text: string, { mode }: Values): string | null =>
  mode === "hosted" || /^https:\/\/[^\s]+\.[^\s]+$/.test(text.trim())
    ? null
    : "Must begin with https://"

/** A button with a form for the pages. */
export function PagesForm({ pages }: { readonly pages: Pages }) {
  return (
    <ApiCallButton<Values>
      label={pages.mode === null ? "Fill in" : "Change"}
      title="The pages"
      description="The pages are checked again before the campaign is sent."
      initialValues={valuesOf(pages)}
      validators={{
        services: (text) =>
          text.trim().length >= 10 && text.length <= 200 ? null : "Must be 10 to 200 characters",
        supportPhone: numberFault,
        supportEmail: (text) =>
          /^\S+@\S+\.\S+$/.test(text.trim()) ? null : "Must be an email address",
        ownTextUrl: httpsFault,
        ownTermsUrl: httpsFault,
        ownPrivacyUrl: httpsFault,
      }}
      changeOf={(values) => ({
        method: "PUT",
        path: "/api/v1/phone/pages",
        body: bodyOf(values),
      })}
      fields={(form) => <Fields form={form} />}
      submitLabel="Save"
      successMessage="The pages were saved. Check them next."
    />
  )
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  const { mode, offers } = form.values
  return (
    <>
      <Select
        label="Hosting"
        allowDeselect={false}
        data={[
          { value: "hosted", label: "Hosted pages" },
          { value: "own_site", label: "Your own site" },
        ]}
        {...form.getInputProps("mode")}
      />
      {mode === "hosted" ? (
        <TextInput
          label="Host name"
          description="Under a connected domain, such as texts.acme.com"
          {...form.getInputProps("hostname")}
        />
      ) : (
        <>
          <TextInput label="Page where people agree" {...form.getInputProps("ownTextUrl")} />
          <TextInput label="Terms" {...form.getInputProps("ownTermsUrl")} />
          <TextInput label="Privacy policy" {...form.getInputProps("ownPrivacyUrl")} />
        </>
      )}
      <Textarea
        label="Topics of texts"
        placeholder="Appointments and repairs"
        {...form.getInputProps("services")}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput label="Support phone" {...form.getInputProps("supportPhone")} />
        <TextInput label="Support email" {...form.getInputProps("supportEmail")} />
      </SimpleGrid>
      <Checkbox
        label="Texts include offers"
        {...form.getInputProps("offers", { type: "checkbox" })}
      />
      {offers ? (
        <NumberInput
          label="Maximum of offers per month"
          min={1}
          max={30}
          allowDecimal={false}
          {...form.getInputProps("offersPerMonth")}
        />
      ) : null}
      <Checkbox
        label="People also agree by phone"
        {...form.getInputProps("optinPhone", { type: "checkbox" })}
      />
      <Checkbox
        label="People also agree on paper"
        {...form.getInputProps("optinPaper", { type: "checkbox" })}
      />
    </>
  )
}
